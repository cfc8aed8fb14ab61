//! Limits in a store that several processes use: which hits go there, and what happens when it makes no decision.
//!
//! A request may meet limits of both kinds. Those of this process are charged first, because that is quick; if the store then
//! refuses, they are given back. So a request is charged whole or not at all, as everywhere; for the time of one call others
//! may see what is given back in the end as spent.

mod groups;
mod hits;
mod permits;

use std::sync::{Arc, OnceLock};

use tollgate_algorithms::{Decision, Limit, Micros, Mode};
use tollgate_redis::{ChargeResult, Command, Health, Hit as FarHit, Name, Naming, PermitPool, Reply, Store};

use crate::adjustment::Adjustment;
use crate::error::HitError;
use crate::event::Verb;
use crate::fraction::share;
use crate::inline_list::InlineList;
use crate::limit::{FailureRule, Hit, NamedLimit, RemoteLimit};
use crate::limiter::{HITS_MAX, Inner, KeyStatus, Limiter};
use crate::receipt::{AdjustmentKind, ChargeLocation, ChargePart, Receipt};
use crate::verdict::{HitResult, HitResults, Kind, Source, Unavailable, Verdict};

pub(crate) use hits::Hits;

/// The store, and how keys are called in it.
#[derive(Debug)]
pub(crate) struct RemoteStore {
    store: Store,
    naming: Naming,
    /// Of concurrency limits; made with the first.
    permits: OnceLock<Option<PermitPool>>,
    pub(crate) queues: crate::shared_queue::SharedQueues,
    #[cfg(feature = "tracing")]
    pub(crate) events: crate::trace::StoreEvents,
}

pub(crate) type Answered = Result<(Verdict, Option<Receipt>), HitError>;

impl Limiter {
    /// A limit that is counted in the [store](crate::Builder::store), and what it says while that gives no decision. Without a
    /// store it is counted in this process.
    #[must_use]
    pub fn shared_limit(&self, name: &str, limit: Limit, fails: FailureRule) -> NamedLimit {
        self.shared_limit_in("", name, limit, fails)
    }

    /// The same in a [namespace](Naming::in_namespace) of the store: limits of one name in two namespaces have nothing in common
    /// there.
    #[must_use]
    pub fn shared_limit_in(
        &self,
        namespace: &str,
        name: &str,
        limit: Limit,
        fails: FailureRule,
    ) -> NamedLimit {
        let mut registered = self.0.registered(name, limit);
        if let Some(shared) = self.0.shared.as_ref().filter(|_| limit != Limit::Unlimited) {
            shared.store.expect(&limit);
            let numbers = match fails {
                FailureRule::Local { share: part, of } => Some(share(&limit, part, of)),
                FailureRule::Allow | FailureRule::Deny => None,
            };
            let share = numbers.map(|numbers| Arc::new(self.0.registered(name, numbers)));
            let naming = shared.naming.in_namespace(namespace);
            // No name that a policy or a rule may have begins like this.
            let denied = Arc::new(self.0.registered(&format!("\0denied {name}"), limit));
            registered.far = Some(RemoteLimit { fails, naming, share, denied });
        }
        NamedLimit(Arc::new(registered), self.clone())
    }

    /// How many requests were refused without asking the store, because it must still refuse: see [`Hit::non_refundable`].
    #[must_use]
    pub fn refused_from_memory(&self) -> u64 {
        self.0.shared.as_ref().map_or(0, |shared| shared.store.refused_from_memory())
    }

    /// The health of each node, by its address, if the store is a cluster.
    #[must_use]
    pub fn store_nodes(&self) -> Vec<(String, Health)> {
        self.0.shared.as_ref().map_or_else(Vec::new, |shared| shared.store.nodes())
    }

    /// How the link to the store is doing; `None` if there is none.
    #[must_use]
    pub fn store_health(&self) -> Option<Health> {
        self.0.shared.as_ref().map(|shared| shared.store.health())
    }
}

impl Inner {
    /// The store, if some of these hits are counted there.
    #[inline]
    pub(crate) fn far(&self, hits: &[Hit<'_>]) -> Option<&RemoteStore> {
        self.shared.as_ref().filter(|_| hits.iter().any(|hit| hit.limit.far.is_some()))
    }

    /// The store, if there is one, for what was charged there.
    pub(crate) const fn remote(&self) -> Option<&RemoteStore> {
        self.shared.as_ref()
    }
}

impl RemoteStore {
    pub(crate) fn new(store: Store, naming: Naming) -> Self {
        Self {
            store,
            naming,
            permits: OnceLock::new(),
            queues: crate::shared_queue::SharedQueues::default(),
            #[cfg(feature = "tracing")]
            events: crate::trace::StoreEvents::default(),
        }
    }

    /// Charges hits of which some are counted in the store, and tells.
    pub(crate) async fn charge(&self, inner: &Inner, hits: &[Hit<'_>], verb: Verb) -> Answered {
        let (verdict, receipt) = self.charged(inner, hits).await?;
        inner.tell(verb, hits, &verdict, inner.clock.now());
        Ok((verdict, receipt))
    }

    /// Like [`charge`](Self::charge), on a thread that may be blocked.
    pub(crate) fn charge_blocking(&self, inner: &Inner, hits: &[Hit<'_>], verb: Verb) -> Answered {
        self.block_on_hits(hits, self.charge(inner, hits, verb))?
    }

    /// Runs what asks the store about a hit on a thread that may be blocked.
    pub(crate) fn block_on<T>(&self, hit: &Hit<'_>, asking: impl Future<Output = T>) -> Result<T, HitError> {
        self.block_on_hits(std::slice::from_ref(hit), asking)
    }

    /// Like [`block_on`](Self::block_on), of several hits.
    pub(crate) fn block_on_hits<T>(
        &self,
        hits: &[Hit<'_>],
        asking: impl Future<Output = T>,
    ) -> Result<T, HitError> {
        self.store.block_on(asking).ok_or_else(|| {
            let far = hits.iter().find(|hit| hit.limit.far.is_some());
            HitError::WouldBlock { limit: far.map(|hit| hit.limit.name.to_string()).unwrap_or_default() }
        })
    }

    /// Says what a charge would, and charges nothing.
    pub(crate) async fn peek(&self, inner: &Inner, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        let hits = self.hits(inner, hits)?;
        let (near, _) = inner.peeked(&hits.near())?;
        if let Kind::Unavailable(_) = near.kind {
            return Ok(near);
        }
        let verdict = match self.store.ask(&Command::Peek(&hits.far())).await {
            Ok(Reply::Decided { granted, decisions }) => {
                let far = self.results(&hits, &decisions, Source::Own);
                let kind = if granted { near.kind } else { Kind::Refused };
                Verdict { kind, answers: hits.merged(&near.answers, &far) }
            }
            Ok(Reply::Reset { .. }) => unavailable("disagrees"),
            Err(error) => unavailable(error.name()),
        };
        inner.tell(Verb::Peek, hits.all, &verdict, inner.clock.now());
        Ok(verdict)
    }

    /// Charges as much of one hit's cost as fits.
    pub(crate) async fn charge_up_to(&self, inner: &Inner, hit: &Hit<'_>) -> Result<Verdict, HitError> {
        inner.check(hit)?;
        let name = self.name(hit);
        let asked = FarHit { limit: &hit.limit.limit, name: &name, cost: hit.cost, mode: hit.mode };
        let verdict = match self.store.ask(&Command::UpTo(asked)).await {
            Ok(Reply::Decided { decisions, .. }) => {
                let answer =
                    decisions.first().map(|decision| HitResult::new(*decision, hit.mode, Source::Own));
                let granted = hit.mode == Mode::Shadow || answer.is_some_and(|answer| answer.is_granted());
                let kind = if granted { Kind::Granted } else { Kind::Refused };
                Verdict { kind, answers: answer.into_iter().collect() }
            }
            Ok(Reply::Reset { .. }) => self.up_to_alone(inner, hit, "disagrees")?,
            Err(error) => self.up_to_alone(inner, hit, error.name())?,
        };
        inner.tell(Verb::Charge, std::slice::from_ref(hit), &verdict, inner.clock.now());
        Ok(verdict)
    }

    /// Forgets a key.
    pub(crate) async fn reset(&self, inner: &Inner, hit: &Hit<'_>) -> Result<bool, HitError> {
        inner.forget_denied(hit);
        // What was charged before is forgotten, and is not given back from what is charged now. The receipts are void at once, since
        // the store may do it and nobody hear of it; and again in the end, for what was charged on the way.
        let name = self.name(hit);
        hit.limit.resets.note(name);
        let said = self.store.ask(&Command::Reset(&name)).await;
        hit.limit.resets.note(name);
        match said {
            Ok(Reply::Reset { was_there }) => Ok(was_there),
            Ok(Reply::Decided { .. }) => {
                Err(HitError::Store { why: "the reply is for another command".into() })
            }
            Err(error) => Err(HitError::Store { why: error.to_string() }),
        }
    }

    /// How a key stands.
    pub(crate) async fn inspect(&self, hit: &Hit<'_>) -> Result<KeyStatus, HitError> {
        let name = self.name(hit);
        let asked = FarHit { limit: &hit.limit.limit, name: &name, cost: 0, mode: hit.mode };
        let said = self.store.ask(&Command::Peek(&[asked])).await;
        let said = said.map_err(|error| HitError::Store { why: error.to_string() })?;
        let Reply::Decided { decisions, .. } = said else {
            return Err(HitError::Store { why: "the reply is for another command".into() });
        };
        let decision = decisions.first().copied();
        let decision = decision.ok_or_else(|| HitError::Store { why: "the reply is empty".into() })?;
        Ok(KeyStatus { known: decision.reset_after > Micros::ZERO, shared: false, decision })
    }

    /// Checks hits, and finds their names.
    pub(crate) fn hits<'a>(&self, inner: &Inner, all: &'a [Hit<'a>]) -> Result<Hits<'a>, HitError> {
        if all.len() > HITS_MAX {
            return Err(HitError::TooManyHits { hits: all.len() });
        }
        for (place, hit) in all.iter().enumerate() {
            inner.check(hit)?;
            let clashes = |other: &Hit<'_>| {
                other.limit.space == hit.limit.space
                    && other.key == hit.key
                    && other.limit.limit != hit.limit.limit
            };
            if all.iter().take(place).any(clashes) {
                return Err(HitError::SameKeyTwice { limit: hit.limit.name.to_string() });
            }
        }
        let name = |hit: &Hit<'_>| {
            let stamp = hit.limit.resets.stamp();
            hit.limit.far.as_ref().map(|far| (far.naming.name(&hit.limit.name, hit.key), stamp))
        };
        Ok(Hits { all, names: all.iter().map(name).collect() })
    }

    async fn charged(&self, inner: &Inner, hits: &[Hit<'_>]) -> Answered {
        let hits = self.hits(inner, hits)?;
        let (near, non_refundable, far) = (hits.near(), hits.non_refundable(), hits.far());
        // Before anything is charged here: what the store would refuse is refused at once.
        if let Some(known) = self.store.remembered(&far, &non_refundable) {
            return self.remembered(inner, &hits, &known);
        }
        let (here, receipt, _) = if near.is_empty() {
            (granted(), None, Micros::ZERO)
        } else {
            inner.charge_for_receipt(&near)?
        };
        // Given back if the store does not grant, and also if nobody waits for its answer any more.
        let mut here_charged = LocalChargeGuard { inner, receipt };
        if !here.is_granted() {
            // So a limit of this process spares the store all that it refuses.
            let far = self.unasked(&hits, inner.clock.now());
            let answers =
                if here.answers.is_empty() { here.answers } else { hits.merged(&here.answers, &far) };
            return Ok((Verdict { kind: here.kind, answers }, None));
        }
        let charged = self.store.charge_not_remembered(&far, &non_refundable).await;
        #[cfg(feature = "tracing")]
        match &charged {
            Ok(ChargeResult::Asked(_)) => self.events.answered(),
            Ok(ChargeResult::Remembered(_)) => {}
            Ok(ChargeResult::InGroups(groups)) => match &groups.failed {
                None => self.events.answered(),
                Some(error) => self.events.failed(error.name()),
            },
            Err(error) => self.events.failed(error.name()),
        }
        match charged {
            Ok(ChargeResult::Remembered(known)) => {
                drop(here_charged);
                self.remembered(inner, &hits, &known)
            }
            Ok(ChargeResult::InGroups(groups)) => {
                self.decided_in_groups(inner, &hits, (here, here_charged), groups)
            }
            Ok(ChargeResult::Asked(Reply::Decided { granted: true, decisions })) => {
                let far = self.results(&hits, &decisions, Source::Own);
                let answers = hits.merged(&here.answers, &far);
                let receipt = written(&hits, here_charged.receipt.take(), &answers, &[]);
                Ok((Verdict { kind: Kind::Granted, answers }, receipt))
            }
            Ok(ChargeResult::Asked(Reply::Decided { granted: false, decisions })) => {
                drop(here_charged);
                let here = self.here(inner, &hits)?;
                let far = self.results(&hits, &decisions, Source::Own);
                Ok((Verdict { kind: Kind::Refused, answers: hits.merged(&here, &far) }, None))
            }
            Ok(ChargeResult::Asked(Reply::Reset { .. })) => {
                drop(here_charged);
                self.alone(inner, &hits, "disagrees")
            }
            Err(error) => {
                drop(here_charged);
                self.alone(inner, &hits, error.name())
            }
        }
    }

    /// The store's decisions as answers.
    fn results(&self, hits: &Hits<'_>, decisions: &[Decision], source: Source) -> HitResults {
        let far = hits.all.iter().filter(|hit| hit.limit.far.is_some());
        far.zip(decisions).map(|(hit, decision)| HitResult::new(*decision, hit.mode, source)).collect()
    }

    /// Changes a charge in the store afterwards, and says what came of it. If the store gives no decision, what was charged
    /// stays charged.
    pub(crate) async fn adjust(&self, part: &ChargePart, adjust: AdjustmentKind) -> Adjustment {
        let ChargeLocation::Store(name, stamp) = &part.place else { return Adjustment::NONE };
        let hit = |cost| FarHit { limit: &part.charge.limit, name, cost, mode: Mode::Enforced };
        let adjusted = match adjust {
            AdjustmentKind::Back(0) | AdjustmentKind::More(0) => return Adjustment::NONE,
            AdjustmentKind::Back(_) if part.limit.resets.is_void(name, *stamp) => return Adjustment::NONE,
            AdjustmentKind::Back(amount) => {
                self.store.refund(&hit(0), &part.charge, amount).await.map(Adjustment::refunded)
            }
            AdjustmentKind::More(cost) => {
                self.store.ask(&Command::Settle(hit(cost))).await.map(|reply| match reply {
                    Reply::Decided { decisions, .. } => {
                        Adjustment::charged(decisions.first().map_or(0, |decision| decision.charged))
                    }
                    Reply::Reset { .. } => Adjustment::UNSETTLED,
                })
            }
        };
        adjusted.unwrap_or(Adjustment::UNSETTLED)
    }

    pub(crate) fn name(&self, hit: &Hit<'_>) -> Name {
        let naming = hit.limit.far.as_ref().map_or(&self.naming, |far| &far.naming);
        naming.name(&hit.limit.name, hit.key)
    }
}

pub(crate) fn granted() -> Verdict {
    Verdict { kind: Kind::Granted, answers: HitResults::new() }
}

pub(crate) fn unavailable(why: &'static str) -> Verdict {
    Verdict { kind: Kind::Unavailable(Unavailable::Store(why)), answers: HitResults::new() }
}

/// What was charged in this process, while the store is asked.
struct LocalChargeGuard<'a> {
    inner: &'a Inner,
    receipt: Option<Receipt>,
}

impl Drop for LocalChargeGuard<'_> {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.inner.adjust_all(&receipt, None);
        }
    }
}

/// What was charged, here and in the store, on one receipt. The hits at the places in `elsewhere` were not charged in the store.
fn written(
    hits: &Hits<'_>,
    near: Option<Receipt>,
    answers: &[HitResult],
    elsewhere: &[usize],
) -> Option<Receipt> {
    let mut parts: InlineList<ChargePart> =
        InlineList::for_as_many(hits.all.iter().filter(|hit| !hit.non_refundable).count());
    let mut near = near;
    let mut near = near.iter_mut().flat_map(|receipt| receipt.parts.take_all()).peekable();
    let mut near_places = 0..;
    for (place, ((hit, name), answer)) in hits.all.iter().zip(&hits.names).zip(answers).enumerate() {
        let Some((name, stamp)) = name else {
            let its = near_places.next();
            let part = near.next_if(|part| Some(part.hit) == its).filter(|_| !hit.non_refundable);
            parts.extend(part.map(|part| ChargePart { hit: place, ..part }));
            continue;
        };
        if elsewhere.contains(&place) {
            continue;
        }
        let (limit, decision) = (hit.limit.limit, answer.decision());
        let nothing = tollgate_algorithms::Receipt { at: decision.at, cost: 0, limit };
        // A guess of nothing can still be committed with something.
        let charge = decision.receipt(&limit).or(hit.estimated.then_some(nothing));
        let charge = charge.filter(|_| !hit.non_refundable);
        parts.extend(charge.map(|charge| ChargePart {
            limit: Arc::clone(hit.limit),
            place: ChargeLocation::Store(*name, *stamp),
            charge,
            estimated: hit.estimated,
            hit: place,
        }));
    }
    (!parts.is_empty()).then_some(Receipt { parts })
}
