//! Rate limiting in five lines: exact limits in bounded memory, for any number of threads and keys. No protocol, no policy.
//!
#![cfg_attr(any(not(doctest), feature = "redis"), doc = include_str!("../README.md"))]
//!
#![doc = include_str!("docs/front.md")]
#![warn(clippy::expect_used)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod adaptive;
mod adjustment;
mod builder;
mod charging;
mod check;
mod clock;
mod concurrency;
mod denied_credentials;
mod error;
mod event;
#[cfg(feature = "redis")]
mod fallback;
#[cfg(feature = "redis")]
mod fraction;
mod hash;
mod inline_list;
mod key;
mod leaky_queue;
mod limit;
mod limiter;
mod pacer;
mod receipt;
#[cfg(feature = "redis")]
mod remote;
mod reservation;
#[cfg(feature = "serde")]
pub mod serde;
#[cfg(feature = "redis")]
mod shared_queue;
mod snapshot;
mod store;
mod sync;
mod timers;
#[cfg(feature = "tracing")]
mod trace;
mod verdict;
mod voided;
mod waiting;

pub use adjustment::Adjustment;
pub use builder::{Builder, MAX_MEMORY_BYTES_MIN};
pub use clock::{Clock, ClockSource, ManualClock};
pub use concurrency::{Acquire, AcquireError, Busy, CONCURRENCY_MAX, ConcurrencyLimit, Permit};
pub use denied_credentials::{AddressHit, AddressRefusal};
pub use error::{BuildError, HitError};
pub use event::{Event, Verb};
pub use key::{AsKey, Key, KeyBytes};
pub use leaky_queue::{Departure, LeakyQueue, QueueError};
pub use limit::{FailureRule, Hit, NamedLimit};
pub use limiter::{HITS_MAX, KEY_BYTES_MAX, KeyStatus, Limiter, Stats};
pub use pacer::{ORIGINS_MAX, Pacer, Pass};
pub use receipt::Receipt;
pub use reservation::{
    ClosedReservation, ParseIdError, Reservation, ReservationError, ReservationId, ReservationOutcome,
};
pub use snapshot::{RestoreError, SaveError};
pub use tollgate_algorithms::{
    Algorithm, Decision, Limit, LimitError, Micros, Mode, Outcome, ParseLimitError, Quota, Rate, Retry,
    Schedule, UtcOffset, Window,
};
pub use verdict::{HitResult, Kind, Source, Unavailable, Verdict};
pub use waiting::{PlaceInLine, WaitError};

/// The pure decision functions and their state, for stores of your own: the crate `tollgate-algorithms`.
pub use tollgate_algorithms as algorithms;

/// The store that several processes share, for [`Builder::store`]: Redis or Valkey, and what holds when it fails.
#[cfg(feature = "redis")]
pub mod redis {
    pub use tollgate_redis::{
        Address, AddressError, BreakerState, Cause, Health, Identity, LinkError, Name, Naming, OpenError,
        REMEMBERED_MAX, Roots, Settings, Store, StoreError, Validity,
    };
}

/// The README's snippets, so that they are compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
