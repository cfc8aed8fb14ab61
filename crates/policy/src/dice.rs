//! A small seeded generator for the property tests of this crate. Not random enough for anything else.

/// Xorshift64*: the same seed gives the same run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        // Zero is the one state that a xorshift never leaves.
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number in `0..end`. The slight bias of the remainder does not matter here.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap();
        usize::try_from((self.roll() >> 16) % end).unwrap()
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
