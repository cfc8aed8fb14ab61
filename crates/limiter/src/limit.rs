//! A limit with a name, as a limiter knows it, and a hit on one of its keys. The numbers are the core's.

use std::fmt;
use std::sync::Arc;

use tollgate_algorithms::{Limit, Micros, Mode};

use crate::hash::KeyHash;
use crate::limiter::Limiter;
use crate::store::memory::rates::Narrow;
use crate::sync::AtomicU64;
#[cfg(feature = "redis")]
use crate::voided::Resets;
use crate::voided::Voided;

/// A limit with a name, made by [`Limiter::limit`](crate::Limiter::limit). Cheap to clone, and to be kept.
///
/// Its name says whose keys are whose: the same key under two names is two keys. Two limits of one name (a plan and a
/// better plan, or yesterday's numbers and today's) share their keys, and a key keeps what it has used when it
/// is met under other numbers of the same algorithm, and drains by them from then on. Under another algorithm it starts
/// afresh; but in a shared store a key of a token bucket, a leaky bucket or GCRA keeps what it owes under any of the three.
#[derive(Clone)]
pub struct NamedLimit(pub(crate) Arc<Registered>, pub(crate) Limiter);

/// What a limiter knows of a limit.
pub(crate) struct Registered {
    /// Which limiter made it.
    pub(crate) limiter: u64,
    /// Tells its numbers from others of the same name; not 0.
    pub(crate) mark: u32,
    pub(crate) name: Arc<str>,
    pub(crate) limit: Limit,
    /// The number of its name, and how the name's keys are hashed.
    pub(crate) space: u64,
    pub(crate) hash: KeyHash,
    pub(crate) narrow: Option<Narrow>,
    /// Shared by all limits of the name: the instants before which charges to a key have void receipts.
    pub(crate) voided: Arc<Voided<u64>>,
    /// Shared by all limits of the name: until this instant some address may owe for identities that an upstream denied.
    pub(crate) owing: Arc<AtomicU64>,
    /// Shared by all limits of the name: the same for keys in the shared store.
    #[cfg(feature = "redis")]
    pub(crate) resets: Arc<Resets>,
    /// If it is counted in the shared store.
    #[cfg(feature = "redis")]
    pub(crate) far: Option<Far>,
}

/// What belongs to a limit that is counted in the shared store.
#[cfg(feature = "redis")]
#[derive(Debug)]
pub(crate) struct Far {
    pub(crate) fails: StoreFails,
    /// How its keys are named there.
    pub(crate) naming: tollgate_redis::Naming,
    /// This process's share of it, counted here while the store gives no decision. Only under [`StoreFails::Local`].
    pub(crate) share: Option<Arc<Registered>>,
    /// What this process itself charged addresses for identities that an upstream denied, with the full numbers and under a name
    /// of its own. It says which addresses the store has to be asked about, and stands in for the store when that does not answer.
    pub(crate) denied: Arc<Registered>,
}

/// What a limit says while the shared store gives no decision.
#[cfg(feature = "redis")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoreFails {
    /// Lets everybody go on, and counts nothing.
    Allow,
    /// Lets nobody go on: the verdict is [unavailable](crate::Kind::Unavailable).
    Deny,
    /// Counts in this process alone, with a share of the numbers, rounded down: so the shares of all processes together are
    /// never more than the limit. A share that is less than one denies.
    Local {
        /// The share's numerator.
        share: u32,
        /// Its denominator.
        of: u32,
    },
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {})", self.name, self.limit)
    }
}

impl Registered {
    /// Makes all receipts of charges to a key up to an instant void: it was reset, or met under other numbers.
    pub(crate) fn void_receipts(&self, id: u64, until: Micros) {
        self.voided.note(id, until.get().saturating_add(1));
    }

    /// What tells cells that keys have in common apart: the name and the numbers.
    pub(crate) const fn family(&self) -> (u64, Limit) {
        (self.space, self.limit)
    }

    /// Whether a receipt of a charge to a key at this instant is void.
    pub(crate) fn is_void(&self, id: u64, at: Micros) -> bool {
        self.voided.is_void(&id, at.get())
    }
}

impl NamedLimit {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its numbers.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.0.limit
    }

    /// Whether it is counted in a store that several processes share.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        #[cfg(feature = "redis")]
        return self.0.far.is_some();
        #[cfg(not(feature = "redis"))]
        false
    }

    /// A hit of cost 1 on a key, to be [charged](crate::Limiter::charge). A key is any bytes, up to
    /// [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX) of them; for one that has parts, see [`Key`](crate::Key).
    #[must_use]
    #[inline]
    pub fn hit<'a>(&'a self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Hit<'a> {
        Hit {
            limit: &self.0,
            key: key.as_ref(),
            cost: 1,
            mode: Mode::Enforced,
            estimated: false,
            for_good: false,
        }
    }
}

impl fmt::Debug for NamedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedLimit{:?}", self.0)
    }
}

/// One charge against one key of one limit. Made by [`NamedLimit::hit`].
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    pub(crate) limit: &'a Arc<Registered>,
    pub(crate) key: &'a [u8],
    pub(crate) cost: u64,
    pub(crate) mode: Mode,
    pub(crate) estimated: bool,
    pub(crate) for_good: bool,
}

impl Hit<'_> {
    /// The same hit at another cost. A cost of 0 charges nothing, and tells how the key stands.
    #[must_use]
    pub const fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// The same hit at a cost that is a guess: a [reservation](crate::Limiter::reserve) is committed with the true one.
    #[must_use]
    pub const fn estimate(self, cost: u64) -> Self {
        Self { cost, estimated: true, ..self }
    }

    /// The same hit, counted and reported only: if it does not fit it is left out, and the others go on without it.
    #[must_use]
    pub const fn shadow(self) -> Self {
        Self { mode: Mode::Shadow, ..self }
    }

    /// The same hit on a key of which nothing is ever given back: not by this process nor by another one, by no refund, no
    /// reservation and no cost that turns out to be less. It is on no [receipt](crate::Receipt).
    ///
    /// In a shared store this saves calls: as others can only take more, a refusal is remembered in this process for as long as
    /// it must hold, and the store is not asked meanwhile. A key that is reset, whose data the store loses, or that other processes
    /// charge under other numbers, may be refused for up to a second more (`tollgate_redis::REMEMBERED_MAX`).
    #[must_use]
    pub const fn for_good(self) -> Self {
        Self { for_good: true, ..self }
    }

    /// What it asks for.
    #[must_use]
    pub const fn asks(&self) -> u64 {
        self.cost
    }

    /// The name of the limit it is on.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.limit.name
    }

    /// Whether a refusal counts.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }
}
