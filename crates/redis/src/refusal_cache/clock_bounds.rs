//! Bounds of the server's clock from the times of request and reply, and the order of two replies.

use std::cmp::Ordering;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_algorithms::Micros;

/// When the server decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockBounds {
    /// By our clock, not before this one, and not after that one.
    pub(crate) asked: Instant,
    pub(crate) answered: Instant,
    /// By its own.
    pub(crate) server: Micros,
}

/// How a decision stands to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Earlier,
    /// Nobody can tell: several charges that go to the server as one call are decided at one instant.
    Same,
    Later,
}

impl ClockBounds {
    /// How this decision stands to that one. What was asked when the other had been answered is later, whatever the server's clock
    /// says (it may have been set back). Only where both were on their way at once, as answers that overtake each other are, its
    /// clock has to tell.
    pub(super) fn order(&self, other: &Self) -> Order {
        if self.asked >= other.answered {
            return Order::Later;
        }
        if self.answered <= other.asked {
            return Order::Earlier;
        }
        match self.server.cmp(&other.server) {
            Ordering::Less => Order::Earlier,
            Ordering::Equal => Order::Same,
            Ordering::Greater => Order::Later,
        }
    }

    /// Both of two of which nobody can tell which was earlier.
    pub(super) fn with(&self, other: &Self) -> Self {
        let (asked, answered) = (self.asked.min(other.asked), self.answered.max(other.answered));
        Self { asked, answered, server: self.server }
    }

    /// How long the answer took.
    pub(super) fn took(&self) -> Duration {
        self.answered.saturating_duration_since(self.asked)
    }
}
