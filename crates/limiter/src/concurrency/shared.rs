//! Concurrency limits that several processes share, in a store, and what holds while that does not answer.

use std::time::Duration;

use tollgate_redis::{Denied, Held, Name, Naming, Patience, PermitKey, PermitPool, Validity};

use super::{AcquireError, ConcurrencyLimit, Inner, Permit};
use crate::limit::FailureRule;
use crate::limiter::{KEY_BYTES_MAX, Limiter};
use crate::store::memory::in_flight::PermitMode;

/// What a shared concurrency limit has besides: its name in the store, and its failure rule.
#[derive(Clone)]
pub(crate) struct SharedPermits {
    pool: PermitPool,
    naming: Naming,
    fails: FailureRule,
}

/// What stands for a permit of a shared limit.
pub(crate) enum SharedPermit {
    /// The store granted it.
    Held(Held),
    /// The store failed, and the limit allows.
    Uncounted,
}

impl SharedPermits {
    fn key(&self, limit: &Inner, key: &[u8]) -> PermitKey {
        let name: Name = self.naming.name(&limit.family.name, key);
        PermitKey { name, marker: PermitKey::marker_of(&self.naming), limit: limit.limit() }
    }

    /// Whether requests go on while the store fails.
    fn fails_open(&self) -> bool {
        !matches!(self.fails, FailureRule::Deny)
    }
}

impl Limiter {
    /// A concurrency limit whose permits are in the [store](crate::Builder::store), so that all processes together have no more than the
    /// limit, and what it says while the store gives no answer. Without a store it is counted in this process.
    ///
    /// A process keeps what it uses, and asks the store only for more. It says every 0.7 s that it still has them: permits of a process that
    /// crashes or is stopped come back after 2 s, and its own are [void](Permit::is_void) from before then on. While the store fails,
    /// [`FailureRule::Local`] counts in this process alone, apart from the permits that it already has.
    ///
    /// [Shadow permits](ConcurrencyLimit::try_acquire_shadow) are counted by each process for itself.
    #[must_use]
    pub fn shared_concurrency(&self, name: &str, limit: u32, fails: FailureRule) -> ConcurrencyLimit {
        self.shared_concurrency_in("", name, limit, fails)
    }

    /// The same in a [namespace](Naming::in_namespace) of the store.
    #[must_use]
    pub fn shared_concurrency_in(
        &self,
        namespace: &str,
        name: &str,
        limit: u32,
        fails: FailureRule,
    ) -> ConcurrencyLimit {
        let local = self.concurrency(name, limit);
        let Some((pool, naming)) = self.0.shared.as_ref().and_then(|shared| shared.permits(namespace)) else {
            return local;
        };
        pool.expect(PermitKey::marker_of(&naming));
        local.with_shared(SharedPermits { pool, naming, fails })
    }
}

impl ConcurrencyLimit {
    /// Acquires a permit if there is one. Of a [shared](Limiter::shared_concurrency) limit it asks the store, if this process has none at hand;
    /// of any other, it is ready at once.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn acquire_now(&self, key: impl crate::AsKey) -> Result<Permit, AcquireError> {
        let bytes = key.key_bytes();
        match self.take_at_hand(bytes.as_ref())? {
            Some(permit) => Ok(permit),
            None if self.is_shared() => self.ask_store(bytes.as_ref(), Patience::None).await,
            None => self.try_acquire(bytes.as_ref()),
        }
    }

    /// Whether its permits are in a store that several processes share.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.shared.is_some()
    }

    /// A permit of a shared limit that this process has at hand.
    fn take_at_hand(&self, key: &[u8]) -> Result<Option<Permit>, AcquireError> {
        let Some(shared) = &self.0.shared else { return Ok(None) };
        let (id, permit_key) = (self.0.id(key)?, shared.key(&self.0, key));
        let held = shared.pool.try_take(&permit_key, shared.fails_open());
        Ok(held.map(|held| self.remote_permit(id, shared, (&permit_key.name, held))))
    }

    /// [`try_acquire`](Self::try_acquire) of a shared limit: it may block the thread.
    pub(super) fn try_acquire_shared(&self, key: &[u8]) -> Result<Permit, AcquireError> {
        if let Some(permit) = self.take_at_hand(key)? {
            return Ok(permit);
        }
        let store = self.0.limiter.0.shared.as_ref().map(crate::remote::RemoteStore::store);
        let asked = store.and_then(|store| store.block_on(self.ask_store(key, Patience::None)));
        asked.unwrap_or_else(|| Err(AcquireError::WouldBlock { limit: self.name().to_owned() }))
    }

    /// Acquires a permit of a shared limit.
    pub(super) async fn ask_store(&self, key: &[u8], patience: Patience) -> Result<Permit, AcquireError> {
        if key.len() > KEY_BYTES_MAX {
            return Err(AcquireError::KeyTooLong { limit: self.name().to_owned(), bytes: key.len() });
        }
        let id = self.0.id(key)?;
        let Some(shared) = &self.0.shared else { return self.0.take(key, PermitMode::Enforced, self) };
        let permit_key = shared.key(&self.0, key);
        match shared.pool.acquire(&permit_key, shared.fails_open(), patience).await {
            Ok(held) => Ok(self.remote_permit(id, shared, (&permit_key.name, held))),
            Err(Denied::Busy(in_flight)) => Err(AcquireError::Busy(self.0.busy(id, in_flight))),
            Err(Denied::Unavailable(why)) => self.without_store(id, shared, why),
        }
    }

    /// What the failure rule says.
    fn without_store(
        &self,
        id: u64,
        shared: &SharedPermits,
        why: &'static str,
    ) -> Result<Permit, AcquireError> {
        let unavailable = || AcquireError::Unavailable { limit: self.name().to_owned(), why };
        match shared.fails {
            FailureRule::Deny => Err(unavailable()),
            FailureRule::Allow => {
                let permit = self.0.permit_of((id, 0), self);
                Ok(permit.with_shared(SharedPermit::Uncounted))
            }
            FailureRule::Local { share, of } => {
                let (share, of) = (u64::from(share.min(of)), u64::from(of.max(1)));
                let part = u32::try_from(u64::from(self.limit()) * share / of).unwrap_or(0);
                if part == 0 {
                    return Err(unavailable());
                }
                self.0.take_local_part(id, part, self).map_err(AcquireError::Busy)
            }
        }
    }

    fn remote_permit(&self, id: u64, shared: &SharedPermits, (name, held): (&Name, Held)) -> Permit {
        let (used, others) = shared.pool.in_use(name);
        let before = used.saturating_add(others).saturating_sub(1).min(self.limit().saturating_sub(1));
        self.0.permit_of((id, before), self).with_shared(SharedPermit::Held(held))
    }

    fn with_shared(self, shared: SharedPermits) -> Self {
        let inner = self.0.with(self.max_hold(), Some(shared));
        Self(std::sync::Arc::new(inner))
    }

    /// How many permits of a shared limit's key are in use: in this process, and in the others when the store was asked last.
    pub(super) fn shared_in_use(&self, key: &[u8]) -> Option<(u32, u32)> {
        let shared = self.0.shared.as_ref()?;
        Some(shared.pool.in_use(&shared.key(&self.0, key).name))
    }

    /// How many requests of this process wait for a permit of a shared limit's key.
    pub(super) fn shared_waiting(&self, key: &[u8]) -> Option<usize> {
        let shared = self.0.shared.as_ref()?;
        Some(shared.pool.waiting(&shared.key(&self.0, key).name))
    }
}

impl Inner {
    /// The same limit with other settings.
    fn with(&self, max_hold: Option<Duration>, shared: Option<SharedPermits>) -> Self {
        Self {
            limiter: self.limiter.clone(),
            family: std::sync::Arc::clone(&self.family),
            limit: std::sync::Arc::clone(&self.limit),
            max_hold: max_hold.map(tollgate_algorithms::Micros::from_duration),
            shared,
        }
    }
}

impl Permit {
    /// Whether it is void: the store was not told in time that it is still in use, so that others may have it. Whoever holds it must not
    /// go on. Ask before every step that the limit is to bound. Always `false` for a limit of this process.
    ///
    /// If the store failed before that, and the limit's failure rule is not [`FailureRule::Deny`], the permit stays valid.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.validity().is_some_and(Validity::is_void)
    }

    /// What says whether it is void, for who does not hold it.
    #[must_use]
    pub fn validity(&self) -> Option<&Validity> {
        match self.shared.as_ref()? {
            SharedPermit::Held(held) => Some(held.validity()),
            SharedPermit::Uncounted => None,
        }
    }

    /// Whether the store failed, so that the limit's failure rule granted it.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        let is_held = matches!(self.shared, Some(SharedPermit::Held(_)));
        self.limit().is_shared() && !is_held && self.is_enforced()
    }
}
