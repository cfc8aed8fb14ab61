//! The settings of a limiter, with defaults that suit most users.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::adaptive::Adaptive;
use crate::clock::Clock;
use crate::concurrency::Permits;
use crate::error::BuildError;
use crate::event::{Event, Listener};
use crate::hash::{Hashing, Secret};
use crate::leaky_queue::LeakyQueues;
use crate::limiter::{Inner, Limiter};
use crate::reservation::ReservationTable;
use crate::snapshot::{self, RestoreError};
use crate::store::memory::Memory;
use crate::timers::Timers;
use crate::waiting::Turns;

/// Default memory budget: enough for more than ten million bucket keys.
const BUDGET: usize = 256 << 20;

/// The smallest [`max_memory`](Builder::max_memory), in bytes: 4 MiB. Less would hold hardly any keys.
pub const MAX_MEMORY_BYTES_MIN: usize = 4 << 20;

/// Default maximum number of open reservations.
const RESERVATIONS: usize = 1 << 16;

/// Settings of a [`Limiter`], created by [`Limiter::builder`].
#[derive(Clone, Debug)]
pub struct Builder {
    budget: usize,
    clock: Option<Clock>,
    vouched: bool,
    listener: Option<Listener>,
    reservations_max: usize,
    #[cfg(feature = "redis")]
    store: Option<(tollgate_redis::Store, tollgate_redis::Naming)>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            budget: BUDGET,
            clock: None,
            vouched: false,
            listener: None,
            reservations_max: RESERVATIONS,
            #[cfg(feature = "redis")]
            store: None,
        }
    }
}

impl Builder {
    /// Sets the memory budget of the store in bytes, at least [`MAX_MEMORY_BYTES_MIN`]. The default is 256 MiB.
    ///
    /// When live keys fill it, known keys are not affected. New keys of a limit share an overflow bucket until
    /// there is room again: a new key may be refused for the usage of others, but never gets more than its
    /// limit. [`Stats::overflowed`](crate::Stats::overflowed) counts such hits, and [`Verdict::is_overflow`](crate::Verdict::is_overflow) reports them.
    #[must_use]
    pub fn max_memory(self, bytes: usize) -> Self {
        Self { budget: bytes, ..self }
    }

    /// Sets the clock. The default is [`Clock::fastest`].
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Uses a faster hash that does not resist collision attacks. Use this only if clients cannot choose keys (for
    /// example, if keys are IDs from your own database).
    #[must_use]
    pub fn trusted_keys(self) -> Self {
        Self { vouched: true, ..self }
    }

    /// Sets a listener for verdicts. It runs on the calling thread before the verdict is returned, so it must be fast.
    #[must_use]
    pub fn on_event(self, listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Listener(Arc::new(listener))), ..self }
    }

    /// Sets the maximum number of open reservations. The default is 65,536; each takes about a hundred bytes in addition to the
    /// budget. At the maximum, [reserve](Limiter::reserve) returns unavailable. The outcomes of up to 15 times
    /// as many ended reservations are remembered, so that ending one twice is not an error.
    #[must_use]
    pub fn reservations_max(self, reservations: usize) -> Self {
        Self { reservations_max: reservations, ..self }
    }

    /// Counts in a store that several processes share, with key names hashed with their common secret. The store provides the
    /// time.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn store(self, store: tollgate_redis::Store, naming: tollgate_redis::Naming) -> Self {
        Self { store: Some((store, naming)), ..self }
    }

    /// Builds an empty limiter.
    ///
    /// # Errors
    /// If the budget is too small, or the system has no memory or no randomness.
    pub fn build(self) -> Result<Limiter, BuildError> {
        let random = || getrandom::u64().map_err(|error| BuildError::NoRandomness(error.to_string()));
        let hashing = if self.vouched {
            Hashing::Vouched(random()?)
        } else {
            Hashing::keyed(Secret(random()?, random()?))
        };
        self.build_with(hashing)
    }

    /// Builds a limiter with the state that was [saved](Limiter::save) to a file. If the file is missing, damaged or
    /// not a snapshot, the limiter is empty, and the inner error says why.
    ///
    /// The key hash is the one of the snapshot, whatever was set here.
    ///
    /// # Errors
    /// If the budget is too small, or the system has no memory or no randomness.
    pub fn restore(self, file: &Path) -> Result<(Limiter, Result<(), RestoreError>), BuildError> {
        match snapshot::read(file) {
            Ok(saved) => {
                let limiter = self.build_with(saved.hashing.clone())?;
                let taken_over = limiter.0.take_over(saved);
                Ok((limiter, taken_over))
            }
            Err(why) => Ok((self.build()?, Err(why))),
        }
    }

    fn build_with(self, hashing: Hashing) -> Result<Limiter, BuildError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        if self.budget < MAX_MEMORY_BYTES_MIN {
            return Err(BuildError::MaxMemoryTooSmall { bytes: self.budget });
        }
        let clock = self.clock.unwrap_or_default();
        let timers = Timers::new(clock.clone());
        let memory = Memory::new(self.budget, clock.now()).ok_or(BuildError::NoMemory)?;
        Ok(Limiter(Arc::new(Inner {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            memory,
            clock,
            hashing,
            listener: self.listener,
            names: Mutex::new(HashMap::new()),
            book: Mutex::new(ReservationTable::new(self.reservations_max)),
            permits: Permits::default(),
            adaptive: Adaptive::default(),
            timers,
            turns: Turns::default(),
            queues: LeakyQueues::default(),
            #[cfg(feature = "redis")]
            shared: self.store.map(|(store, naming)| crate::remote::RemoteStore::new(store, naming)),
        })))
    }
}

#[cfg(test)]
mod tests {
    use crate::Limiter;
    use std::collections::HashSet;

    /// What an attacker learns of one process is worth nothing in another.
    #[test]
    fn every_limiter_hashes_by_a_secret_of_its_own() {
        for vouched in [false, true] {
            let hash = |_| {
                let builder = Limiter::builder();
                let builder = if vouched { builder.trusted_keys() } else { builder };
                builder.build().unwrap().0.hashing.of_name(0).of(b"ada")
            };
            let hashes: HashSet<u64> = (0..8).map(hash).collect();
            assert_eq!(hashes.len(), 8, "vouched for: {vouched}");
        }
    }
}
