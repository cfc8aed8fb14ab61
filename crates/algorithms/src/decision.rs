//! The result of one hit: granted or refused, with the numbers that a client can act on.

use core::time::Duration;

use crate::{Limit, Micros, Receipt};

/// The result of one hit.
///
/// Its numbers are guarantees, each with a test. A granted decision has no retry. A refused hit has
/// `remaining < cost`, is granted at `now + retry`, and is refused one microsecond earlier. Exactly `remaining` more hits
/// of cost 1 are granted at this instant. After `reset_after`, the state equals no state. (In a batch, hits on
/// the same key add up: see [`Batch::decisions`](crate::Batch::decisions).)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Granted, or refused with the time to retry.
    pub outcome: Outcome,
    /// The amount charged: the cost, or the part of it that [`decide_up_to`](crate::decide_up_to) or
    /// [`settle`](crate::settle) charged; 0 if refused.
    pub charged: u64,
    /// The capacity of the limit, or [`UNLIMITED`](Self::UNLIMITED).
    pub limit: u64,
    /// The cost that is still granted at this instant, or [`UNLIMITED`](Self::UNLIMITED).
    pub remaining: u64,
    /// Time until the quota is fully restored, if nothing more is charged. Zero if it already is.
    pub reset_after: Micros,
    /// The instant of the decision: `now`, or the state's own time if that is later.
    pub at: Micros,
}

/// Granted, or refused with the time to retry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The cost fits.
    Granted,
    /// The cost does not fit now.
    Refused(Retry),
}

/// When to retry a refused hit, if nothing more is charged meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Retry {
    /// Exactly this long after `now`.
    After(Micros),
    /// Never: the cost (in a batch, with those before it on the same target) exceeds the capacity.
    Never,
}

impl Decision {
    /// The value of [`limit`](Self::limit) and [`remaining`](Self::remaining) for an
    /// [unlimited](crate::Limit::Unlimited) limit.
    pub const UNLIMITED: u64 = u64::MAX;

    /// Returns true if the hit was granted.
    #[must_use]
    pub const fn is_granted(&self) -> bool {
        matches!(self.outcome, Outcome::Granted)
    }

    /// When to try again; `None` if the hit was granted.
    #[must_use]
    pub const fn retry(&self) -> Option<Retry> {
        match self.outcome {
            Outcome::Granted => None,
            Outcome::Refused(retry) => Some(retry),
        }
    }

    /// How long to wait before the same hit is granted, if nothing more is charged meanwhile. `None` if it was granted, or if
    /// retrying will never succeed: [`retry`](Self::retry) tells these apart.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self.retry()? {
            Retry::After(wait) => Some(wait.into()),
            Retry::Never => None,
        }
    }

    /// The receipt for [refunding](crate::refund) the charge; `None` if nothing was charged.
    #[must_use]
    pub const fn receipt(&self, limit: &Limit) -> Option<Receipt> {
        if self.charged == 0 {
            None
        } else {
            Some(Receipt { at: self.at, cost: self.charged, limit: *limit })
        }
    }
}
