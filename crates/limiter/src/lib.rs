//! Rate limiting in five lines: exact limits in bounded memory, for any number of threads and keys. No protocol, no policy.
//!
#![doc = include_str!("docs/front.md")]
#![warn(clippy::expect_used)]

pub mod adaptive;
#[cfg(feature = "redis")]
mod alone;
mod builder;
mod charging;
mod check;
mod clock;
mod concurrency;
mod denied;
mod error;
mod event;
mod hash;
mod key;
mod leaky_queue;
mod limit;
mod limiter;
mod listing;
mod receipt;
mod reservation;
#[cfg(feature = "redis")]
mod share;
#[cfg(feature = "redis")]
mod shared;
mod snapshot;
mod store;
mod sync;
mod timers;
mod verdict;
mod waiting;

pub use builder::{BUDGET_BYTES_MIN, Builder};
pub use clock::{Clock, ClockSource, ManualClock};
pub use concurrency::{Acquire, AcquireError, Busy, CONCURRENCY_MAX, ConcurrencyLimit, Permit};
pub use denied::AddressHit;
pub use error::{BuildError, HitError};
pub use event::{Event, Verb};
pub use key::{AsKey, Key, KeyBytes};
pub use leaky_queue::{Departure, LeakyQueue, QueueError};
#[cfg(feature = "redis")]
pub use limit::StoreFails;
pub use limit::{Hit, NamedLimit};
pub use limiter::{HITS_MAX, KEY_BYTES_MAX, Limiter, Standing, Stats};
pub use receipt::Receipt;
pub use reservation::{Ended, NotAnId, ReservationError, ReservationId};
pub use snapshot::{RestoreError, SaveError};
pub use tollgate_algorithms::{
    Algorithm, Decision, Limit, LimitError, Micros, Mode, Outcome, ParseLimitError, Quota, Rate, Retry,
    Schedule, UtcOffset, Window,
};
pub use verdict::{Answer, Kind, Source, Unavailable, Verdict};
pub use waiting::{InLine, WaitError};

/// The README's snippets, so that they are compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// The same for the crate's own README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod crate_readme {}
