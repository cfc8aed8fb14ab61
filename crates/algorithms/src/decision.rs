//! The result of one hit: granted or refused, with the numbers that a client can act on.

use core::time::Duration;

use crate::{Limit, Micros, Receipt};

/// The answer to one hit.
///
/// Its numbers are promises, and each is a law with a test: a granted decision has no retry; a refused one has
/// `remaining < cost`, is granted at `now + retry` and refused one microsecond earlier; exactly `remaining` more hits
/// of cost 1 are granted at this instant; after `reset_after` the key is as good as never seen. (In a batch, hits on
/// the same key add up: see [`Batch::decisions`](crate::Batch::decisions).)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Granted, or refused and until when.
    pub outcome: Outcome,
    /// What was charged: the cost, or what was granted of it ([`decide_up_to`](crate::decide_up_to)) or counted of it
    /// ([`settle`](crate::settle)); nothing if it was refused.
    pub charged: u64,
    /// The limit's burst or limit, or [`UNLIMITED`](Self::UNLIMITED).
    pub limit: u64,
    /// How much more is granted at this instant, or [`UNLIMITED`](Self::UNLIMITED).
    pub remaining: u64,
    /// After how long, if nothing more is charged, the key is as good as never seen. Zero if it already is.
    pub reset_after: Micros,
    /// The instant at which it was decided: `now`, or the state's own time where that is later.
    pub at: Micros,
}

/// Granted, or refused and until when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The cost fits.
    Granted,
    /// The cost does not fit now.
    Refused(Retry),
}

/// When a refused hit is granted, if nothing more is charged meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Retry {
    /// This long after `now`, and not a microsecond earlier.
    After(Micros),
    /// Never: the cost (in a batch: with those before it on the same target) is larger than the limit. Waiting does not
    /// help.
    Never,
}

impl Decision {
    /// Stands for "as much as you like" in [`limit`](Self::limit) and [`remaining`](Self::remaining): only an
    /// [unlimited](crate::Limit::Unlimited) limit says it.
    pub const UNLIMITED: u64 = u64::MAX;

    /// Whether the hit was granted.
    #[must_use]
    pub const fn granted(&self) -> bool {
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

    /// The receipt with which what was charged can be [refunded](crate::refund); `None` if nothing was.
    #[must_use]
    pub const fn receipt(&self, limit: &Limit) -> Option<Receipt> {
        if self.charged == 0 {
            None
        } else {
            Some(Receipt { at: self.at, cost: self.charged, limit: *limit })
        }
    }
}
