//! Adaptive concurrency limits: the number of permits follows the latency and the failures of a service.
//!
//! The machines that find the limit are those of [`tollgate_algorithms::adaptive`], which explains how they work; here they meet permits and
//! a clock.
//!
//! ```
//! use tollgate::Limiter;
//! use tollgate::adaptive::{AdaptiveConfig, Outcome};
//! let database = Limiter::new()?.adaptive("database", AdaptiveConfig::default());
//! let mut permit = database.try_acquire()?;
//! // ... ask the database ...
//! permit.record(Outcome::Success); // the answer has begun: this is its latency
//! drop(permit); // and now it has ended
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tollgate_algorithms::Micros;
use tollgate_algorithms::adaptive::{AdaptiveLimit, Start};

pub use tollgate_algorithms::adaptive::{AdaptiveConfig, LIMIT_MAX, Method, Outcome, Priority, RangeError};

use crate::concurrency::{AcquireError, ConcurrencyLimit, Permit};
use crate::limiter::Limiter;

/// A concurrency limit that follows what the service behind can do, made by [`Limiter::adaptive`]. Cheap to clone; clones share everything.
///
/// It has one count for all requests: what a service can do is not a client's. Put a [`ConcurrencyLimit`] by key beside it for that.
#[derive(Clone)]
pub struct AdaptiveConcurrency {
    permits: ConcurrencyLimit,
    machine: Arc<Mutex<AdaptiveLimit>>,
    limiter: Limiter,
}

/// One request in progress under an [`AdaptiveConcurrency`], until it is dropped.
///
/// Report with [`record`](Self::record) how it went as soon as that is known, and drop the permit when the work has ended. A permit that is
/// dropped without a report teaches nothing: its client has left.
#[must_use = "a permit that is dropped at once limits nothing"]
pub struct AdaptivePermit {
    permit: Permit,
    /// `None` if it was recorded.
    start: Option<Start>,
    limit: AdaptiveConcurrency,
}

impl Limiter {
    /// A limit on how many requests may be in progress at once, which follows their latency and their failures.
    #[must_use]
    pub fn adaptive(&self, name: &str, config: AdaptiveConfig) -> AdaptiveConcurrency {
        // Each process probes at other times.
        let seed = self.0.hashing.of_name(0).of(name.as_bytes());
        let machine = AdaptiveLimit::new(config.with_seed(seed));
        let permits = self.concurrency(name, machine.limit());
        AdaptiveConcurrency { permits, machine: Arc::new(Mutex::new(machine)), limiter: self.clone() }
    }
}

impl AdaptiveConcurrency {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.permits.name()
    }

    /// How many requests may be in progress now.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.permits.limit()
    }

    /// How many are in progress.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.permits.in_flight(KEY)
    }

    /// The mean latency of the service without load, as far as it is known.
    #[must_use]
    pub fn baseline(&self) -> Option<Duration> {
        self.machine().baseline().latency().map(Duration::from_micros)
    }

    /// Acquires a permit for an ordinary request.
    ///
    /// # Errors
    /// [`AcquireError::Busy`] if as many requests as the limit are in progress.
    pub fn try_acquire(&self) -> Result<AdaptivePermit, AcquireError> {
        self.admit(self.permits.try_acquire(KEY))
    }

    /// Acquires a permit for a request of this priority: lower ones are refused earlier, so that there is room for higher ones.
    ///
    /// # Errors
    /// [`AcquireError::Busy`] if as many requests as the limit has for this priority are in progress.
    pub fn try_acquire_with(&self, priority: Priority) -> Result<AdaptivePermit, AcquireError> {
        self.admit(self.permits.try_acquire_below(KEY, priority.share(self.limit())))
    }

    /// Acquires a permit, and waits for it for as long as `most` says: first come, first served.
    ///
    /// # Errors
    /// [`AcquireError::TimedOut`] if there is none in time.
    pub async fn acquire_within(&self, most: Duration) -> Result<AdaptivePermit, AcquireError> {
        self.admit(self.permits.acquire(KEY).within(most).await)
    }

    fn admit(&self, acquired: Result<Permit, AcquireError>) -> Result<AdaptivePermit, AcquireError> {
        let now = self.limiter.clock_now();
        match acquired {
            Ok(permit) => {
                let in_flight = self.in_flight();
                let start = self.change(|machine| machine.start(now, in_flight));
                Ok(AdaptivePermit { permit, start: Some(start), limit: self.clone() })
            }
            Err(refused) => {
                self.change(|machine| machine.refuse(now));
                Err(refused)
            }
        }
    }

    /// Lets the machine learn something, and puts its limit in force.
    fn change<T>(&self, learn: impl FnOnce(&mut AdaptiveLimit) -> T) -> T {
        let (learnt, limit) = {
            let mut machine = self.machine();
            (learn(&mut machine), machine.limit())
        };
        if limit != self.permits.limit() {
            self.permits.set_limit(limit);
        }
        learnt
    }

    fn machine(&self) -> MutexGuard<'_, AdaptiveLimit> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key of all requests.
const KEY: &str = "";

impl AdaptivePermit {
    /// Reports how the request went, now that it is known: its latency ends here, and the permit lasts on. Later reports are ignored.
    pub fn record(&mut self, outcome: Outcome) {
        if let Some(start) = self.start.take() {
            let now = self.limit.limiter.clock_now();
            self.limit.change(|machine| machine.record(now, start, outcome));
        }
    }

    /// When it was acquired, by the clock of the limiter.
    #[must_use]
    pub const fn since(&self) -> Micros {
        self.permit.since()
    }
}

impl Drop for AdaptivePermit {
    fn drop(&mut self) {
        self.record(Outcome::Ignored);
    }
}

impl fmt::Debug for AdaptiveConcurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdaptiveConcurrency({:?}, {} now)", self.name(), self.limit())
    }
}

impl fmt::Debug for AdaptivePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdaptivePermit({:?}, since {})", self.limit.name(), self.since())
    }
}
