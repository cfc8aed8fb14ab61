//! Histograms of durations, with buckets that double.

use std::array;

use super::counter::Count;

/// The first bucket is up to 2^7 ns: 128 ns.
const FIRST_BITS: u32 = 7;
/// Buckets with a bound: the last is up to 2^36 ns, a good minute. What took longer is counted beyond it.
pub(super) const BUCKETS: usize = 30;

/// A histogram of durations. Recording one is two additions: no search, no lock.
#[derive(Debug)]
pub struct Latency {
    /// Those within each bound, and at the end those beyond all.
    counts: [Count; BUCKETS + 1],
    nanos: Count,
}

impl Default for Latency {
    fn default() -> Self {
        Self { counts: array::from_fn(|_| Count::default()), nanos: Count::default() }
    }
}

impl Latency {
    /// One more, that took so many nanoseconds.
    #[inline]
    pub fn record(&self, nanos: u64) {
        // The least power of two that is not below it.
        let bits = u64::BITS.saturating_sub(nanos.saturating_sub(1).leading_zeros());
        let bucket = bits.saturating_sub(FIRST_BITS) as usize;
        if let Some(count) = self.counts.get(bucket.min(BUCKETS)) {
            count.inc();
        }
        self.nanos.add(nanos);
    }
}

/// Several histograms as one.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct LatencySum {
    /// As in [`Latency`].
    pub(super) counts: [u64; BUCKETS + 1],
    pub(super) nanos: u64,
}

impl LatencySum {
    /// Adds one to it.
    pub(super) fn add(&mut self, latency: &Latency) {
        for (sum, count) in self.counts.iter_mut().zip(&latency.counts) {
            *sum = sum.wrapping_add(count.get());
        }
        self.nanos = self.nanos.wrapping_add(latency.nanos.get());
    }
}

/// The bounds in nanoseconds: a duration that is equal to one is within it.
pub(super) fn bounds() -> impl Iterator<Item = u64> {
    (FIRST_BITS..).take(BUCKETS).map(|bits| 1_u64 << bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let minute = 1 << 36;
        let table = [
            (0, 0),
            (1, 0),
            (128, 0),
            (129, 1),
            (256, 1),
            (257, 2),
            (1_000_000, 13),
            (minute, BUCKETS - 1),
            (minute + 1, BUCKETS),
            (u64::MAX, BUCKETS),
        ];
        for (nanos, bucket) in table {
            let latency = Latency::default();
            latency.record(nanos);
            let mut sum = LatencySum::default();
            sum.add(&latency);
            assert_eq!(sum.counts.iter().position(|count| *count == 1), Some(bucket), "{nanos}");
            assert_eq!(sum.nanos, nanos);
            let first = bounds().position(|bound| nanos <= bound).unwrap_or(BUCKETS);
            assert_eq!(first, bucket, "{nanos}");
        }
    }

    #[test]
    fn several_are_summed() {
        let (one, other) = (Latency::default(), Latency::default());
        one.record(100);
        other.record(100);
        other.record(300);
        let mut sum = LatencySum::default();
        sum.add(&one);
        sum.add(&other);
        assert_eq!((sum.counts[0], sum.counts[2], sum.nanos), (2, 1, 500));
    }
}
