//! The whole store as a few threads see it: keys are charged by the functions that ship, in the ways in which the front door calls them.

use std::sync::Arc;

use tollgate_algorithms::{Limit, Micros, Mode};

use crate::clock::Clock;
use crate::hash::KeyHash;
use crate::limit::LimitInner;
use crate::store::memory::batch::Charge;
use crate::store::memory::fast_path::FastHit;
use crate::store::memory::{KeyRequest, Memory, PackedHit};

/// A store, an instant, and a limit by two ways of writing it.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub(crate) store: Arc<Memory>,
    /// Kept in a word: one an hour.
    pub(crate) word: Arc<LimitInner>,
    /// The same name with numbers that take a cell: nearly one an hour.
    pub(crate) cell: Arc<LimitInner>,
    /// Each thread has its own.
    pub(crate) now: Micros,
}

/// A key of a limit.
pub(crate) type Key<'a> = (&'a LimitInner, u64);

impl Whole {
    /// A store whose table has so many lines and may have so many, with so many chunks of two cells; and limits of this burst.
    pub(crate) fn new((homes, homes_max, chunks): (usize, usize, usize), burst: u64) -> Self {
        let store = Memory::small(homes, homes_max, chunks);
        let word = Limit::token_bucket(burst, 1, Micros::HOUR).expect("it fits");
        let cell =
            Limit::token_bucket(burst, 65_537, Micros::new(65_537 * 3_600_000_000 + 1)).expect("it fits");
        let limit = |number, limit: Limit| {
            Arc::new(LimitInner {
                limiter: 0,
                mark: number,
                name: "limit".into(),
                limit,
                space: 0,
                hash: KeyHash,
                narrow: store.narrow(&limit),
                voided: Arc::default(),
                owing: Arc::default(),
            })
        };
        let (word, cell) = (limit(1, word), limit(2, cell));
        assert!(word.narrow.is_some() && cell.narrow.is_none());
        Self { store: Arc::new(store), word, cell, now: Micros::HOUR }
    }

    fn at(&self) -> (Clock, Micros) {
        (Clock(self.now), self.now)
    }

    /// Charges one key, as the front door does.
    pub(crate) fn charge(&self, (limit, id): Key<'_>, cost: u64) -> bool {
        let (clock, now) = self.at();
        if let Some(narrow) = &limit.narrow
            && let Some(found) = self.store.spot(id).read(id, narrow.kind)
            && let Some(raw) = self.store.charge_found(found, PackedHit { narrow, cost }, now)
        {
            return raw.granted;
        }
        let charged = self.store.charge(limit, id, cost, (&clock, now));
        charged.is_ok_and(|charged| charged.given(now).decision.is_granted())
    }

    /// Charges two keys by one each, all or none, as the front door does.
    pub(crate) fn charge_both(&self, keys: [Key<'_>; 2]) -> bool {
        let [first, second] = keys.map(|(limit, id)| {
            let weight = PackedHit { narrow: limit.narrow.as_ref()?, cost: 1 };
            Some(FastHit { limit, weight, id, spot: self.store.spot(id) })
        });
        let plain = first.zip(second).map(|(first, second)| [first, second]);
        match plain.and_then(|plain| self.store.charge_words(&plain, self.now)) {
            Some(weighed) => weighed.granted,
            None => self.charge_by_core(keys),
        }
    }

    /// The same in the way in which keys of all kinds are charged.
    pub(crate) fn charge_by_core(&self, keys: [Key<'_>; 2]) -> bool {
        let (clock, now) = self.at();
        let charges = keys.map(|(limit, id)| Charge { limit, id, cost: 1, mode: Mode::Enforced });
        self.store.charge_all::<2>(&charges, (&clock, now)).is_ok_and(|answered| answered.granted)
    }

    /// What a key has left.
    pub(crate) fn left(&self, (limit, id): Key<'_>) -> u64 {
        let (clock, now) = self.at();
        self.store
            .act(limit, id, KeyRequest::Peek(0), (&clock, now))
            .expect("there is room")
            .decision
            .remaining
    }

    /// Forgets a key.
    pub(crate) fn reset(&self, (limit, id): Key<'_>) {
        self.store.reset(limit, id, &Clock(self.now));
    }
}
