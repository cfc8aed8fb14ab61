//! Why no permit was granted: the maximum is reached, or the call was invalid.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tollgate_algorithms::Micros;

use crate::limiter::KEY_BYTES_MAX;

/// Why no permit was acquired.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AcquireError {
    /// The key has as many permits as its limit.
    Busy(Busy),
    /// It had as many for all the time that the request could wait.
    TimedOut(Busy),
    /// The key is longer than [`KEY_BYTES_MAX`]. Nothing was counted.
    KeyTooLong {
        /// The limit.
        limit: String,
        /// How long the key is.
        bytes: usize,
    },
    /// The store that counts the permits gave no answer, and the limit's failure rule grants none.
    Unavailable {
        /// The limit.
        limit: String,
        /// The name of the cause, from a fixed set.
        why: &'static str,
    },
    /// The store has to be asked, and this thread must not be blocked: use the verbs without `try_`.
    WouldBlock {
        /// The limit.
        limit: String,
    },
}

/// A refusal by a concurrency limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Busy {
    pub(super) name: Arc<str>,
    pub(super) limit: u32,
    pub(super) in_flight: u32,
    pub(super) estimated_wait: Option<Micros>,
}

impl Busy {
    /// The name of the limit.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many permits a key may have.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// How many permits the key has.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// How long it may take until a permit is free: an estimate from the time for which earlier permits were held. `None` if the limit is
    /// 0, so that none is ever free.
    #[must_use]
    pub fn estimated_wait(&self) -> Option<Duration> {
        self.estimated_wait.map(Duration::from)
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, limit, in_flight, .. } = self;
        match self.estimated_wait {
            None => write!(f, "`{name}` allows none at the same time: raise the limit above 0"),
            Some(wait) => write!(
                f,
                "`{name}` allows {limit} at the same time and {in_flight} are in progress: try again in about {wait}"
            ),
        }
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(busy) => busy.fmt(f),
            Self::TimedOut(busy) => write!(f, "waited in vain: {busy}"),
            Self::Unavailable { limit, why } => {
                write!(
                    f,
                    "the store of `{limit}` gave no answer ({why}), and its failure rule grants nothing"
                )
            }
            Self::WouldBlock { limit } => write!(
                f,
                "`{limit}` is counted in a store, and this thread belongs to a runtime, which must not be blocked: use \
                 `acquire_now` or `acquire`"
            ),
            Self::KeyTooLong { limit, bytes } => write!(
                f,
                "a key of `{limit}` has {bytes} bytes, more than {KEY_BYTES_MAX}: shorten it, or hash it before"
            ),
        }
    }
}

impl std::error::Error for AcquireError {}
