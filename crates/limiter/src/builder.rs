//! The settings of a limiter. Each has a default that is right for most.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::clock::Clock;
use crate::concurrency::Permits;
use crate::error::BuildError;
use crate::event::{Event, Listener};
use crate::hash::{Hashing, Secret};
use crate::limiter::{Inner, Limiter};
use crate::reservation::Book;
use crate::snapshot::{self, RestoreError};
use crate::store::memory::Memory;

/// What a store may take in memory, unless it is told otherwise: room for more than ten million keys of a bucket.
const BUDGET: usize = 256 << 20;

/// The smallest [budget](Builder::budget), in bytes: 4 MiB. Less would hold hardly any keys.
pub const BUDGET_BYTES_MIN: usize = 4 << 20;

/// How many reservations may be open at once, unless it is told otherwise.
const RESERVATIONS: usize = 1 << 16;

/// Settings of a [`Limiter`], made by [`Limiter::builder`].
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
    /// How many bytes the store may take: at least [`BUDGET_BYTES_MIN`]; with less, the limiter is not built. The default is 256 MiB.
    ///
    /// When live keys fill it, known keys go on as before; a new key shares a cell with other new keys of its limit until
    /// there is room again. It may then be refused for what others have spent, and is never granted more than its
    /// limit. [`Stats::overflowed`](crate::Stats::overflowed) counts, and [`Verdict::shared`](crate::Verdict::shared) tells.
    #[must_use]
    pub fn budget(self, bytes: usize) -> Self {
        Self { budget: bytes, ..self }
    }

    /// Where the time comes from: [`Clock::fastest`] unless set.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Hashes keys faster, in a way that holds only as long as nobody chooses keys in order to make them collide: say this
    /// only if you make the keys yourself (numbers from your own database, say).
    #[must_use]
    pub fn keys_are_vouched_for(self) -> Self {
        Self { vouched: true, ..self }
    }

    /// Calls this for every verdict, on the thread that asked, before it gets the answer: to be quick.
    #[must_use]
    pub fn listen(self, listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Listener(Arc::new(listener))), ..self }
    }

    /// How many reservations may be open at once (each takes some hundred bytes, on top of the budget): 65,536 unless set.
    /// When there are as many, to [reserve](Limiter::reserve) one more is unavailable. How they ended is remembered of up to 15 times
    /// as many, in some hundred bytes each, so that to end one once more is no error.
    #[must_use]
    pub fn reservations_max(self, reservations: usize) -> Self {
        Self { reservations_max: reservations, ..self }
    }

    /// Counts in a store that several processes share, under names that are made with their common secret. Time is then the
    /// store's own.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn store(self, store: tollgate_redis::Store, naming: tollgate_redis::Naming) -> Self {
        Self { store: Some((store, naming)), ..self }
    }

    /// The limiter, empty.
    ///
    /// # Errors
    /// When the budget is too small, or the system gives no memory or no randomness.
    pub fn build(self) -> Result<Limiter, BuildError> {
        let random = || getrandom::u64().map_err(|error| BuildError::NoRandomness(error.to_string()));
        let hashing = if self.vouched {
            Hashing::Vouched(random()?)
        } else {
            Hashing::keyed(Secret(random()?, random()?))
        };
        self.build_with(hashing)
    }

    /// The limiter, as it was when it was [saved](Limiter::save). If the file is not there, torn, cut off or somebody
    /// else's, the limiter is empty, and the error says what is wrong.
    ///
    /// The hash of the keys is the one it was saved with, whatever was set here.
    ///
    /// # Errors
    /// When the budget is too small, or the system gives no memory or no randomness.
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
        if self.budget < BUDGET_BYTES_MIN {
            return Err(BuildError::BudgetTooSmall { bytes: self.budget });
        }
        let clock = self.clock.unwrap_or_default();
        let memory = Memory::new(self.budget, clock.now()).ok_or(BuildError::NoMemory)?;
        Ok(Limiter(Arc::new(Inner {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            memory,
            clock,
            hashing,
            listener: self.listener,
            names: Mutex::new(HashMap::new()),
            book: Mutex::new(Book::new(self.reservations_max)),
            permits: Permits::default(),
            #[cfg(feature = "redis")]
            shared: self.store.map(|(store, naming)| crate::shared::Shared::new(store, naming)),
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
                let builder = if vouched { builder.keys_are_vouched_for() } else { builder };
                builder.build().unwrap().0.hashing.of_name(0).of(b"ada")
            };
            let hashes: HashSet<u64> = (0..8).map(hash).collect();
            assert_eq!(hashes.len(), 8, "vouched for: {vouched}");
        }
    }
}
