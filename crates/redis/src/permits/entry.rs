//! One key in one process: its permits, and who waits for them.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;
use tollgate_algorithms::Micros;
use tollgate_algorithms::permits::{Exchanged, Holder, Request, Result as Outcome, Settings};

use super::held::Term;
use super::{Denied, Held, Patience, PermitKey, Pool};
use crate::{KeyName, Name};

/// A permit moves the average of the time for which permits are held by one part in so many.
const WEIGHT: u64 = 16;
/// A process asks again this long after a call that failed.
const RETRY_AFTER: Micros = Micros::from_millis(50);

/// One key.
pub(super) struct Entry {
    holder: Holder,
    limit: u32,
    others: u32,
    pub(super) marker: KeyName,
    term: Arc<Term>,
    waiters: VecDeque<Waiter>,
    average_hold: Micros,
    /// When it is to be asked about: as it stands in the list of all keys.
    pub(super) due: Option<Micros>,
}

struct Waiter {
    to: Sender,
    fails_open: bool,
    patience: Patience,
}

/// What is sent when the lock has been left: dropping a permit takes the lock.
#[derive(Default)]
pub(super) struct Outbox(Vec<(Sender, Result<Held, Denied>)>);

type Sender = oneshot::Sender<Result<Held, Denied>>;

impl Outbox {
    pub(super) fn send(self) {
        for (to, what) in self.0 {
            // Who has gone gets nothing, and a permit is given back.
            drop(to.send(what));
        }
    }
}

impl Entry {
    pub(super) fn new(marker: KeyName) -> Self {
        Self {
            holder: Holder::default(),
            limit: 0,
            others: 0,
            marker,
            term: Arc::default(),
            waiters: VecDeque::new(),
            average_hold: Micros::ZERO,
            due: None,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    pub(super) const fn used(&self) -> u32 {
        self.holder.used()
    }

    pub(super) const fn others(&self) -> u32 {
        self.others
    }

    pub(super) fn may_ask(&self, now: Micros) -> bool {
        let has_patient = self.waiters.iter().any(|waiter| waiter.patience == Patience::Waits);
        !has_patient && self.holder.may_ask(now)
    }

    pub(super) fn is_over(&self) -> bool {
        self.waiters.is_empty() && self.holder.is_over()
    }

    pub(super) fn next_due(&self) -> Option<Micros> {
        self.holder.due(count(self.waiters.len()))
    }

    pub(super) fn take_if_nobody_waits(
        &mut self,
        pool: &Arc<Pool>,
        (key, fails_open): (&PermitKey, bool),
        now: Micros,
    ) -> Option<Held> {
        self.limit = key.limit;
        self.waiters.retain(|waiter| !waiter.to.is_closed());
        // A lower limit holds at once for what is at hand.
        let is_free = self.waiters.is_empty() && self.holder.used() < key.limit;
        (is_free && self.take(now)).then(|| self.held(pool, key.name, fails_open))
    }

    fn take(&mut self, now: Micros) -> bool {
        let before = self.holder.term();
        let is_taken = self.holder.take(now);
        self.note_term(before);
        is_taken
    }

    fn held(&self, pool: &Arc<Pool>, name: Name, fails_open: bool) -> Held {
        Held::new(pool, name, (&self.term, self.holder.term()), fails_open)
    }

    pub(super) fn join(
        &mut self,
        fails_open: bool,
        patience: Patience,
    ) -> oneshot::Receiver<Result<Held, Denied>> {
        let (to, receiver) = oneshot::channel();
        self.waiters.push_back(Waiter { to, fails_open, patience });
        receiver
    }

    pub(super) fn give_back(&mut self, term: u64, now: Micros, held: Micros) {
        self.holder.give_back(term, now);
        let (average, held) = (self.average_hold.get(), held.get());
        let next = average - average / WEIGHT + held / WEIGHT;
        self.average_hold = Micros::new(if average == 0 { held } else { next });
    }

    /// Hands the permits at hand to those who wait, in order.
    pub(super) fn hand_out(&mut self, pool: &Arc<Pool>, name: Name, now: Micros, outbox: &mut Outbox) {
        self.waiters.retain(|waiter| !waiter.to.is_closed());
        while !self.waiters.is_empty() && self.holder.used() < self.limit && self.take(now) {
            let Some(waiter) = self.waiters.pop_front() else { return };
            let held = self.held(pool, name, waiter.fails_open);
            outbox.0.push((waiter.to, Ok(held)));
        }
    }

    pub(super) fn send(&mut self, now: Micros, (id, seq): (u128, u64), lease: Micros) -> Request {
        self.waiters.retain(|waiter| !waiter.to.is_closed());
        let before = self.holder.term();
        let settings = Settings { limit: self.limit, lease };
        let request = self.holder.send(now, (id, seq), count(self.waiters.len()), settings);
        self.note_term(before);
        request
    }

    /// An answer: hands out what it granted. If it did not grant all, those who do not wait are refused.
    pub(super) fn answered(
        &mut self,
        (pool, name): (&Arc<Pool>, Name),
        (now, request): (Micros, &Request),
        answer: &Exchanged,
        outbox: &mut Outbox,
    ) {
        let before = self.holder.term();
        let pace = jittered(self.holder.pace(self.average_hold), request.seq);
        self.holder.answer(now, answer, pace);
        self.note_term(before);
        self.term.renew(self.holder.deadline());
        self.others = u32::try_from(answer.others).unwrap_or(u32::MAX);
        self.hand_out(pool, name, now, outbox);
        let is_refused = answer.result != Outcome::Recorded
            || u64::from(answer.level) < u64::from(request.keep) + u64::from(request.want);
        if is_refused && answer.result != Outcome::Gone {
            let busy = Denied::Busy(self.used().saturating_add(self.others));
            self.turn_away(busy, |waiter| waiter.patience == Patience::None, outbox);
        }
    }

    /// A call that failed: nobody waits for a store that does not answer.
    pub(super) fn failed(&mut self, now: Micros, why: &'static str, outbox: &mut Outbox) {
        self.holder.lose(now, RETRY_AFTER);
        self.term.fail(now);
        self.turn_away(Denied::Unavailable(why), |_| true, outbox);
    }

    fn turn_away(&mut self, denied: Denied, whom: impl Fn(&Waiter) -> bool, outbox: &mut Outbox) {
        let (gone, stay) = std::mem::take(&mut self.waiters).into_iter().partition(whom);
        self.waiters = stay;
        let gone: VecDeque<Waiter> = gone;
        outbox.0.extend(gone.into_iter().map(|waiter| (waiter.to, Err(denied))));
    }

    /// If the term has ended, its permits are void.
    fn note_term(&mut self, before: u64) {
        if self.holder.term() != before {
            std::mem::take(&mut self.term).end();
            self.term.renew(self.holder.deadline());
        }
    }
}

fn count(waiting: usize) -> u32 {
    u32::try_from(waiting).unwrap_or(u32::MAX)
}

/// A pace that is a quarter longer or shorter, so that processes do not ask in step.
fn jittered(pace: Micros, seq: u64) -> Micros {
    let spread = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    Micros::new(pace.get() * 3 / 4 + pace.get() / 2 * spread / 1_024)
}
