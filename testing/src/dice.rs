//! Draws for property tests: numbers, picks and byte strings from one seed. The numbers come from `random`.

use crate::random::Random;

/// Draws from one seed. The same seed gives the same run.
#[derive(Debug)]
pub struct Dice(Random);

impl Dice {
    /// Draws from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Random::case(0, seed))
    }

    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.0.any()
    }

    /// A number in `0..end`.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a usize fits into a u64");
        usize::try_from(self.0.below(end)).expect("it is below a usize")
    }

    /// One of these.
    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// Any wide number.
    pub fn wide(&mut self) -> u128 {
        u128::from(self.roll()) << 64 | u128::from(self.roll())
    }

    /// Up to `most` bytes, drawn from an alphabet in which trouble is likely.
    pub fn soup(&mut self, alphabet: &[u8], most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.pick(alphabet)).collect()
    }
}
