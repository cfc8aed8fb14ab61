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

mod by_key;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tollgate_algorithms::Micros;
use tollgate_algorithms::adaptive::{AdaptiveLimit, Start};

pub(crate) use by_key::Adaptive;
pub use by_key::{ADAPTIVE_KEYS_MAX, AdaptiveByKey};
pub use tollgate_algorithms::adaptive::{AdaptiveConfig, LIMIT_MAX, Method, Outcome, Priority, RangeError};

use crate::concurrency::{AcquireError, ConcurrencyLimit, Permit};
use crate::key::AsKey;
use crate::limiter::Limiter;

/// A concurrency limit that follows what the service behind can do, made by [`Limiter::adaptive`]. Cheap to clone; clones share everything.
///
/// It has one count for all requests: what a service can do is not a client's. [`AdaptiveByKey`] has one for each of several services.
#[derive(Clone)]
pub struct AdaptiveConcurrency(Arc<One>);

/// What the clones share.
struct One {
    /// Of which service, if there are several.
    key: Box<[u8]>,
    permits: ConcurrencyLimit,
    machine: Mutex<AdaptiveLimit>,
    limiter: Limiter,
    /// When a permit was last acquired or refused, by the clock of the limiter.
    used: AtomicU64,
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
    ///
    /// Limits of one name and one configuration are one limit, so that a new configuration of a program keeps what was learnt.
    #[must_use]
    pub fn adaptive(&self, name: &str, config: AdaptiveConfig) -> AdaptiveConcurrency {
        self.adaptive_by_key(name, config).of(KEY)
    }
}

impl AdaptiveConcurrency {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.permits.name()
    }

    /// How many requests may be in progress now.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.0.permits.limit()
    }

    /// How many are in progress.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.0.permits.in_flight(&*self.0.key)
    }

    /// How many wait for permits of this name.
    #[must_use]
    pub fn total_waiting(&self) -> u64 {
        self.0.permits.total_waiting()
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> AdaptiveConfig {
        *self.machine().config()
    }

    /// How long permits of this name are held, as an average over the latest ones; zero before the first was released.
    #[must_use]
    pub fn average_hold(&self) -> Duration {
        self.0.permits.average_hold()
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
        self.admit(self.0.permits.try_acquire(&*self.0.key))
    }

    /// Acquires a permit for a request of this priority: lower ones are refused earlier, so that there is room for higher ones.
    ///
    /// # Errors
    /// [`AcquireError::Busy`] if as many requests as the limit has for this priority are in progress.
    pub fn try_acquire_with(&self, priority: Priority) -> Result<AdaptivePermit, AcquireError> {
        self.admit(self.0.permits.try_acquire_with(&*self.0.key, priority))
    }

    /// Acquires a permit that is counted and never refused, to see what the limit would do: [`AdaptivePermit::exceeds_limit`] says whether
    /// it would have refused. These permits have a count of their own.
    ///
    /// # Errors
    /// None at present.
    pub fn try_acquire_shadow(&self) -> Result<AdaptivePermit, AcquireError> {
        let permit = self.0.permits.try_acquire_shadow(&*self.0.key)?;
        if permit.exceeds_limit() {
            let now = self.0.limiter.clock_now();
            self.change(|machine| machine.refuse(now));
        }
        self.admit(Ok(permit))
    }

    /// Acquires a permit, and waits for it for as long as `most` says: first come, first served.
    ///
    /// # Errors
    /// [`AcquireError::TimedOut`] if there is none in time.
    pub async fn acquire_within(&self, most: Duration) -> Result<AdaptivePermit, AcquireError> {
        self.admit(self.0.permits.acquire(&*self.0.key).within(most).await)
    }

    /// Like [`acquire_within`](Self::acquire_within), in turns with the other members who wait: see
    /// [`Acquire::for_member`](crate::Acquire::for_member).
    ///
    /// # Errors
    /// Like `acquire_within`.
    pub async fn acquire_within_for(
        &self,
        member: impl AsKey,
        most: Duration,
    ) -> Result<AdaptivePermit, AcquireError> {
        let acquire = self.0.permits.acquire(&*self.0.key).within(most).for_member(member);
        self.admit(acquire.await)
    }

    fn admit(&self, acquired: Result<Permit, AcquireError>) -> Result<AdaptivePermit, AcquireError> {
        let now = self.0.limiter.clock_now();
        self.0.used.store(now.get(), Ordering::Relaxed);
        match acquired {
            Ok(permit) => {
                let start = self.change(|machine| machine.start(now, permit.in_flight()));
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
        if limit != self.0.permits.limit() {
            self.0.permits.set_limit(limit);
        }
        learnt
    }

    fn machine(&self) -> MutexGuard<'_, AdaptiveLimit> {
        self.0.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key of a limit without keys.
const KEY: &str = "";

impl AdaptivePermit {
    /// Reports how the request went, now that it is known: its latency ends here, and the permit lasts on. Later reports are ignored.
    pub fn record(&mut self, outcome: Outcome) {
        if let Some(start) = self.start.take() {
            let now = self.limit.0.limiter.clock_now();
            self.limit.change(|machine| machine.record(now, start, outcome));
        }
    }

    /// The limit that counts it.
    #[must_use]
    pub const fn limit(&self) -> &AdaptiveConcurrency {
        &self.limit
    }

    /// How many more permits there could be when this one was acquired.
    #[must_use]
    pub const fn remaining(&self) -> u32 {
        self.permit.remaining()
    }

    /// Whether the limit would have refused it. Always `false` except for [shadow permits](AdaptiveConcurrency::try_acquire_shadow).
    #[must_use]
    pub const fn exceeds_limit(&self) -> bool {
        self.permit.exceeds_limit()
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
