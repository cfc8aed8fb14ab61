//! The numbers of a limit as they are written, and the exact limit that they make. Overrides change them one by one.

mod error;

use std::fmt;

use tollgate_algorithms::{Limit, LimitError, Micros, Quota, UtcOffset, Window};

use crate::quantity::{Rate, spoken};

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
}

impl Algorithm {
    /// Every algorithm, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::TokenBucket,
        Self::LeakyBucket,
        Self::LeakyBucketQueue,
        Self::Gcra,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::SlidingWindowLog,
        Self::Concurrency,
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
}

impl Numbers {
    /// The core's limit, where the core decides.
    #[must_use]
    pub const fn limit(&self) -> Option<Limit> {
        match self {
            Self::Unlimited => Some(Limit::Unlimited),
            Self::Counted(limit) => Some(*limit),
            Self::Queue { .. } | Self::Concurrency { .. } => None,
        }
    }

    /// What clients are shown of it in numbers: the core's limit, or for a queue one with the same numbers.
    #[must_use]
    pub const fn shown(&self) -> Option<Limit> {
        match self {
            Self::Queue { quota, .. } => Some(Limit::LeakyBucket(*quota)),
            Self::Unlimited | Self::Counted(_) | Self::Concurrency { .. } => self.limit(),
        }
    }

    /// How many requests may be in progress at once, where that is what is limited.
    #[must_use]
    pub const fn concurrency(&self) -> Option<u64> {
        match self {
            Self::Concurrency { limit, .. } => Some(*limit),
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
        }
    }
}

/// In the words of a document: `5 at once, then 1 per 10 s`.
impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = |window: &Window| match window {
            Window::Every(length) => spoken(*length),
            Window::Day(offset) => format!("calendar day ({})", utc(*offset)),
            Window::Week(offset) => format!("calendar week ({})", utc(*offset)),
            Window::Month(offset) => format!("calendar month ({})", utc(*offset)),
            Window::Year(offset) => format!("calendar year ({})", utc(*offset)),
        };
        match self {
            Self::Unlimited | Self::Counted(Limit::Unlimited) => f.write_str("unlimited"),
            Self::Counted(Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota)) => {
                write!(f, "{} at once, then {}", quota.burst(), rate(quota.count(), quota.period()))
            }
            Self::Counted(Limit::FixedWindow(rule)) => {
                write!(f, "{} per {}", rule.limit(), window(&rule.window()))
            }
            Self::Counted(Limit::SlidingWindow(rule)) => {
                write!(f, "{} in any {}, about", rule.limit(), spoken(rule.window()))
            }
            Self::Counted(Limit::SlidingWindowBuckets(rule)) => {
                let (limit, window) = (rule.limit(), spoken(rule.window()));
                write!(f, "{limit} in any {window}, never more ({} buckets)", rule.buckets())
            }
            Self::Counted(Limit::SlidingWindowLog(rule)) => {
                write!(f, "{} in any {}, exactly", rule.limit(), spoken(rule.window()))
            }
            Self::Queue { quota, max_wait } => {
                write!(f, "{} may wait, leaving at {}", quota.burst(), rate(quota.count(), quota.period()))?;
                max_wait.map_or(Ok(()), |wait| write!(f, ", none waits longer than {}", spoken(wait)))
            }
            Self::Concurrency { limit, .. } => write!(f, "{limit} at the same time"),
        }
    }
}

/// `UTC+01:00`, or `UTC+01:00, in summer UTC+02:00`.
fn utc(offset: UtcOffset) -> String {
    let fixed = |minutes: i32| UtcOffset::from_minutes(minutes).unwrap_or_default();
    let winter = offset.minutes();
    match offset.summer_time() {
        None => format!("UTC{offset}"),
        Some(summer) => {
            let other = winter.saturating_add(summer.minutes);
            let (low, high) = (winter.min(other), winter.max(other));
            format!("UTC{}, in summer UTC{}", fixed(low), fixed(high))
        }
    }
}

/// A rate as people would say it: `100 per second` rather than `1 per 10 ms`.
pub(crate) fn rate(count: u64, micros: u64) -> String {
    let second = Micros::SECOND.get();
    let times = second.checked_div(micros).filter(|times| times.checked_mul(micros) == Some(second));
    let (count, micros) =
        times.and_then(|times| Some((count.checked_mul(times)?, second))).unwrap_or((count, micros));
    let period = match Micros::new(micros) {
        Micros::SECOND => "second".into(),
        Micros::MINUTE => "minute".into(),
        Micros::HOUR => "hour".into(),
        Micros::DAY => "day".into(),
        other => spoken(other),
    };
    format!("{count} per {period}")
}
