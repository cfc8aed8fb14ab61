//! Counters and gauges that many threads update.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// A number that only goes up, for a place that mostly one thread counts at.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    #[inline]
    pub fn inc(&self) {
        self.add(1);
    }

    /// Adds to the counter.
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many there are.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes it this number: for instants and generations, which are set and not counted.
    pub fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }
}

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// How many there are of something that comes and goes.
#[derive(Default)]
pub struct Level(AtomicI64);

impl Level {
    /// One more.
    #[inline]
    pub fn inc(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One less.
    #[inline]
    pub fn dec(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many there are; a level that was lowered too often is none.
    #[must_use]
    pub fn get(&self) -> u64 {
        u64::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// A counter has so many places. Threads beyond that many share them, and are a little slower.
const STRIPES: usize = 8;

/// A line of the cache of its own, so that two threads that count do not take it from each other.
#[derive(Default)]
#[repr(align(64))]
struct Stripe(AtomicU64);

/// A number that only goes up and that all threads count at: each has a place of its own, and they are summed when asked.
///
/// A copy is the same counter.
#[derive(Clone, Default)]
pub struct Counter(Arc<[Stripe; STRIPES]>);

/// The next thread's number.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STRIPE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
}

impl Counter {
    /// One more.
    #[inline]
    pub fn inc(&self) {
        // A thread that is ending has no number any more.
        let stripe = STRIPE.try_with(|stripe| *stripe).unwrap_or(0);
        if let Some(Stripe(count)) = self.0.get(stripe) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many there are.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, Stripe(count)| sum.wrapping_add(count.load(Ordering::Relaxed)))
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_count_is_lost_between_more_threads_than_there_are_places() {
        let counter = Counter::default();
        std::thread::scope(|threads| {
            for _ in 0..STRIPES * 2 {
                threads.spawn(|| (0..1_000).for_each(|_| counter.inc()));
            }
        });
        assert_eq!(counter.clone().get(), 2_000 * STRIPES as u64);
    }

    #[test]
    fn a_level_goes_up_and_down_and_never_below_none() {
        let level = Level::default();
        level.inc();
        level.inc();
        level.dec();
        assert_eq!(level.get(), 1);
        level.dec();
        level.dec();
        assert_eq!(level.get(), 0);
    }
}
