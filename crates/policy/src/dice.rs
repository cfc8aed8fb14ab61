//! What this crate's property tests draw from a seed. Where the numbers come from is in `testing`.

use tollgate_testing::random::Random;

/// The same seed gives the same run.
pub(crate) struct Dice(Random);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::case(0, seed))
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0.any()
    }

    /// A number in `0..end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.below(u64::try_from(end).unwrap())).unwrap()
    }

    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    pub(crate) fn wide(&mut self) -> u128 {
        u128::from(self.roll()) << 64 | u128::from(self.roll())
    }

    /// Up to `most` bytes, drawn from an alphabet in which trouble is likely.
    pub(crate) fn soup(&mut self, alphabet: &[u8], most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.pick(alphabet)).collect()
    }
}
