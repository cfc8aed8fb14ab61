//! A burst and an exact rate, for the three bucket algorithms.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "every operand is bounded by the constructor, and every divisor is not zero"
)]

use core::num::NonZeroU64;

use crate::{LimitError, Micros};

/// A burst and a rate: `burst` at once, and `count` per `period` in the long run.
///
/// The rate is a reduced fraction and never divided out, so 7 per 3 s is exact forever. Under
/// constant demand, a key gets exactly ⌊burst + count × t / period⌋ grants in the time t from its first hit, provided that the
/// refill between two hits never exceeds the burst.
///
/// [`Quota::new`] checks that `burst × period + count` (reduced, in microseconds) is below 2^52. Every stored debt
/// is then an integer that both 64 bits and a double represent exactly. A burst of 0 denies everything.
///
/// ```
/// use tollgate_algorithms::{Micros, Quota};
/// let quota = Quota::new(20, 1_000_000, Micros::DAY)?;
/// assert_eq!((quota.count(), quota.period()), (1, 86_400)); // 1 per 86,400 us is the same rate, reduced
/// assert_eq!(quota.to_string(), "1000000 per day, burst 20");
///
/// let error = Quota::new(15, 1, Micros::from_secs(315_576_000)).unwrap_err(); // 1 per 10 years
/// assert!(error.to_string().ends_with("the nearest quota that fits is 1 per 315576000 s, burst 14"));
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quota {
    burst: u64,
    count: NonZeroU64,
    period: NonZeroU64,
}

/// Maximum of `burst × period + count`.
const UNITS_MAX: u64 = (1 << 52) - 1;

impl Quota {
    /// A burst, and `count` per `period`.
    ///
    /// # Errors
    /// If the count or the period is 0, or if the numbers are too large to be exact; the error names the nearest
    /// valid quota.
    pub const fn new(burst: u64, count: u64, period: Micros) -> Result<Self, LimitError> {
        let Some(given_count) = NonZeroU64::new(count) else { return Err(LimitError::CountZero) };
        let Some(given_period) = NonZeroU64::new(period.get()) else { return Err(LimitError::PeriodZero) };
        let quota = Self::reduced(burst, given_count, given_period);
        if quota.fits() {
            Ok(quota)
        } else {
            Err(LimitError::QuotaTooLarge { burst, count, period, nearest: quota.nearest() })
        }
    }

    /// The most a key can use at one instant.
    #[must_use]
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// The cells refilled every [`period`](Self::period), reduced.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count.get()
    }

    /// The microseconds in which [`count`](Self::count) cells are refilled, reduced. Also the number of units per cell
    /// of debt.
    #[must_use]
    pub const fn period(&self) -> u64 {
        self.period.get()
    }

    /// The time after which an exhausted key is fully restored.
    #[must_use]
    pub const fn drain(&self) -> Micros {
        Micros::new(self.burst.saturating_mul(self.period.get()).div_ceil(self.count.get()))
    }

    const fn reduced(burst: u64, count: NonZeroU64, period: NonZeroU64) -> Self {
        let divisor = greatest_common_divisor(count.get(), period.get());
        match (NonZeroU64::new(count.get() / divisor), NonZeroU64::new(period.get() / divisor)) {
            (Some(count), Some(period)) => Self { burst, count, period },
            // A common divisor divides without becoming zero; as given is right all the same.
            _ => Self { burst, count, period },
        }
    }

    const fn fits(&self) -> bool {
        let units = self.burst as u128 * self.period.get() as u128 + self.count.get() as u128;
        units <= UNITS_MAX as u128
    }

    /// The same rate with the largest valid burst. If not even a burst of one is valid, the nearest rate for which it
    /// is: never a faster one, unless the rate is slower than the slowest possible.
    #[expect(clippy::cast_possible_truncation, reason = "each quotient is at most UNITS_MAX")]
    const fn nearest(&self) -> Self {
        let (mut count, mut period) = (self.count.get() as u128, self.period.get() as u128);
        let most = UNITS_MAX as u128;
        if count + period > most {
            let shorter = most * period / (count + period);
            (count, period) = match (count * shorter, shorter) {
                (_, 0) => (most - 1, 1),
                (scaled, _) if scaled < period => (1, most - 1),
                // With that count, the shortest period that is no faster than asked.
                (scaled, _) => (scaled / period, (scaled / period * period).div_ceil(count)),
            };
        }
        let burst_max = ((most - count) / period) as u64;
        let burst = if self.burst < burst_max { self.burst } else { burst_max };
        match (NonZeroU64::new(count as u64), NonZeroU64::new(period as u64)) {
            (Some(count), Some(period)) => Self::reduced(burst, count, period),
            _ => Self { burst: 0, ..*self },
        }
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
