//! Plays the traces in `testdata/twins`, which the algorithms and every Redis server play, on the memory store.
//!
//! Two things in them a store in memory does not do as the core does, and says so: its clock does not run back (record 13), and a
//! key that is met under other numbers has drained by the former ones until then (record 12). There both begin anew, with
//! a key never seen, and go on with the same acts: the answers are then the core's own, and not those of the file.

use std::fs;

use tollgate_algorithms::{Algorithm, Decision, Limit, Micros, Receipt, peek};
use tollgate_redis::Reply;
use tollgate_twins::asked::{Asked, Owned};
use tollgate_twins::vectors::played;
use tollgate_twins::world::World;

use super::super::batch::Charge;
use super::super::test_engine::{answer, registered};
use super::super::{KeyRequest, Memory};
use crate::clock::Clock;

/// The only key there is.
const ID: u64 = 0x9e37_79b9_7f4a;

/// The store and the core, side by side.
struct Pair {
    store: Memory,
    clock: Clock,
    world: World,
    limit: Option<Limit>,
    now: Micros,
    /// How often both began anew.
    begun: usize,
    /// How many answers were compared.
    compared: usize,
}

impl Pair {
    fn new() -> Self {
        let (store, clock) =
            (Memory::new(4 << 20, Micros::ZERO).unwrap(), Clock::manual(Micros::ZERO).clock());
        Self { store, clock, world: World::new(1), limit: None, now: Micros::ZERO, begun: 0, compared: 0 }
    }

    /// Begins anew where a store in memory does not claim to be the core's twin.
    fn meet(&mut self, asked: &Asked, now: Micros) {
        let limit = asked_under(asked);
        let changed = limit.is_some() && limit != self.limit;
        if changed || now < self.now {
            let (begun, compared) = (self.begun + 1, self.compared);
            *self = Self { limit: limit.or(self.limit), begun, compared, ..Self::new() };
            self.store = Memory::new(4 << 20, now).unwrap();
        }
        self.now = now;
    }

    /// What the store says to a question.
    fn answered(&self, asked: &Asked) -> Option<Decision> {
        let limit = registered(&self.store, self.limit.unwrap_or(Limit::Unlimited), 1);
        let at = (&self.clock, self.now);
        let charge = |hit: &Owned| Charge { limit: &limit, id: ID, cost: hit.cost, mode: hit.mode };
        let act = |ask| Some(self.store.act(&limit, ID, ask, at).unwrap().decision);
        match asked {
            Asked::Charge(hits) => {
                let charges: Vec<_> = hits.iter().map(charge).collect();
                Some(self.store.charge_any(&charges, at).given[0].decision)
            }
            Asked::Peek(hits) => {
                let charges: Vec<_> = hits.iter().map(charge).collect();
                Some(self.store.peek_all::<4>(&charges, at).unwrap().given[0].decision)
            }
            Asked::UpTo(hit) => act(KeyRequest::UpTo(hit.cost)),
            Asked::Settle(hit) => act(KeyRequest::Settle(hit.cost)),
            Asked::Refund(_, (at, cost, limit), part) => {
                act(KeyRequest::Refund(&Receipt { at: *at, cost: *cost, limit: *limit }, *part))
            }
            Asked::Reset(..) => {
                self.store.reset(&limit, ID, &self.clock);
                None
            }
        }
    }

    /// Asks both, and compares what they say, and how the key stands then.
    fn compare(&mut self, asked: &Asked, now: Micros) -> Result<(), String> {
        self.meet(asked, now);
        let said = self.answered(asked);
        let wanted = match self.world.answer(asked, now) {
            Reply::Decided { decisions, .. } => decisions.first().copied(),
            Reply::Reset { .. } => None,
        };
        let limit = self.limit.unwrap_or(Limit::Unlimited);
        let stands = self.answered(&Asked::Peek(vec![hit_on(asked, limit)]));
        let core_stands = peek(&limit, self.world.state(0, &limit), now, 0);
        let both = [(said, wanted), (stands, Some(core_stands))];
        for (number, (memory, core)) in both.into_iter().enumerate() {
            let (memory, core) = (memory.as_ref().map(answer), core.as_ref().map(answer));
            if memory != core {
                return Err(format!(
                    "{asked:?} at {now}, {number}: memory says {memory:?}, the core {core:?}"
                ));
            }
        }
        self.compared += 1;
        Ok(())
    }
}

fn asked_under(asked: &Asked) -> Option<Limit> {
    match asked {
        Asked::Charge(hits) | Asked::Peek(hits) => hits.first().map(|hit| hit.limit),
        Asked::UpTo(hit) | Asked::Settle(hit) | Asked::Refund(hit, ..) => Some(hit.limit),
        Asked::Reset(..) => None,
    }
}

/// A hit that costs nothing.
fn hit_on(asked: &Asked, limit: Limit) -> Owned {
    let of_reset = if let Asked::Reset(key, name) = asked { Some((*key, *name)) } else { None };
    let of_hit = asked.hits().first().map(|hit| (hit.key, hit.name));
    let (key, name) = of_reset.or(of_hit).expect("it is about a key");
    Owned { key, name, limit, cost: 0, mode: tollgate_algorithms::Mode::Enforced }
}

#[test]
fn the_store_in_memory_plays_what_every_server_plays() {
    for algorithm in Algorithm::ALL {
        let path = format!("{}/../../testdata/twins/{algorithm}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let (mut core, mut pair) = (World::new(1), Pair::new());
        let mut as_written = 0;
        let written = played(&text, &mut |asked, now| {
            // What the file says, so that later acts mean the same charges.
            let reply = core.answer(asked, now);
            pair.compare(asked, now)?;
            as_written += usize::from(pair.begun == 1);
            Ok((reply, asked.hits().first().and_then(|hit| core.state(0, &hit.limit)).cloned()))
        });
        assert_eq!(written.unwrap_or_else(|wrong| panic!("{path}: {wrong}")), text, "{path}");
        // It does not begin anew all the time, and the first acts are those of the file to the letter.
        let (acts, begun) = (pair.compared, pair.begun);
        assert!(acts > 30 && as_written > 3 && begun * 4 < acts, "{path}: {acts}, {as_written}, {begun}");
    }
}
