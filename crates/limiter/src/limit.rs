//! A named limit of a limiter, and a hit on one of its keys.

use std::fmt;
use std::sync::Arc;

use tollgate_algorithms::{Limit, Micros, Mode};

use crate::hash::KeyHash;
use crate::limiter::Limiter;
use crate::store::memory::packed_rates::PackedLimit;
use crate::sync::AtomicU64;
#[cfg(feature = "redis")]
use crate::voided::Resets;
use crate::voided::Voided;

/// A named limit, created by [`Limiter::limit`](crate::Limiter::limit). Cheap to clone; create it once and keep it.
///
/// The name separates keys: a key under two names has two states. Two limits with the same name (two plans, or
/// old and new numbers) share their keys: a key keeps its usage when it
/// is used under other numbers of the same algorithm, and drains at the new rate. Under another algorithm it starts
/// afresh, except that in a shared store, token bucket, leaky bucket and GCRA share their debts.
#[derive(Clone)]
pub struct NamedLimit(pub(crate) Arc<LimitInner>, pub(crate) Limiter);

/// What a limiter knows of a limit.
pub(crate) struct LimitInner {
    /// Which limiter made it.
    pub(crate) limiter: u64,
    /// Tells its numbers from others of the same name; not 0.
    pub(crate) mark: u32,
    pub(crate) name: Arc<str>,
    pub(crate) limit: Limit,
    /// The number of its name, and how the name's keys are hashed.
    pub(crate) space: u64,
    pub(crate) hash: KeyHash,
    pub(crate) narrow: Option<PackedLimit>,
    /// Shared by all limits of the name: the instants before which charges to a key have void receipts.
    pub(crate) voided: Arc<Voided<u64>>,
    /// Shared by all limits of the name: until this instant some address may owe for identities that an upstream denied.
    pub(crate) owing: Arc<AtomicU64>,
    /// Shared by all limits of the name: the same for keys in the shared store.
    #[cfg(feature = "redis")]
    pub(crate) resets: Arc<Resets>,
    /// If it is counted in the shared store.
    #[cfg(feature = "redis")]
    pub(crate) far: Option<RemoteLimit>,
}

/// What belongs to a limit that is counted in the shared store.
#[cfg(feature = "redis")]
#[derive(Debug)]
pub(crate) struct RemoteLimit {
    pub(crate) fails: FailureRule,
    /// How its keys are named there.
    pub(crate) naming: tollgate_redis::Naming,
    /// This process's share of it, counted here while the store gives no decision. Only under [`FailureRule::Local`].
    pub(crate) share: Option<Arc<LimitInner>>,
    /// What this process itself charged addresses for identities that an upstream denied, with the full numbers and under a name
    /// of its own. It says which addresses the store has to be asked about, and stands in for the store when that does not answer.
    pub(crate) denied: Arc<LimitInner>,
}

/// The failure rule of a limit: what happens while the shared store makes no decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailureRule {
    /// Grants every hit without counting it.
    Allow,
    /// Grants nothing: the verdict is [unavailable](crate::Kind::Unavailable).
    Deny,
    /// Counts in this process alone, with a fraction of the numbers, rounded down, so that the fractions of all processes
    /// never exceed the limit. If the fraction is smaller than a hit's cost, the verdict is
    /// [unavailable](crate::Kind::Unavailable), unless another limit refuses.
    Local {
        /// The numerator of the fraction.
        share: u32,
        /// The denominator of the fraction.
        of: u32,
    },
}

impl fmt::Debug for LimitInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {})", self.name, self.limit)
    }
}

impl LimitInner {
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

    /// The limiter that made it.
    #[must_use]
    pub const fn limiter(&self) -> &Limiter {
        &self.1
    }

    /// Returns true if the limit is in a store that several processes share.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        #[cfg(feature = "redis")]
        return self.0.far.is_some();
        #[cfg(not(feature = "redis"))]
        false
    }

    /// A hit of cost 1 on a key, for [`Limiter::charge`](crate::Limiter::charge). A key is any bytes, up to
    /// [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX); for keys with several parts, see [`Key`](crate::Key).
    #[must_use]
    #[inline]
    pub fn hit<'a>(&'a self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Hit<'a> {
        Hit {
            limit: &self.0,
            key: key.as_ref(),
            cost: 1,
            mode: Mode::Enforced,
            estimated: false,
            non_refundable: false,
        }
    }
}

impl fmt::Debug for NamedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedLimit{:?}", self.0)
    }
}

/// One charge against one key of one limit, created by [`NamedLimit::hit`].
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    pub(crate) limit: &'a Arc<LimitInner>,
    pub(crate) key: &'a [u8],
    pub(crate) cost: u64,
    pub(crate) mode: Mode,
    pub(crate) estimated: bool,
    pub(crate) non_refundable: bool,
}

impl Hit<'_> {
    /// The numbers of its limit.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.limit.limit
    }

    /// Sets the cost. A cost of 0 is always granted and charges nothing.
    #[must_use]
    pub const fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// Sets an estimated cost, which the commit of a [reservation](crate::Limiter::reserve) replaces with the actual one.
    #[must_use]
    pub const fn estimate(self, cost: u64) -> Self {
        Self { cost, estimated: true, ..self }
    }

    /// Puts the hit in shadow mode: it is counted and reported, but never refuses the request.
    #[must_use]
    pub const fn shadow(self) -> Self {
        Self { mode: Mode::Shadow, ..self }
    }

    /// Declares that no process ever gives anything back on this key: no refunds, no
    /// reservations, no settlements below the charge. The hit has no [receipt](crate::Receipt).
    ///
    /// In a shared store this saves calls: other processes can only consume more, so this process caches refusals and
    /// does not query the store while they hold. A key that is reset, lost by the store, or
    /// charged under other numbers by other processes may be refused for up to a second longer (`tollgate_redis::REMEMBERED_MAX`).
    #[must_use]
    pub const fn non_refundable(self) -> Self {
        Self { non_refundable: true, ..self }
    }

    /// The cost.
    #[must_use]
    pub const fn get_cost(&self) -> u64 {
        self.cost
    }

    /// The name of the limit.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.limit.name
    }

    /// Whether the hit is enforced or in shadow mode.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }
}
