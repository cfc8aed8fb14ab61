//! The schedule of a leaky bucket used as a queue by several processes: each reserves slots on it. Its twin is `reserve.lua`.

use crate::{Micros, Quota};

/// When the next slot of a key is: an instant, and a fraction of a microsecond in units of 1/`count`, so that nothing drifts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Slots {
    /// Whole microseconds.
    pub at: Micros,
    /// The fraction: less than `count`.
    pub fraction: u64,
    /// The units of the fraction: the count of the quota.
    pub count: u64,
}

/// One slot: when somebody may leave, by the store's clock.
pub type Slot = Slots;

/// What came of a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reserved {
    /// Somebody may leave then.
    Slot(Slot),
    /// As many are to leave before it as may wait. There is a place after this time.
    Full(Micros),
    /// The slot would be after this time, which is too long.
    TooLong(Micros),
}

impl Slots {
    /// The earliest instant at which somebody may leave in this slot.
    #[must_use]
    pub const fn instant(&self) -> Micros {
        let carry = if self.fraction > 0 { 1 } else { 0 };
        let at = self.at.get().saturating_add(carry);
        if at > Micros::INSTANT_MAX.get() { Micros::INSTANT_MAX } else { Micros::new(at) }
    }

    /// Reserves the next slot, unless as many others as the burst wait for theirs, or it is later than `most` from now on. A slot at `now` is
    /// always granted.
    ///
    /// ```
    /// use tollgate_algorithms::slots::{Reserved, Slots};
    /// use tollgate_algorithms::{Micros, Quota};
    /// let (quota, now) = (Quota::new(1, 100, Micros::SECOND)?, Micros::from_secs(900));
    /// let mut slots = Slots::default();
    /// let mut next = || match slots.reserve(&quota, now, None) {
    ///     Reserved::Slot(slot) => Ok(slot.instant().saturating_sub(now)),
    ///     Reserved::Full(wait) | Reserved::TooLong(wait) => Err(wait),
    /// };
    /// assert_eq!(next(), Ok(Micros::ZERO));
    /// assert_eq!(next(), Ok(Micros::from_millis(10)));
    /// assert_eq!(next(), Err(Micros::from_millis(10))); // one waits already; a place is free when it has left
    /// # Ok::<(), tollgate_algorithms::LimitError>(())
    /// ```
    pub fn reserve(&mut self, quota: &Quota, now: Micros, most: Option<Micros>) -> Reserved {
        let slot = self.next(quota, now);
        let wait = slot.instant().saturating_sub(now);
        let longest = longest_wait(quota);
        if wait > longest {
            return Reserved::Full(wait.saturating_sub(longest));
        }
        if most.is_some_and(|most| wait > most) {
            return Reserved::TooLong(wait);
        }
        *self = slot.following(quota);
        Reserved::Slot(slot)
    }

    /// Gives a slot back. Only the last one that was reserved can be; another one passes unused.
    pub fn give_back(&mut self, quota: &Quota, slot: Self) -> bool {
        let is_last = slot.count == quota.count() && *self == slot.following(quota);
        if is_last {
            *self = slot;
        }
        is_last
    }

    /// Whether the schedule is as good as that of a key that nobody has reserved a slot of.
    #[must_use]
    pub fn is_over(&self, now: Micros) -> bool {
        self.instant() <= now
    }

    /// The next slot from `now` on. One that is further ahead than any queue is long was written before the clock was set back; an hour is
    /// added, because a queue may have been longer under other numbers.
    fn next(&self, quota: &Quota, now: Micros) -> Self {
        let now = now.min(Micros::INSTANT_MAX);
        let fresh = Self { at: now, fraction: 0, count: quota.count() };
        let interval = Micros::new(quota.period().div_ceil(quota.count().max(1)));
        let horizon = longest_wait(quota).saturating_add(interval).saturating_add(Micros::HOUR);
        if self.instant() <= now || self.instant().saturating_sub(now) > horizon {
            return fresh;
        }
        if self.count == quota.count() {
            return *self;
        }
        Self { at: self.instant(), ..fresh }
    }

    /// The slot one interval later.
    fn following(&self, quota: &Quota) -> Self {
        let count = quota.count().max(1);
        let (whole, part) =
            (quota.period().checked_div(count).unwrap_or(0), quota.period().checked_rem(count).unwrap_or(0));
        let fraction = self.fraction.saturating_add(part);
        let (carry, fraction) =
            if fraction >= count { (1, fraction.saturating_sub(count)) } else { (0, fraction) };
        let at = self.at.saturating_add(Micros::new(whole.saturating_add(carry))).min(Micros::INSTANT_MAX);
        Self { at, fraction, count: self.count }
    }
}

/// The wait of somebody who has as many before him as may wait. Who leaves at once waits for nobody.
fn longest_wait(quota: &Quota) -> Micros {
    match quota.burst().saturating_mul(quota.period()).checked_sub(1) {
        Some(units) => Micros::new(units.checked_div(quota.count()).unwrap_or(0).saturating_add(1)),
        None => Micros::ZERO,
    }
}
