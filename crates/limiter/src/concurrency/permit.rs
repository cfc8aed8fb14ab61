//! A permit for one request in progress, released on drop.

use std::fmt;

use tollgate_algorithms::Micros;

use super::ConcurrencyLimit;
use crate::store::memory::in_flight::{PermitLocation, PermitMode};

/// One request in progress, counted by a [`ConcurrencyLimit`] until the permit is dropped.
#[must_use = "a permit that is dropped at once limits nothing"]
pub struct Permit {
    limit: ConcurrencyLimit,
    id: u64,
    since: Micros,
    wish: PermitMode,
    counted: PermitLocation,
    /// How many the key had before, and how many it may have.
    before: u32,
    most: u32,
    /// Of a shared limit: what it has in the store.
    #[cfg(feature = "redis")]
    pub(super) shared: Option<super::shared::SharedPermit>,
}

impl Permit {
    pub(super) const fn new(
        limit: ConcurrencyLimit,
        id: u64,
        (wish, counted): (PermitMode, PermitLocation),
        since: Micros,
        (before, most): (u32, u32),
    ) -> Self {
        Self {
            limit,
            id,
            since,
            wish,
            counted,
            before,
            most,
            #[cfg(feature = "redis")]
            shared: None,
        }
    }

    #[cfg(feature = "redis")]
    pub(super) fn with_shared(mut self, shared: super::shared::SharedPermit) -> Self {
        self.shared = Some(shared);
        self
    }

    #[cfg(feature = "redis")]
    pub(super) fn is_enforced(&self) -> bool {
        self.wish == PermitMode::Enforced
    }

    /// The limit that counts it.
    #[must_use]
    pub const fn limit(&self) -> &ConcurrencyLimit {
        &self.limit
    }

    /// When it was acquired, by the clock of the limiter.
    #[must_use]
    pub const fn since(&self) -> Micros {
        self.since
    }

    /// When its holder has to have ended its work: see [`ConcurrencyLimit::with_max_hold`]. `None` if it may take any time.
    ///
    /// The permit is counted until it is dropped, also after that: nobody else gets it while its holder may still be at work.
    #[must_use]
    pub fn expires_at(&self) -> Option<Micros> {
        self.limit.0.max_hold.map(|most| self.since.saturating_add(most))
    }

    /// Whether the limit would have refused it. Always `false` except for [shadow permits](ConcurrencyLimit::try_acquire_shadow).
    #[must_use]
    pub const fn exceeds_limit(&self) -> bool {
        self.before >= self.most
    }

    /// How many more permits the key could have when this one was acquired.
    #[must_use]
    pub const fn remaining(&self) -> u32 {
        self.most.saturating_sub(self.before).saturating_sub(1)
    }

    /// How many permits its key had with it when it was acquired.
    pub(crate) const fn in_flight(&self) -> u32 {
        self.before.saturating_add(1)
    }

    /// Whether it was counted together with other keys, because the store had no room for its key.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.counted == PermitLocation::Overflow
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        #[cfg(feature = "redis")]
        if self.shared.is_some() {
            return self.limit.0.note_end(self.wish, self.since);
        }
        self.limit.0.release(self.id, (self.wish, self.counted), self.since);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permit({:?}, since {})", self.limit.name(), self.since)
    }
}
