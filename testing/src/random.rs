//! Random numbers from a seed: the same seed gives the same run on every machine and in every version. Not for secrets.

/// A small generator (SplitMix64). One case of a property is one seed.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The generator of one case of a run.
    #[must_use]
    pub fn case(seed: u64, case: u64) -> Self {
        let mut mixed = Self::new(seed ^ case.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        mixed.any();
        mixed
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from `0` up to and without `bound`, which is not zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        let scaled = (u128::from(self.any()) * u128::from(bound)) >> 64;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// A number from `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// A number up to `high` of which every order of magnitude is as likely.
    pub fn magnitude(&mut self, high: u64) -> u64 {
        let bits = self.below(u64::from(64 - high.leading_zeros()) + 1);
        let bound = 1_u64.checked_shl(u32::try_from(bits).unwrap_or(63)).unwrap_or(u64::MAX);
        self.below(bound).min(high)
    }

    /// True once in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.below(choices.len() as u64);
        choices[usize::try_from(index).unwrap_or(0)]
    }
}
