//! Random numbers of a seed, and the distributions of arrivals and service times.

/// A small generator (SplitMix64). The same seed gives the same numbers.
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

    /// Any number.
    pub const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number above 0 and at most 1.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// The time until the next event of a Poisson process.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// A lognormal number of mean 1.
    pub fn lognormal(&mut self, sigma: f64) -> f64 {
        let (radius, angle) = (self.unit(), self.unit());
        let normal = (-2.0 * radius.ln()).sqrt() * (core::f64::consts::TAU * angle).cos();
        (sigma * normal - sigma * sigma / 2.0).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn distributions_have_the_mean_that_they_promise() {
        let mut random = Random::new(1);
        let mean = |draw: &mut dyn FnMut() -> f64| (0..200_000).map(|_| draw()).sum::<f64>() / 200_000.0;
        assert!((mean(&mut || random.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!((mean(&mut || random.lognormal(0.3)) - 1.0).abs() < 0.01);
        assert!((mean(&mut || random.lognormal(1.0)) - 1.0).abs() < 0.05);
    }
}
