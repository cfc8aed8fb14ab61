//! Adapts the store to the laws of `tollgate-proof`, so that they run against it, too. Tests only.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tollgate_algorithms::{Decision, Limit, Micros, Mode, Receipt, Retry, State};
use tollgate_proof::engine::{Act, Answer, BatchHit, Core, Engine, Wait};
use tollgate_proof::spec::Spec;

use super::batch::{BatchResult, Charge};
use super::fast_path::{FastBatch, FastHit};
use super::packed_rates::{FRESH, IN_A_CELL, PackedDecision, PackedLimit, Rate};
use super::slot::Tag;
use super::slot_guard::KeyPosition;
use super::{KeyRequest, KeyResult, Memory, PackedHit, StoreAtInstant};
use crate::clock::Clock;
use crate::hash::{Hashing, Secret};
use crate::limit::LimitInner;

/// The memory store, one key at a time.
#[derive(Debug)]
pub(crate) struct Stored;

/// Where a key stands, as the store keeps it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Stood {
    /// A word, and what it means.
    Word(Rate, u64),
    /// The state in a cell, from when on it is as good as none, the limit it was last met under, and up to when
    /// its receipts are void.
    Cell(State, Micros, Limit, u64),
}

thread_local! {
    static STORE: RefCell<Memory> = RefCell::new(new());
}

/// A store that counts from the epoch, so that words of one mean the same in another.
fn new() -> Memory {
    Memory::new(4 << 20, Micros::ZERO).expect("a megabyte of memory")
}

/// A limit as the store wants it.
pub(super) fn registered(store: &Memory, limit: Limit, number: u32) -> LimitInner {
    LimitInner {
        limiter: 0,
        mark: number,
        name: "limit".into(),
        limit,
        space: 0,
        hash: Hashing::keyed(Secret(1, 2)).of_name(0),
        narrow: store.narrow(&limit),
        voided: Arc::default(),
        owing: Arc::default(),
        #[cfg(feature = "redis")]
        resets: Arc::default(),
        #[cfg(feature = "redis")]
        far: None,
    }
}

pub(super) fn answer(decision: &Decision) -> Answer {
    Answer {
        granted: decision.is_granted(),
        charged: decision.charged,
        limit: decision.limit,
        remaining: decision.remaining,
        retry: match decision.retry() {
            None => Wait::None,
            Some(Retry::After(wait)) => Wait::After(wait.get()),
            Some(Retry::Never) => Wait::Never,
        },
        reset: decision.reset_after.get(),
        at: decision.at.get(),
    }
}

impl Memory {
    /// Puts a key in as it stood.
    fn put(&self, id: u64, stood: &Stood, limit: &LimitInner, now: Micros) {
        let at = StoreAtInstant::new(self, now);
        let Ok(KeyPosition::Slot(locked)) = self.table.try_lock(id, true, &at) else {
            panic!("there is room")
        };
        match stood {
            Stood::Word(rate, zero) => {
                locked.write(Tag::new(id, self.number_of(*rate).expect("few rates")), *zero);
            }
            Stood::Cell(state, over, met, void) => {
                limit.voided.note(id, *void);
                let number = self.new_cell(&at).expect("there is room");
                let cell = self.cells.get(number).expect("it was just made");
                let mut kept = cell.open();
                (kept.state, kept.limit) = (Some(state.clone()), if *met == limit.limit { 1 } else { 2 });
                self.cells.note_list(0, kept.list_bytes());
                cell.set_over(*over);
                drop(kept);
                locked.write(Tag::new(id, IN_A_CELL), number);
            }
        }
    }

    /// Takes a key out as it stands.
    fn take(&self, id: u64, limit: &LimitInner, now: Micros) -> Option<Stood> {
        let (_, tag, value) = self.table.read(id)?;
        let stood = match tag.kind() {
            FRESH => None,
            IN_A_CELL => {
                let cell = self.cells.get(value).expect("it is in use");
                let state = cell.open().state.clone();
                let void = limit.voided.until(&id);
                state.map(|state| Stood::Cell(state, cell.over(), limit.limit, void))
            }
            kind => self.rates.get(kind).map(|rate| Stood::Word(rate, value)),
        };
        self.reset(&registered(self, Limit::Unlimited, 0), id, &Clock::manual(now).clock());
        stood
    }
}

impl Memory {
    fn charge_plain<const N: usize>(&self, charges: &[Charge<'_>], now: Micros) -> Option<FastBatch> {
        let plain = charges.iter().map_while(|Charge { limit, id, cost, mode }| {
            let narrow = limit.narrow.as_ref().filter(|_| *mode == Mode::Enforced)?;
            Some(FastHit { limit, weight: PackedHit { narrow, cost: *cost }, id: *id, spot: self.spot(*id) })
        });
        let plain: Vec<FastHit<'_>> = plain.collect();
        self.charge_words::<N>(plain.as_slice().try_into().ok()?, now)
    }

    /// Charges several keys the way the front door does.
    pub(super) fn charge_any(
        &self,
        charges: &[Charge<'_>],
        (clock, now): (&Clock, Micros),
    ) -> BatchResult<4> {
        let plain = match charges.len() {
            2 => self.charge_plain::<2>(charges, now),
            3 => self.charge_plain::<3>(charges, now),
            4 => self.charge_plain::<4>(charges, now),
            _ => None,
        };
        let Some(weighed) = plain else {
            return self.charge_all(charges, (clock, now)).expect("there is room");
        };
        let narrows = charges.iter().filter_map(|charge| charge.limit.narrow);
        let given = |(narrow, raw): (PackedLimit, &PackedDecision)| KeyResult {
            decision: narrow.decision(raw, now),
            refunded: 0,
            shared: false,
            known: true,
        };
        BatchResult { granted: weighed.granted, given: narrows.zip(&weighed.raws).map(given).collect() }
    }
}

/// Runs something on an empty store; a new one before its rates run out.
fn with_store<T>(run: impl FnOnce(&Memory) -> T) -> T {
    STORE.with_borrow_mut(|store| {
        if store.rates.get(900).is_some() {
            *store = new();
        }
        // Cases have nothing to do with one another, and time begins anew.
        store.dropped.store(0, Ordering::Relaxed);
        run(store)
    })
}

impl Engine for Stored {
    type Limit = Limit;
    type State = Stood;

    const IS_A_STORE: bool = true;

    fn limit(spec: &Spec) -> Option<Limit> {
        Core::limit(spec)
    }

    fn act(limit: &Limit, key: &mut Option<Stood>, now: u64, act: Act) -> Answer {
        with_store(|store| {
            let (clock, now, id) = (Clock::manual(Micros::ZERO).clock(), Micros::new(now), 7);
            let limited = registered(store, *limit, 1);
            if let Some(stood) = key.as_ref() {
                store.put(id, stood, &limited, now);
            }
            let receipt;
            let ask = match act {
                Act::Charge(cost) => KeyRequest::Charge(cost),
                Act::Peek(cost) => KeyRequest::Peek(cost),
                Act::UpTo(most) => KeyRequest::UpTo(most),
                Act::Settle(cost) => KeyRequest::Settle(cost),
                Act::Refund(at, cost, spec) => {
                    let limit = Core::limit(&spec).unwrap_or(Limit::Unlimited);
                    receipt = Receipt { at: Micros::new(at), cost, limit };
                    // As the front door does.
                    if limited.is_void(id, receipt.at) {
                        KeyRequest::Peek(0)
                    } else {
                        KeyRequest::Refund(&receipt, cost)
                    }
                }
            };
            let given = match ask {
                KeyRequest::Charge(cost) => {
                    store.charge(&limited, id, cost, (&clock, now)).map(|charged| charged.given(now))
                }
                KeyRequest::Peek(_)
                | KeyRequest::UpTo(_)
                | KeyRequest::Settle(_)
                | KeyRequest::Refund(..) => store.act(&limited, id, ask, (&clock, now)),
            };
            *key = store.take(id, &limited, now);
            answer(&given.expect("there is room").decision)
        })
    }

    fn batch(
        limits: &[Limit],
        keys: &mut [Option<Stood>],
        now: u64,
        hits: &[BatchHit],
    ) -> (bool, Vec<Answer>) {
        with_store(|store| {
            let (clock, now) = (Clock::manual(Micros::ZERO).clock(), Micros::new(now));
            let limits: Vec<_> = limits.iter().map(|limit| registered(store, *limit, 1)).collect();
            // Each in a line of its own: a key that is as good as none must not lose its place to another one here, where
            // what stays is compared to the bit.
            let id_of = |key: usize| (key as u64 + 1) << 48;
            for (key, stood) in keys.iter().enumerate() {
                stood.iter().for_each(|stood| store.put(id_of(key), stood, &limits[key], now));
            }
            let charge = |&(key, cost, shadow): &BatchHit| Charge {
                limit: &limits[key],
                id: id_of(key),
                cost,
                mode: if shadow { Mode::Shadow } else { Mode::Enforced },
            };
            let charges: Vec<_> = hits.iter().map(charge).collect();
            let answered = store.charge_any(&charges, (&clock, now));
            for (number, key) in keys.iter_mut().enumerate() {
                *key = store.take(id_of(number), &limits[number], now);
            }
            (answered.granted, answered.given.iter().map(|given| answer(&given.decision)).collect())
        })
    }
}
