//! The numbers of a limit as they are written, and the exact limit that they make. Overrides change them one by one.

mod adaptive;
mod display;
mod error;

use tollgate_algorithms::adaptive::AdaptiveConfig;
use tollgate_algorithms::{Limit, LimitError, Micros, Quota, UtcOffset, Window};

use crate::quantity::Rate;

pub use adaptive::MethodName;
pub(crate) use display::rate;
pub use error::NumbersError;

/// The algorithms that a document can name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// `token_bucket`
    TokenBucket,
    /// `leaky_bucket`, the meter
    LeakyBucket,
    /// `leaky_bucket_queue`
    LeakyBucketQueue,
    /// `gcra`
    Gcra,
    /// `fixed_window`
    FixedWindow,
    /// `sliding_window`; with `buckets` the conservative one
    SlidingWindow,
    /// `sliding_window_log`
    SlidingWindowLog,
    /// `concurrency`
    Concurrency,
    /// `adaptive`
    Adaptive,
}

impl Algorithm {
    /// Every algorithm, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::TokenBucket,
        Self::LeakyBucket,
        Self::LeakyBucketQueue,
        Self::Gcra,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::SlidingWindowLog,
        Self::Concurrency,
        Self::Adaptive,
    ];

    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
            Self::LeakyBucketQueue => "leaky_bucket_queue",
            Self::Gcra => "gcra",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingWindowLog => "sliding_window_log",
            Self::Concurrency => "concurrency",
            Self::Adaptive => "adaptive",
        }
    }

    /// The numbers it needs, by field.
    #[must_use]
    pub const fn needs(self) -> &'static [&'static str] {
        match self {
            Self::TokenBucket | Self::LeakyBucket | Self::Gcra | Self::LeakyBucketQueue => {
                &["capacity", "refill_rate"]
            }
            Self::FixedWindow | Self::SlidingWindow | Self::SlidingWindowLog => &["limit", "window"],
            Self::Concurrency => &["limit"],
            Self::Adaptive => &[],
        }
    }

    /// The numbers it may have besides.
    #[must_use]
    pub const fn may_have(self) -> &'static [&'static str] {
        match self {
            Self::TokenBucket | Self::LeakyBucket | Self::Gcra | Self::SlidingWindowLog => &[],
            Self::LeakyBucketQueue => &["max_wait"],
            Self::FixedWindow => &["utc_offset", "time_zone"],
            Self::SlidingWindow => &["buckets"],
            Self::Concurrency => &["max_hold"],
            Self::Adaptive => &["method", "target", "min", "max", "initial", "max_hold"],
        }
    }
}

/// A window as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    /// So long.
    Length(Micros),
    /// From midnight to midnight.
    Day,
    /// From Monday to Monday.
    Week,
    /// From the first to the first.
    Month,
    /// From 1 January to 1 January.
    Year,
}

/// The numbers as they are written. What is not written is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RawNumbers {
    /// `capacity`
    pub capacity: Option<u64>,
    /// `refill_rate`
    pub refill_rate: Option<Rate>,
    /// `limit`
    pub limit: Option<u64>,
    /// `window` or `window_seconds`
    pub window: Option<Span>,
    /// `utc_offset`
    pub utc_offset: Option<UtcOffset>,
    /// `time_zone`
    pub time_zone: Option<UtcOffset>,
    /// `buckets`
    pub buckets: Option<u64>,
    /// `max_wait`
    pub max_wait: Option<Micros>,
    /// `max_hold`
    pub max_hold: Option<Micros>,
    /// `method`
    pub method: Option<MethodName>,
    /// `target`
    pub target: Option<Micros>,
    /// `min`
    pub min: Option<u64>,
    /// `max`
    pub max: Option<u64>,
    /// `initial`
    pub initial: Option<u64>,
}

impl RawNumbers {
    /// These numbers, and those of `base` that are not among them.
    #[must_use]
    pub fn over(self, base: &Self) -> Self {
        Self {
            capacity: self.capacity.or(base.capacity),
            refill_rate: self.refill_rate.or(base.refill_rate),
            limit: self.limit.or(base.limit),
            window: self.window.or(base.window),
            // Of the two ways to write it, the nearer counts.
            utc_offset: self.utc_offset.or(base.utc_offset.filter(|_| self.time_zone.is_none())),
            time_zone: self.time_zone.or(base.time_zone.filter(|_| self.utc_offset.is_none())),
            buckets: self.buckets.or(base.buckets),
            max_wait: self.max_wait.or(base.max_wait),
            max_hold: self.max_hold.or(base.max_hold),
            method: self.method.or(base.method),
            target: self.target.or(base.target),
            min: self.min.or(base.min),
            max: self.max.or(base.max),
            initial: self.initial.or(base.initial),
        }
    }

    /// The fields that are written.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.capacity.is_some(), "capacity"),
            (self.refill_rate.is_some(), "refill_rate"),
            (self.limit.is_some(), "limit"),
            (self.window.is_some(), "window"),
            (self.utc_offset.is_some(), "utc_offset"),
            (self.time_zone.is_some(), "time_zone"),
            (self.buckets.is_some(), "buckets"),
            (self.max_wait.is_some(), "max_wait"),
            (self.max_hold.is_some(), "max_hold"),
            (self.method.is_some(), "method"),
            (self.target.is_some(), "target"),
            (self.min.is_some(), "min"),
            (self.max.is_some(), "max"),
            (self.initial.is_some(), "initial"),
        ];
        all.into_iter().filter(|(written, _)| *written).map(|(_, field)| field)
    }

    /// Every number that the algorithm needs and that is not written, and every one that it does not know.
    pub fn problems(&self, algorithm: Algorithm) -> impl Iterator<Item = NumbersError> {
        let written: Vec<_> = self.fields().collect();
        let known =
            move |field: &&str| algorithm.needs().contains(field) || algorithm.may_have().contains(field);
        let needs = algorithm.needs().iter().filter(|need| !written.contains(need));
        let missing = needs.map(|field| NumbersError::Missing { algorithm, field });
        let foreign = written.iter().filter(|field| !known(field));
        let foreign = foreign.map(|field| NumbersError::Foreign { algorithm, field });
        missing.chain(foreign).collect::<Vec<_>>().into_iter()
    }

    /// The limit that these numbers make.
    ///
    /// # Errors
    /// When one is missing, does not belong to the algorithm, or is out of range.
    pub fn build(&self, algorithm: Algorithm) -> Result<Numbers, NumbersError> {
        if let Some(problem) = self.problems(algorithm).next() {
            return Err(problem);
        }
        let limit = match algorithm {
            Algorithm::TokenBucket => Limit::TokenBucket(self.quota()?),
            Algorithm::LeakyBucket => Limit::LeakyBucket(self.quota()?),
            Algorithm::Gcra => Limit::Gcra(self.quota()?),
            Algorithm::LeakyBucketQueue => {
                return Ok(Numbers::Queue { quota: self.quota()?, max_wait: self.max_wait });
            }
            Algorithm::FixedWindow => self.fixed_window()?,
            Algorithm::SlidingWindow => self.sliding_window()?,
            Algorithm::SlidingWindowLog => {
                let limit = self.limit.unwrap_or(0);
                Limit::sliding_window_log(limit, self.length(algorithm)?).map_err(of("limit"))?
            }
            Algorithm::Concurrency => {
                return Ok(Numbers::Concurrency { limit: self.limit.unwrap_or(0), max_hold: self.max_hold });
            }
            Algorithm::Adaptive => {
                return Ok(Numbers::Adaptive { config: adaptive::config(self)?, max_hold: self.max_hold });
            }
        };
        Ok(Numbers::Counted(limit))
    }

    fn quota(&self) -> Result<Quota, NumbersError> {
        let rate = self.refill_rate.unwrap_or(Rate { count: 0, period: Micros::SECOND });
        let made = Quota::new(self.capacity.unwrap_or(0), rate.count, rate.period);
        made.map_err(|error| {
            let of_rate = matches!(error, LimitError::CountZero | LimitError::PeriodZero);
            of(if of_rate { "refill_rate" } else { "capacity" })(error)
        })
    }

    fn length(&self, algorithm: Algorithm) -> Result<Micros, NumbersError> {
        match self.window {
            Some(Span::Length(length)) => Ok(length),
            _ => Err(NumbersError::CalendarWindow { algorithm }),
        }
    }

    fn fixed_window(&self) -> Result<Limit, NumbersError> {
        let offset = self.time_zone.or(self.utc_offset).unwrap_or_default();
        let window = match self.window {
            Some(Span::Day) => Window::Day(offset),
            Some(Span::Week) => Window::Week(offset),
            Some(Span::Month) => Window::Month(offset),
            Some(Span::Year) => Window::Year(offset),
            Some(Span::Length(_)) if self.utc_offset.is_some() || self.time_zone.is_some() => {
                let field = if self.time_zone.is_some() { "time_zone" } else { "utc_offset" };
                return Err(NumbersError::OffsetWithoutCalendar { field });
            }
            Some(Span::Length(length)) => Window::Every(length),
            None => return Err(NumbersError::Missing { algorithm: Algorithm::FixedWindow, field: "window" }),
        };
        Limit::fixed_window(self.limit.unwrap_or(0), window).map_err(of_window)
    }

    fn sliding_window(&self) -> Result<Limit, NumbersError> {
        let (limit, length) = (self.limit.unwrap_or(0), self.length(Algorithm::SlidingWindow)?);
        match self.buckets {
            None => Limit::sliding_window(limit, length).map_err(of_window),
            Some(buckets) => {
                let buckets = u32::try_from(buckets).unwrap_or(u32::MAX);
                Limit::sliding_window_buckets(limit, length, buckets).map_err(of_window)
            }
        }
    }
}

const fn of(field: &'static str) -> impl Fn(LimitError) -> NumbersError {
    move |error| NumbersError::OutOfRange { field, error }
}

fn of_window(error: LimitError) -> NumbersError {
    let of_window = matches!(error, LimitError::WindowOutOfRange { .. });
    let of_buckets = matches!(error, LimitError::BucketsOutOfRange { .. });
    let field = if of_window {
        "window"
    } else if of_buckets {
        "buckets"
    } else {
        "limit"
    };
    NumbersError::OutOfRange { field, error }
}

/// What a limit allows, ready to be kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Numbers {
    /// No limit at all.
    Unlimited,
    /// Decided by the core.
    Counted(Limit),
    /// Requests wait their turn.
    Queue {
        /// How many may wait, and how fast they leave.
        quota: Quota,
        /// How long one may wait.
        max_wait: Option<Micros>,
    },
    /// So many at once.
    Concurrency {
        /// How many.
        limit: u64,
        /// After what time a holder counts as gone.
        max_hold: Option<Micros>,
    },
    /// As many at once as the service behind can do.
    Adaptive {
        /// How that is found.
        config: AdaptiveConfig,
        /// How long a request may be in progress.
        max_hold: Option<Micros>,
    },
}

impl Numbers {
    /// The core's limit, where the core decides.
    #[must_use]
    pub const fn limit(&self) -> Option<Limit> {
        match self {
            Self::Unlimited => Some(Limit::Unlimited),
            Self::Counted(limit) => Some(*limit),
            Self::Queue { .. } | Self::Concurrency { .. } | Self::Adaptive { .. } => None,
        }
    }

    /// What clients are shown of it in numbers: the core's limit, or for a queue one with the same numbers.
    #[must_use]
    pub const fn shown(&self) -> Option<Limit> {
        match self {
            Self::Queue { quota, .. } => Some(Limit::LeakyBucket(*quota)),
            Self::Unlimited | Self::Counted(_) | Self::Concurrency { .. } | Self::Adaptive { .. } => {
                self.limit()
            }
        }
    }

    /// Whether the numbers are found by measuring a service.
    #[must_use]
    pub const fn is_adaptive(&self) -> bool {
        matches!(self, Self::Adaptive { .. })
    }

    /// How many requests may be in progress at once, where that is what is limited: at most, if it is found.
    #[must_use]
    pub const fn concurrency(&self) -> Option<u64> {
        match self {
            Self::Concurrency { limit, .. } => Some(*limit),
            Self::Adaptive { config, .. } => Some(config.range().1 as u64),
            Self::Unlimited | Self::Counted(_) | Self::Queue { .. } => None,
        }
    }

    /// The most that is granted at one instant.
    #[must_use]
    pub const fn burst(&self) -> u64 {
        match self {
            Self::Unlimited => u64::MAX,
            Self::Counted(limit) => limit.capacity(),
            Self::Queue { quota, .. } => quota.burst(),
            Self::Concurrency { limit, .. } => *limit,
            Self::Adaptive { config, .. } => config.range().1 as u64,
        }
    }
}
