//! Numbers in the words of a document: `5 at once, then 1 per 10 s`.

use std::fmt;

use tollgate_algorithms::adaptive::Method;
use tollgate_algorithms::{Limit, Micros, UtcOffset, Window};

use super::{MethodName, Numbers};
use crate::quantity::spoken;

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
            Self::Adaptive { config, .. } => {
                let ((min, max), method) = (config.range(), MethodName::of(config.method()));
                write!(f, "{min} to {max} at the same time, found by {}", method.name())?;
                match config.method() {
                    Method::Aimd { target } => write!(f, " with a target of {}", spoken(target)),
                    Method::Gradient2 | Method::Vegas | Method::Gradient => Ok(()),
                }
            }
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
