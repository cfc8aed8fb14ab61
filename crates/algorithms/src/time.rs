//! Microseconds, the only unit of time in this crate: an instant or a duration. Reads no clock.

use core::fmt;
use core::time::Duration;

/// A number of microseconds: an instant if counted from the Unix epoch, otherwise a duration.
///
/// The store that holds the state also provides the time, and passes it as `now`. An instant above
/// [`Micros::INSTANT_MAX`] is clamped to it, so no clock reading can overflow a decision.
///
/// ```
/// use tollgate_algorithms::Micros;
/// assert_eq!(Micros::from_secs(90), Micros::new(90_000_000));
/// assert_eq!(Micros::from_secs(90).to_string(), "90 s");
/// let second = core::time::Duration::from(Micros::SECOND);
/// assert_eq!((second.as_millis(), Micros::from_duration(second)), (1_000, Micros::SECOND));
/// assert_eq!(Micros::new(900_000).secs_rounded_up(), 1); // for `Retry-After`
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Micros(u64);

impl Micros {
    /// Zero; as an instant, the Unix epoch.
    pub const ZERO: Self = Self(0);
    /// One millisecond.
    pub const MILLISECOND: Self = Self(1_000);
    /// One second.
    pub const SECOND: Self = Self(1_000_000);
    /// Sixty seconds.
    pub const MINUTE: Self = Self(60 * 1_000_000);
    /// Sixty minutes.
    pub const HOUR: Self = Self(3_600 * 1_000_000);
    /// Twenty-four hours.
    pub const DAY: Self = Self(86_400 * 1_000_000);

    /// The last distinguishable instant, in the year 2112. Later instants are clamped to it.
    ///
    /// Below 2^52, so that an instant plus two windows is an integer that a double represents exactly.
    pub const INSTANT_MAX: Self = Self((1 << 52) - 1);

    /// This many microseconds.
    #[must_use]
    pub const fn new(micros: u64) -> Self {
        Self(micros)
    }

    /// This many milliseconds, saturating.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(Self::MILLISECOND.0))
    }

    /// This many seconds, saturating.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(Self::SECOND.0))
    }

    /// The whole microseconds of a duration, saturating.
    #[must_use]
    pub fn from_duration(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }

    /// The number of microseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whole seconds, rounded up, so that a client that waits this long has waited long enough.
    #[must_use]
    pub const fn secs_rounded_up(self) -> u64 {
        self.0.div_ceil(Self::SECOND.0)
    }

    /// The sum, saturating.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The time from `earlier` to `self`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

/// The whole microseconds of a duration, saturating.
impl From<Duration> for Micros {
    fn from(duration: Duration) -> Self {
        Self::from_duration(duration)
    }
}

impl From<Micros> for Duration {
    fn from(micros: Micros) -> Self {
        Self::from_micros(micros.0)
    }
}

impl fmt::Display for Micros {
    /// In the largest unit that divides it, up to the second: `90 s`, `1500 ms`, `7 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n % Self::SECOND.0 == 0 => write!(f, "{} s", n / Self::SECOND.0),
            n if n % Self::MILLISECOND.0 == 0 => write!(f, "{} ms", n / Self::MILLISECOND.0),
            n => write!(f, "{n} us"),
        }
    }
}
