//! Units of time, as Envoy and envoyproxy/ratelimit name them, and the windows that they stand for.

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::rate_limit;
use envoy_types::pb::envoy::r#type::v3::RateLimitUnit;
use tollgate::Micros;

/// The unit of a limit. A month has 30 days and a year 365, as in envoyproxy/ratelimit: windows of all units are aligned to the Unix
/// epoch and not to the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Unit {
    /// Every unit with its name in configuration files.
    pub const ALL: [(&'static str, Self); 7] = [
        ("second", Self::Second),
        ("minute", Self::Minute),
        ("hour", Self::Hour),
        ("day", Self::Day),
        ("week", Self::Week),
        ("month", Self::Month),
        ("year", Self::Year),
    ];

    /// The unit of this name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, unit)| unit)
    }

    /// The name in configuration files.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, unit)| *unit == self).map_or("second", |(name, _)| name)
    }

    /// Its length in seconds.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        const DAY: u64 = 86_400;
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3_600,
            Self::Day => DAY,
            Self::Week => 7 * DAY,
            Self::Month => 30 * DAY,
            Self::Year => 365 * DAY,
        }
    }

    /// Its length.
    #[must_use]
    pub const fn length(self) -> Micros {
        Micros::from_secs(self.seconds())
    }

    /// The unit of an override in a request; `None` if it is unknown or not set. Overrides have no weeks.
    pub(crate) fn of_override(unit: i32) -> Option<Self> {
        Some(match RateLimitUnit::try_from(unit).ok()? {
            RateLimitUnit::Unknown => return None,
            RateLimitUnit::Second => Self::Second,
            RateLimitUnit::Minute => Self::Minute,
            RateLimitUnit::Hour => Self::Hour,
            RateLimitUnit::Day => Self::Day,
            RateLimitUnit::Month => Self::Month,
            RateLimitUnit::Year => Self::Year,
        })
    }

    /// The unit in a response.
    pub(crate) const fn in_response(self) -> rate_limit::Unit {
        match self {
            Self::Second => rate_limit::Unit::Second,
            Self::Minute => rate_limit::Unit::Minute,
            Self::Hour => rate_limit::Unit::Hour,
            Self::Day => rate_limit::Unit::Day,
            Self::Week => rate_limit::Unit::Week,
            Self::Month => rate_limit::Unit::Month,
            Self::Year => rate_limit::Unit::Year,
        }
    }
}
