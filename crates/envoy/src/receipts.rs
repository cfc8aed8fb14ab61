//! Receipts of recent charges, by which hits are given back: newest first, a few for each key, within a bound for all.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};

use tollgate::Receipt;

/// Most receipts of all keys together, each of about two hundred bytes. Beyond that, the oldest is forgotten, and what it charged is
/// not given back.
pub const RECEIPTS_MAX: usize = 1 << 16;

/// Parts with locks of their own.
const SHARDS: usize = 16;

/// Recent receipts.
#[derive(Debug)]
pub(crate) struct Receipts {
    per_key: usize,
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
}

#[derive(Debug, Default)]
struct Shard {
    of_keys: HashMap<u64, VecDeque<(u64, Charged)>>,
    /// Keys and the numbers of their charges, oldest first. A charge may be gone.
    order: VecDeque<(u64, u64)>,
    /// The number of the next charge.
    next: u64,
}

/// A charge that can be given back.
#[derive(Debug)]
pub(crate) struct Charged {
    pub(crate) receipt: Receipt,
    pub(crate) cost: u64,
}

impl Receipts {
    pub(crate) fn new(per_key: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { per_key, hasher: RandomState::new(), shards }
    }

    /// Whether receipts are kept at all.
    pub(crate) const fn are_kept(&self) -> bool {
        self.per_key > 0
    }

    fn shard(&self, hash: u64) -> Option<&Mutex<Shard>> {
        let shard = usize::try_from(hash % SHARDS as u64).ok()?;
        self.shards.get(shard)
    }

    /// Remembers a charge of a key.
    pub(crate) fn keep(&self, (limit, key): (&str, &[u8]), charged: Charged) {
        let hash = self.hasher.hash_one((limit, key));
        let Some(shard) = self.shard(hash).filter(|_| self.are_kept()) else { return };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let Shard { of_keys, order, next } = &mut *shard;
        let number = *next;
        *next = number.wrapping_add(1);
        let of_key = of_keys.entry(hash).or_default();
        of_key.push_back((number, charged));
        if of_key.len() > self.per_key {
            of_key.pop_front();
        }
        order.push_back((hash, number));
        if order.len() > RECEIPTS_MAX / SHARDS {
            let oldest = order.pop_front();
            forget(of_keys, oldest);
        }
    }

    /// The newest charges of a key that make up a number of hits, or all that are left.
    pub(crate) fn take(&self, (limit, key): (&str, &[u8]), hits: u64) -> Vec<Charged> {
        let hash = self.hasher.hash_one((limit, key));
        let Some(shard) = self.shard(hash) else { return Vec::new() };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_key) = shard.of_keys.get_mut(&hash) else { return Vec::new() };
        let (mut taken, mut left) = (Vec::new(), hits);
        while left > 0 {
            let Some((_, charged)) = of_key.pop_back() else { break };
            left = left.saturating_sub(charged.cost);
            taken.push(charged);
        }
        if of_key.is_empty() {
            shard.of_keys.remove(&hash);
        }
        taken
    }
}

/// Forgets a charge, if it is still there: then it is the oldest of its key.
fn forget(of_keys: &mut HashMap<u64, VecDeque<(u64, Charged)>>, oldest: Option<(u64, u64)>) {
    let Some((hash, number)) = oldest else { return };
    let Some(of_key) = of_keys.get_mut(&hash) else { return };
    if of_key.front().is_some_and(|(front, _)| *front == number) {
        of_key.pop_front();
    }
    if of_key.is_empty() {
        of_keys.remove(&hash);
    }
}

#[cfg(test)]
mod tests {
    use tollgate::{Limit, Limiter};

    use super::*;

    fn charged(cost: u64) -> Charged {
        let limiter =
            Limiter::builder().max_memory(tollgate::MAX_MEMORY_BYTES_MIN).build().expect("there is memory");
        let limit =
            limiter.limit("a", Limit::per_minute(u32::MAX.into()).burst(1_000_000).expect("it is in range"));
        let hits = [limit.hit("k").cost(cost)];
        let (_, receipt) = limiter.try_charge_for_receipt(&hits).expect("the hit is valid");
        Charged { receipt: receipt.expect("it was charged"), cost }
    }

    #[test]
    fn the_newest_come_first_and_only_as_many_as_are_needed() {
        let receipts = Receipts::new(3);
        for cost in [1, 2, 3, 4] {
            receipts.keep(("limit", b"key"), charged(cost));
        }
        let costs = |hits| {
            let taken = receipts.take(("limit", b"key"), hits);
            taken.into_iter().map(|charged| charged.cost).collect::<Vec<_>>()
        };
        assert_eq!(costs(5), [4, 3]);
        assert_eq!(costs(100), [2], "of four, three are kept");
        assert_eq!(costs(1), [0; 0]);
        assert!(receipts.take(("other", b"key"), 1).is_empty());
    }

    #[test]
    fn all_keys_together_have_a_bound() {
        let receipts = Receipts::new(2);
        let keys = u32::try_from(RECEIPTS_MAX * 2).expect("it is small");
        let one =
            Limiter::builder().max_memory(tollgate::MAX_MEMORY_BYTES_MIN).build().expect("there is memory");
        let limit =
            one.limit("a", Limit::per_minute(u32::MAX.into()).burst(1_000_000).expect("it is in range"));
        for key in 0..keys {
            let (_, receipt) = one.try_charge_for_receipt(&[limit.hit("k")]).expect("the hit is valid");
            let charged = Charged { receipt: receipt.expect("it was charged"), cost: 1 };
            receipts.keep(("limit", &key.to_le_bytes()), charged);
        }
        let kept = receipts.shards.iter().map(|shard| shard.lock().expect("nobody panics").of_keys.len());
        assert!(kept.sum::<usize>() <= RECEIPTS_MAX);
        assert_eq!(receipts.take(("limit", &(keys - 1).to_le_bytes()), 1).len(), 1);
        assert_eq!(receipts.take(("limit", &0_u32.to_le_bytes()), 1).len(), 0);
    }
}
