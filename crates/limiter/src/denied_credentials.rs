//! Credentials that an upstream denied: their cost moves to the client's address, and an address that owes too much is refused
//! whatever credential it sends. The caller says which charges those are.
#![cfg_attr(
    not(feature = "redis"),
    expect(clippy::unused_async, reason = "with a shared store the same verbs wait for its answer")
)]

use smallvec::SmallVec;
#[cfg(feature = "redis")]
use tollgate_algorithms::Micros;
use tollgate_algorithms::{Decision, Retry};

use crate::error::HitError;
use crate::event::Verb;
use crate::limit::{Hit, LimitInner, NamedLimit};
use crate::limiter::{Inner, Limiter};
use crate::store::memory::{KeyRequest, NoRoom};
use crate::sync::Ordering;
use crate::verdict::{HitResult, Kind, Source, Unavailable, Verdict};

#[cfg(feature = "redis")]
use tollgate_redis::{Command as FarAsk, Hit as FarHit, Reply};

/// A hit by a claimed identity, as a hit on the client's address: on the same limit and at the same cost.
#[derive(Clone, Copy, Debug)]
pub struct AddressHit<'a> {
    /// The place of the claimed identity's hit among those of the request.
    pub place: usize,
    /// The hit on the address.
    pub hit: Hit<'a>,
}

/// A refusal because of what the client's address owes.
#[derive(Debug)]
#[non_exhaustive]
pub struct AddressRefusal {
    /// The verdict, with answers in the order of the request's hits. Only those that an address refuses have numbers: the
    /// address's.
    pub verdict: Verdict,
    /// Which of the addresses these numbers are of: positions, at most one for each hit of the request.
    pub addresses: Vec<usize>,
}

/// What an address says to a claim.
enum AddressDecision {
    /// It has room, or owes nothing.
    Room,
    /// It has none.
    Refused(HitResult),
    /// It cannot be told.
    Unknown(Unavailable),
    /// It has room by this process's own count, but the shared store may know of more.
    #[cfg(feature = "redis")]
    AskStore,
}

impl NamedLimit {
    /// Whether an address has ever been charged for an identity that an upstream denied, on a limit of this name: if not,
    /// [`Limiter::refused_for_address`] need not be asked.
    #[must_use]
    pub fn has_denied(&self) -> bool {
        self.0.owing.load(Ordering::Acquire) > 0
    }
}

impl Limiter {
    /// Charges an address for a claimed identity that an upstream denied, whether it fits or not, by at most one capacity beyond
    /// the limit (see [`tollgate_algorithms::settle`]). A shared store is told in the background.
    ///
    /// # Errors
    /// When the hit is wrong. Then nothing was charged.
    pub fn charge_denied(&self, hit: &Hit<'_>) -> Result<(), HitError> {
        let here = here(hit);
        let id = self.0.id_of(&here)?;
        let now = self.0.clock.now();
        // If there is not even a cell in common for the address, there is nobody to charge.
        if let Ok(given) =
            self.0.memory.act(here.limit, id, KeyRequest::Settle(hit.cost), (&self.0.clock, now))
        {
            let until = now.saturating_add(given.decision.reset_after);
            hit.limit.owing.fetch_max(until.get(), Ordering::AcqRel);
        }
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(std::slice::from_ref(hit)) {
            let (limiter, limit) = (self.clone(), std::sync::Arc::clone(hit.limit));
            let (name, cost, mode) = (shared.name(hit), hit.cost, hit.mode);
            drop(shared.store().spawn(async move {
                let asked = FarHit { limit: &limit.limit, name: &name, cost, mode };
                if let Some(shared) = limiter.0.remote() {
                    // If the store gives no decision, this process's own count holds.
                    let _ = shared.store().ask(&FarAsk::Settle(asked)).await;
                }
            }));
        }
        Ok(())
    }

    /// The refusal of a request whose client's address owes too much for denied identities; `None` if no address refuses.
    /// Nothing is charged.
    ///
    /// # Errors
    /// If a hit is invalid.
    pub async fn refused_for_address(
        &self,
        hits: &[Hit<'_>],
        addresses: &[AddressHit<'_>],
    ) -> Result<Option<AddressRefusal>, HitError> {
        let mut refused = Refused::new();
        for (number, address) in addresses.iter().enumerate() {
            #[cfg_attr(not(feature = "redis"), expect(unused_mut, reason = "only the store is asked again"))]
            let mut standing = self.0.standing_here(&address.hit)?;
            #[cfg(feature = "redis")]
            if let AddressDecision::AskStore = standing {
                standing = self.0.standing_in_store(&address.hit).await;
            }
            if let Some(verdict) = refused.take((address.place, number), standing) {
                return Ok(Some(AddressRefusal { verdict, addresses: Vec::new() }));
            }
        }
        Ok(self.refusal(hits, addresses, &refused))
    }

    /// Like [`refused_for_address`](Self::refused_for_address), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`refused_for_address`](Self::refused_for_address), and [`HitError::WouldBlock`] if it would block a thread of a
    /// runtime.
    pub fn try_refused_for_address(
        &self,
        hits: &[Hit<'_>],
        addresses: &[AddressHit<'_>],
    ) -> Result<Option<AddressRefusal>, HitError> {
        let mut refused = Refused::new();
        for (number, address) in addresses.iter().enumerate() {
            #[cfg_attr(not(feature = "redis"), expect(unused_mut, reason = "only the store is asked again"))]
            let mut standing = self.0.standing_here(&address.hit)?;
            #[cfg(feature = "redis")]
            if let (AddressDecision::AskStore, Some(shared)) = (&standing, self.0.remote()) {
                standing = shared.block_on(&address.hit, self.0.standing_in_store(&address.hit))?;
            }
            if let Some(verdict) = refused.take((address.place, number), standing) {
                return Ok(Some(AddressRefusal { verdict, addresses: Vec::new() }));
            }
        }
        Ok(self.refusal(hits, addresses, &refused))
    }

    fn refusal(
        &self,
        hits: &[Hit<'_>],
        addresses: &[AddressHit<'_>],
        refused: &Refused,
    ) -> Option<AddressRefusal> {
        if refused.0.is_empty() {
            return None;
        }
        let now = self.0.clock.now();
        // Of an address and the network around it, whichever has to wait longer.
        let of = |place: usize| {
            let of = refused.0.iter().filter(|one| one.place == place);
            of.max_by_key(|one| one.answer.decision().retry())
        };
        let answer = |(place, hit)| {
            of(place).map_or_else(|| HitResult::unknown(hit, now, Source::Unasked), |one| one.answer)
        };
        let verdict = Verdict { kind: Kind::Refused, answers: hits.iter().enumerate().map(answer).collect() };
        let numbers: Vec<usize> = (0..hits.len()).filter_map(|place| Some(of(place)?.address)).collect();
        // Listeners get the keys that refused.
        let mut told: SmallVec<[Hit<'_>; 4]> = SmallVec::from_slice(hits);
        for address in numbers.iter().filter_map(|number| addresses.get(*number)) {
            if let Some(hit) = told.get_mut(address.place) {
                *hit = address.hit;
            }
        }
        self.0.tell(Verb::Charge, &told, &verdict, now);
        Some(AddressRefusal { verdict, addresses: numbers })
    }
}

/// The hits that an address refuses.
struct Refused(SmallVec<[RefusedHit; 1]>);

/// A hit that an address refuses: its place, the number of the address, and what is said of it.
struct RefusedHit {
    place: usize,
    address: usize,
    answer: HitResult,
}

impl Refused {
    fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Notes what an address says; the verdict, if that cannot be told.
    fn take(&mut self, (place, address): (usize, usize), standing: AddressDecision) -> Option<Verdict> {
        match standing {
            AddressDecision::Refused(answer) => self.0.push(RefusedHit { place, address, answer }),
            AddressDecision::Unknown(why) => {
                return Some(Verdict { kind: Kind::Unavailable(why), answers: std::iter::empty().collect() });
            }
            AddressDecision::Room => {}
            #[cfg(feature = "redis")]
            AddressDecision::AskStore => {}
        }
        None
    }
}

impl Inner {
    /// What an address says by this process's own count.
    fn standing_here(&self, hit: &Hit<'_>) -> Result<AddressDecision, HitError> {
        let here = here(hit);
        let id = self.id_of(&here)?;
        let now = self.clock.now();
        if now.get() >= hit.limit.owing.load(Ordering::Acquire) {
            return Ok(AddressDecision::Room);
        }
        let given = match self.memory.act(here.limit, id, KeyRequest::Peek(hit.cost), (&self.clock, now)) {
            Ok(given) => given,
            Err(NoRoom(_)) => return Ok(AddressDecision::Unknown(Unavailable::NoRoom)),
        };
        let source = if given.shared { Source::Common } else { Source::Own };
        if let Some(standing) = refuses(hit, given.decision, source) {
            return Ok(standing);
        }
        #[cfg(feature = "redis")]
        if hit.limit.far.is_some() && given.decision.reset_after > Micros::ZERO {
            return Ok(AddressDecision::AskStore);
        }
        Ok(AddressDecision::Room)
    }

    /// What an address that has room by this process's own count says by the shared store's, if that answers.
    #[cfg(feature = "redis")]
    async fn standing_in_store(&self, hit: &Hit<'_>) -> AddressDecision {
        let Some(shared) = self.remote() else { return AddressDecision::Room };
        let name = shared.name(hit);
        let asked = [FarHit { limit: &hit.limit.limit, name: &name, cost: hit.cost, mode: hit.mode }];
        let decision = match shared.store().ask(&FarAsk::Peek(&asked)).await {
            Ok(Reply::Decided { decisions, .. }) => decisions.first().copied(),
            Ok(Reply::Reset { .. }) | Err(_) => None,
        };
        decision.and_then(|decision| refuses(hit, decision, Source::Own)).unwrap_or(AddressDecision::Room)
    }

    /// Forgets what this process itself charged an address for denied identities, if that is counted apart.
    #[cfg(feature = "redis")]
    pub(crate) fn forget_denied(&self, hit: &Hit<'_>) {
        let here = here(hit);
        if let (true, Ok(id)) = (hit.limit.far.is_some(), self.id_of(&here)) {
            self.memory.reset(here.limit, id, &self.clock);
        }
    }
}

/// A refusal that passes with time. A cost that never fits is refused by the claimed identity's own hit, which says so.
fn refuses(hit: &Hit<'_>, decision: Decision, source: Source) -> Option<AddressDecision> {
    let refuses = matches!(decision.retry(), Some(Retry::After(_)));
    refuses.then(|| AddressDecision::Refused(HitResult::new(decision, hit.mode, source)))
}

/// The hit as this process counts it for itself.
fn here<'a>(hit: &Hit<'a>) -> Hit<'a> {
    Hit { limit: counted_here(hit.limit), ..*hit }
}

fn counted_here(limit: &std::sync::Arc<LimitInner>) -> &std::sync::Arc<LimitInner> {
    #[cfg(feature = "redis")]
    if let Some(far) = &limit.far {
        return &far.denied;
    }
    limit
}
