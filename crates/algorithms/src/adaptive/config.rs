//! The settings of an adaptive limit, validated by their constructor.

use core::fmt;

use super::Method;

/// The highest limit that can be configured. With it, every product of a limit and a latency is below 2^63.
pub const LIMIT_MAX: u32 = 1 << 16;

/// The settings of an [`AdaptiveLimit`](super::AdaptiveLimit): a method and a range.
///
/// The default is [`Method::Gradient2`] between 1 and 1,000, starting at 8. Start small: a server that is already full
/// of abandoned work answers nothing from which a limit could be learnt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AdaptiveConfig {
    pub(super) method: Method,
    pub(super) min: u32,
    pub(super) start: u32,
    pub(super) max: u32,
    pub(super) seed: u64,
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        Self::new(Method::Gradient2)
    }
}

impl AdaptiveConfig {
    /// A method with the default range: at least 1, at first 8, at most 1,000.
    #[must_use]
    pub const fn new(method: Method) -> Self {
        Self { method, min: 1, start: 8, max: 1_000, seed: 0 }
    }

    /// Sets the range, and where in it the limit starts.
    ///
    /// # Errors
    /// When `1 <= min <= start <= max <= LIMIT_MAX` does not hold.
    pub const fn with_range(self, min: u32, start: u32, max: u32) -> Result<Self, RangeError> {
        if 1 <= min && min <= start && start <= max && max <= LIMIT_MAX {
            Ok(Self { min, start, max, ..self })
        } else {
            Err(RangeError { min, start, max })
        }
    }

    /// Sets the seed of the jitter between probes. Give every process another one, so that not all of them lower their
    /// limits at the same time.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The limit that it starts with.
    #[must_use]
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// The lowest and the highest limit.
    #[must_use]
    pub const fn range(&self) -> (u32, u32) {
        (self.min, self.max)
    }
}

/// A range that no limit can keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RangeError {
    min: u32,
    start: u32,
    max: u32,
}

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, start, max } = *self;
        write!(f, "min {min}, start {start} and max {max} are no range: ")?;
        if min == 0 {
            f.write_str("min must be at least 1, because a limit of 0 admits nothing and learns nothing")
        } else if max > LIMIT_MAX {
            write!(f, "max must be at most {LIMIT_MAX}")
        } else if min > max {
            f.write_str("min must not be above max")
        } else {
            f.write_str("start must lie between min and max")
        }
    }
}

impl core::error::Error for RangeError {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::{AdaptiveConfig, LIMIT_MAX};

    #[test]
    fn a_range_is_kept_or_refused_with_the_reason() {
        let range = |min, start, max| AdaptiveConfig::default().with_range(min, start, max);
        assert_eq!(range(2, 3, 4).unwrap().range(), (2, 4));
        assert_eq!(range(1, 1, LIMIT_MAX).unwrap().range(), (1, LIMIT_MAX));
        let reason = |min, start, max| range(min, start, max).unwrap_err().to_string();
        assert!(reason(0, 3, 4).contains("min must be at least 1"));
        assert!(reason(5, 5, 4).ends_with("min must not be above max"));
        assert!(reason(2, 1, 4).ends_with("start must lie between min and max"));
        assert!(reason(1, 1, LIMIT_MAX + 1).ends_with("max must be at most 65536"));
    }
}
