//! Why a request was not let into a queue.

use std::fmt;
use std::time::Duration;

use tollgate_algorithms::Micros;

use crate::error::HitError;

/// Why somebody was not let into a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum QueueError {
    /// As many wait as may wait. The first place is free after this time at the earliest.
    Full(Duration),
    /// It would have to wait this long, and may not.
    TooLong(Duration),
    /// There is no room for the schedule of another key.
    NoRoom,
    /// The store that keeps the schedule gave no answer, for this cause, and the failure rule lets nobody pass.
    Unavailable(&'static str),
    /// The key is too long.
    Hit(HitError),
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wait = |wait: &Duration| Micros::from_duration(*wait);
        match self {
            Self::Full(next) => {
                write!(f, "the queue is full: a place is free after {} at the earliest", wait(next))
            }
            Self::TooLong(long) => write!(f, "the wait would be {}, which is too long", wait(long)),
            Self::NoRoom => f.write_str("there is no room for another key: give the limiter a larger budget"),
            Self::Unavailable(why) => {
                write!(
                    f,
                    "the store of the queue gave no answer ({why}), and its failure rule lets nobody pass"
                )
            }
            Self::Hit(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QueueError {}
