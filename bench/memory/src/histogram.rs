//! Counts of times in buckets that are fixed beforehand: recording allocates nothing. It does not know what
//! was timed.

use std::time::Duration;

/// 32 buckets to each doubling: a time is known to one part in 32.
const PARTS_BITS: u32 = 5;
const PARTS: u64 = 1 << PARTS_BITS;
/// Enough for any number of nanoseconds in 64 bits.
const BUCKETS: usize = 64 << PARTS_BITS;

/// How often which time was taken, and the longest exactly.
pub(crate) struct Histogram {
    counts: Vec<u64>,
    worst: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], worst: 0 }
    }

    pub(crate) fn record(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.worst = self.worst.max(nanoseconds);
        self.counts[bucket(nanoseconds)] += 1;
    }

    /// The longest time, in nanoseconds.
    pub(crate) const fn worst(&self) -> u64 {
        self.worst
    }

    /// The time that so many of 10,000 do not exceed, in nanoseconds: the end of its bucket, so never too
    /// short.
    pub(crate) fn of_ten_thousand(&self, rank: u64) -> u64 {
        let all: u64 = self.counts.iter().sum();
        let wanted = (all * rank).div_ceil(10_000);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        found.map_or(self.worst, end).min(self.worst)
    }
}

/// Below 32, each number has its own bucket; above, a doubling has 32.
fn bucket(nanoseconds: u64) -> usize {
    let doublings = nanoseconds.max(1).ilog2().saturating_sub(PARTS_BITS);
    let place = u64::from(doublings) * PARTS + (nanoseconds >> doublings);
    usize::try_from(place).expect("fewer than the buckets")
}

/// The largest number in a bucket.
fn end(bucket: usize) -> u64 {
    let place = bucket as u64;
    let doublings = (place / PARTS).saturating_sub(1);
    let within = place - doublings * PARTS;
    ((within + 1) << doublings) - 1
}

#[test]
fn every_number_lies_in_its_bucket_and_within_a_32nd_of_its_end() {
    for number in (0..5_000).chain([123_456_789, 987_654_321_012]) {
        let end = end(bucket(number));
        assert!(number <= end && end - number <= number / PARTS, "{number} in a bucket that ends at {end}");
    }
    assert!(bucket(u64::MAX) < BUCKETS);
}

#[test]
fn a_quantile_is_the_time_that_so_many_do_not_exceed() {
    let mut times = Histogram::new();
    (1..=10_000).for_each(|number| times.record(Duration::from_nanos(number)));
    assert!((5_000..=5_160).contains(&times.of_ten_thousand(5_000)));
    assert!(times.of_ten_thousand(9_999) >= 9_999 && times.worst() == 10_000);
}
