//! What stands in front of a service: a policy, or limits written in Rust. Both admit or answer; nothing is decided here.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::request::Parts;
use http::{HeaderMap, StatusCode};
use smallvec::SmallVec;
use tollgate::{Limiter, Receipt, Source, Verdict};
use tollgate_algorithms::{Decision, Micros, Mode};

use crate::asked::Answer;
use crate::card::Card;
use crate::fields::{Degraded, Fields, Shown, partition};
use crate::guard::{Decided, Guard};
use crate::head::{Head, Room};
use crate::later::{Settling, holds};
use crate::rules::Rules;
use crate::{peer, problem};

/// What stands in front of a service: made of a [`Guard`] or of [`Rules`].
#[derive(Clone, Debug)]
pub struct Front(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Guard(Arc<Guard>),
    Rules(Arc<Rules>),
}

impl From<Guard> for Front {
    fn from(guard: Guard) -> Self {
        Self(Kind::Guard(Arc::new(guard)))
    }
}

impl From<Arc<Guard>> for Front {
    fn from(guard: Arc<Guard>) -> Self {
        Self(Kind::Guard(guard))
    }
}

impl From<Rules> for Front {
    fn from(rules: Rules) -> Self {
        Self(Kind::Rules(Arc::new(rules)))
    }
}

/// A request that may go on.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// What each limit said, in the order of the charges.
    pub(crate) entries: SmallVec<[Entry; 2]>,
    /// When they said it, by the calendar, if there are numbers to tell.
    pub(crate) told_at: Option<Micros>,
    /// What the response says about what stood in for them.
    pub(crate) told: Degraded,
    /// The path to go on with, if it is another one.
    pub(crate) path: Option<String>,
    /// By which it is settled or given back, until somebody does.
    pub(crate) receipt: Mutex<Option<Receipt>>,
    pub(crate) settling: Settling,
    pub(crate) degraded: bool,
    pub(crate) tier: Option<Box<str>>,
}

impl Admission {
    /// Does with the response what is to be done, and writes what it has to carry. Limits whose charges it gives back, because the client
    /// is not who it says, are not told: see [`Pass::responded`](crate::Pass::responded).
    pub(crate) fn responded(&self, front: &Front, status: StatusCode, headers: &mut HeaderMap) {
        if self.settling.may_settle(status) {
            let mut kept = self.receipt();
            // What the head says nothing of may still be settled: a handler may know the cost only when the body is sent.
            let settled = |receipt| self.settling.settled(receipt, front.limiter(), (status, headers));
            *kept = kept.take().map(settled).filter(|rest| !rest.is_empty());
        }
        let denied = self.settling.denied(status);
        let shown = self.entries.iter().enumerate().filter(|(place, _)| !holds(denied, *place));
        let shown = shown.map(|(_, entry)| entry);
        let mut fields = self.told_at.map_or_else(Fields::default, |now| front.fields(shown, now));
        fields.tell(self.told);
        fields.write(headers);
    }

    /// The receipt, if nobody has taken it.
    pub(crate) fn receipt(&self) -> MutexGuard<'_, Option<Receipt>> {
        self.receipt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one limit said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Which limit: a guard's set of numbers, or a rule.
    pub(crate) card: usize,
    pub(crate) decision: Decision,
    pub(crate) mode: Mode,
    pub(crate) source: Source,
    /// Whose budget, if clients are told: see [`fields::partition`](crate::fields::partition).
    pub(crate) partition: u64,
}

thread_local! {
    /// One for each thread, so that clones of a service need none of their own.
    static ROOM: RefCell<Room> = RefCell::default();
}

impl Front {
    pub(crate) fn limiter(&self) -> &Limiter {
        match &self.0 {
            Kind::Guard(guard) => guard.gate().limiter(),
            Kind::Rules(rules) => rules.limiter(),
        }
    }

    /// The name of a limit.
    pub(crate) fn name(&self, card: usize) -> &str {
        self.card(card).map_or("", Card::name)
    }

    fn card(&self, card: usize) -> Option<&Card> {
        match &self.0 {
            Kind::Guard(guard) => guard.card(card),
            Kind::Rules(rules) => rules.card(card),
        }
    }

    /// What a response has to carry. It is put into words only when the response is there.
    fn fields<'a>(&self, entries: impl Iterator<Item = &'a Entry>, now: Micros) -> Fields {
        let answers = match &self.0 {
            Kind::Guard(guard) => guard.answers(),
            Kind::Rules(rules) => rules.told_to_clients(),
        };
        Fields::of_shown(entries.filter_map(|entry| self.shown(entry)), answers, now)
    }

    fn shown(&self, entry: &Entry) -> Option<Shown<'_>> {
        // What nothing decided has no numbers to tell.
        let card = self.card(entry.card)?;
        let is_shown = entry.source.has_numbers() && card.is_shown(entry.mode);
        is_shown.then_some(Shown { card, decision: entry.decision, partition: entry.partition })
    }

    /// Whether to ask takes a while, because some limits are counted in a shared store.
    pub(crate) fn waits(&self) -> bool {
        match &self.0 {
            Kind::Guard(guard) => guard.waits(),
            Kind::Rules(rules) => rules.waits(),
        }
    }

    /// Charges a request. Boxed, because most requests are admitted.
    pub(crate) fn ask(&self, parts: &Parts, fixed: Option<IpAddr>) -> Result<Admission, Box<Answer>> {
        match &self.0 {
            Kind::Rules(rules) => rules.ask(parts, fixed),
            Kind::Guard(guard) => {
                let peer = fixed.or_else(|| peer::of(parts));
                let peer = peer.ok_or_else(|| Box::new(problem::internal(peer::UNKNOWN)))?;
                ROOM.with(|room| match room.try_borrow_mut() {
                    Ok(mut room) => admission(guard, parts, peer, &mut room),
                    Err(_) => admission(guard, parts, peer, &mut Room::default()),
                })
            }
        }
    }

    /// As [`ask`](Self::ask), where it takes a while. Dropped before its end, it has charged nothing in this process.
    pub(crate) async fn ask_async(
        &self,
        parts: &Parts,
        fixed: Option<IpAddr>,
    ) -> Result<Admission, Box<Answer>> {
        match &self.0 {
            Kind::Rules(rules) => rules.ask_async(parts, fixed).await,
            Kind::Guard(guard) => {
                let peer = fixed.or_else(|| peer::of(parts));
                let peer = peer.ok_or_else(|| Box::new(problem::internal(peer::UNKNOWN)))?;
                // Others are asked about meanwhile. To make room is nothing beside a way to the store and back.
                let mut room = Room::default();
                let decided = guard.decide_async(&head(parts, peer), &mut room, |_| true).await?;
                Ok(admitted(guard, decided, &room))
            }
        }
    }
}

fn admission(guard: &Guard, parts: &Parts, peer: IpAddr, room: &mut Room) -> Result<Admission, Box<Answer>> {
    // A handler may want to settle any charge.
    let decided = guard.decide(&head(parts, peer), room, |_| true)?;
    Ok(admitted(guard, decided, room))
}

const fn head(parts: &Parts, peer: IpAddr) -> Head<'_> {
    let Parts { method, uri, headers, .. } = parts;
    Head { method, uri, headers, peer, body_operations: None }
}

#[inline]
fn admitted(guard: &Guard, decided: Decided, room: &Room) -> Admission {
    let Decided { told_at, told, path, receipt, degraded, .. } = decided;
    let mut entries = SmallVec::new();
    let answers = room.verdict.iter().flat_map(Verdict::answers);
    for (charge, answer) in room.hits.charges().iter().zip(answers) {
        let shown = |card| partition(card, room.hits.key(charge), guard.answers());
        entries.push(Entry {
            card: charge.variant.index(),
            decision: answer.decision(),
            mode: answer.mode(),
            source: answer.source(),
            partition: guard.card(charge.variant.index()).map_or(0, shown),
        });
    }
    let settling = if receipt.is_some() { guard.settling(&room.hits) } else { Settling::default() };
    let tier = room.hits.tier().map(Into::into);
    let receipt = Mutex::new(receipt);
    Admission { entries, told_at, told, path, receipt, settling, degraded, tier }
}
