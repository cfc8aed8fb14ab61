//! A limit as plain numbers, and random ones: small, ordinary and extreme. Not tied to any engine.

pub use tollgate_algorithms::Algorithm;
use tollgate_algorithms::{Limit, Micros, Quota, Window};

use crate::calendar;
use crate::random::Random;

/// The numbers of a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The burst, or the limit of a window.
    pub limit: u64,
    /// How much comes back each window: buckets only.
    pub count: u64,
    /// The rate's period, or the window's length, in microseconds.
    pub window: u64,
    /// `sliding_window_buckets` only.
    pub buckets: u32,
    /// `fixed_window` only.
    pub calendar: Calendar,
}

/// Whose windows a fixed window has: the clock's, or the calendar's at an offset in minutes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calendar {
    /// Windows of one length.
    None,
    /// Midnight to midnight.
    Day(i32),
    /// Monday to Monday.
    Week(i32),
    /// The first to the first.
    Month(i32),
    /// 1 January to 1 January.
    Year(i32),
}

impl Spec {
    /// Whether it is kept as a debt: with a rate and not with a window.
    #[must_use]
    pub const fn is_debt(&self) -> bool {
        matches!(self.algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra)
    }

    /// One full drain, or one window.
    #[must_use]
    pub fn horizon(&self) -> u64 {
        if self.is_debt() {
            let drain = (u128::from(self.limit) * u128::from(self.window)).div_ceil(u128::from(self.count));
            u64::try_from(drain).unwrap_or(u64::MAX)
        } else {
            self.window
        }
    }

    /// The aligned window that holds an instant: where it begins, and where the next one does.
    #[must_use]
    pub fn window_of(&self, at: u64) -> (u64, u64) {
        match self.calendar {
            Calendar::None => {
                let start = at / self.window * self.window;
                (start, start + self.window)
            }
            Calendar::Day(minutes) => calendar::days(at, minutes, 1),
            Calendar::Week(minutes) => calendar::days(at, minutes, 7),
            Calendar::Month(minutes) => calendar::month(at, minutes),
            Calendar::Year(minutes) => calendar::year(at, minutes),
        }
    }

    /// The length of its shortest window.
    #[must_use]
    pub const fn window_min(&self) -> u64 {
        if matches!(self.calendar, Calendar::Month(_)) { 28 * calendar::DAY } else { self.window }
    }

    /// Whether it can be built: the same question as the constructors', for any engine.
    #[must_use]
    pub fn fits(&self) -> bool {
        let window = Micros::new(self.window);
        match self.algorithm {
            Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra => {
                Quota::new(self.limit, self.count, window).is_ok()
            }
            Algorithm::FixedWindow => Limit::fixed_window(self.limit, Window::Every(window)).is_ok(),
            Algorithm::SlidingWindow => Limit::sliding_window(self.limit, window).is_ok(),
            Algorithm::SlidingWindowBuckets => {
                Limit::sliding_window_buckets(self.limit, window, self.buckets).is_ok()
            }
            Algorithm::SlidingWindowLog => Limit::sliding_window_log(self.limit, window).is_ok(),
        }
    }

    /// A random limit of an algorithm.
    pub fn random(algorithm: Algorithm, random: &mut Random) -> Self {
        loop {
            let spec = match random.below(8) {
                // Small numbers meet their boundaries often.
                0..=3 => Self::small(algorithm, random),
                4 if algorithm == Algorithm::FixedWindow => Self::by_calendar(random),
                4..=5 => Self::ordinary(algorithm, random),
                6 => Self::extreme(algorithm, random),
                _ => Self { limit: random.below(2), ..Self::small(algorithm, random) },
            }
            .reduced();
            if spec.fits() {
                return spec;
            }
        }
    }

    fn small(algorithm: Algorithm, random: &mut Random) -> Self {
        let window = random.within(1, 24);
        Self {
            algorithm,
            limit: random.within(1, 6),
            count: random.within(1, 9),
            window,
            buckets: u32::try_from(random.within(1, window.min(6))).unwrap_or(1),
            calendar: Calendar::None,
        }
    }

    fn ordinary(algorithm: Algorithm, random: &mut Random) -> Self {
        let seconds = random.pick(&[1, 3, 10, 60, 3_600, 86_400]);
        Self {
            algorithm,
            limit: random.within(1, 40),
            count: random.pick(&[1, 3, 5, 7, 10, 100, 1_000_003]),
            window: seconds * 1_000_000 + random.pick(&[0, 0, 1, 999]),
            buckets: random.pick(&[1, 2, 7, 10, 60]),
            calendar: Calendar::None,
        }
    }

    fn by_calendar(random: &mut Random) -> Self {
        let minutes = random.pick(&[0, 0, -18 * 60, -210, 330, 18 * 60]);
        let (calendar, days) = match random.below(3) {
            0 => (Calendar::Day(minutes), 1),
            1 => (Calendar::Week(minutes), 7),
            _ => (Calendar::Month(minutes), 30),
        };
        let limit = random.within(1, 6);
        // No further random number, so that the seeds keep their other limits.
        let (calendar, days) = if limit == 6 && matches!(calendar, Calendar::Month(_)) {
            (Calendar::Year(minutes), 365)
        } else {
            (calendar, days)
        };
        Self {
            algorithm: Algorithm::FixedWindow,
            limit,
            count: 1,
            window: days * calendar::DAY,
            buckets: 1,
            calendar,
        }
    }

    fn extreme(algorithm: Algorithm, random: &mut Random) -> Self {
        let window_max = Limit::WINDOW_MAX.get();
        let limit_max = match algorithm {
            Algorithm::SlidingWindow => Limit::WEIGHTED_MAX,
            Algorithm::SlidingWindowLog => Limit::LOG_MAX,
            Algorithm::TokenBucket
            | Algorithm::LeakyBucket
            | Algorithm::Gcra
            | Algorithm::FixedWindow
            | Algorithm::SlidingWindowBuckets => Limit::COUNT_MAX,
        };
        let edge = |random: &mut Random, max: u64| match random.below(3) {
            0 => max - random.below(3),
            1 => 1 + random.below(3),
            _ => random.magnitude(max),
        };
        Self {
            algorithm,
            limit: edge(random, limit_max),
            count: edge(random, 1 << 50),
            window: edge(random, window_max).max(1),
            buckets: u32::try_from(edge(random, u64::from(Limit::BUCKETS_MAX))).unwrap_or(1),
            calendar: Calendar::None,
        }
    }

    /// The same limit after some of its numbers have changed.
    #[must_use]
    pub fn changed(&self, random: &mut Random) -> Self {
        if self.algorithm == Algorithm::FixedWindow && random.one_in(3) {
            return Self::random(self.algorithm, random);
        }
        for _ in 0..8 {
            let mut changed = *self;
            let scale = |number: u64, random: &mut Random| match random.below(6) {
                0 => number.saturating_add(1),
                1 => number.saturating_sub(1).max(1),
                2 => number.saturating_mul(random.within(2, 5)),
                3 => (number / random.within(2, 5)).max(1),
                4 => number.saturating_mul(7) / 5,
                _ => number,
            };
            changed.limit = scale(self.limit, random);
            changed.count = scale(self.count, random);
            if self.calendar == Calendar::None {
                changed.window = scale(self.window, random);
            }
            changed.buckets = u32::try_from(scale(u64::from(self.buckets), random)).unwrap_or(1);
            let changed = changed.reduced();
            if changed.fits() {
                return changed;
            }
        }
        *self
    }

    /// The numbers in lowest terms, and those that the algorithm does not use at 1: equal limits are equal specs.
    #[must_use]
    pub const fn reduced(self) -> Self {
        let buckets =
            if matches!(self.algorithm, Algorithm::SlidingWindowBuckets) { self.buckets } else { 1 };
        if !self.is_debt() {
            return Self { count: 1, buckets, ..self };
        }
        let (mut a, mut b) = (self.count, self.window);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = if a == 0 { 1 } else { a };
        Self { count: self.count / divisor, window: self.window / divisor, buckets, ..self }
    }
}
