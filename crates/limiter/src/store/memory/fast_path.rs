//! Fast path for batches of packed states: the same arithmetic as the algorithms, on the stack. Everything else is `batch.rs`.

use tollgate_algorithms::Micros;

use super::map::Probe;
use super::packed_rates::PackedDecision;
use super::table::Table;
use super::{FoundSlot, Memory, PackedHit};
use crate::limit::LimitInner;

/// So many hits are decided here; more are not plain.
pub(crate) const PLAIN_HITS_MAX: usize = 4;

/// A hit on a key whose debt is a word, and where the key is looked for first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastHit<'a> {
    pub(crate) limit: &'a LimitInner,
    pub(crate) weight: PackedHit<'a>,
    pub(crate) id: u64,
    pub(crate) spot: Probe<'a>,
}

/// Whether all hits were granted, and what each limit says, before its numbers are worked out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastBatch {
    pub(crate) granted: bool,
    /// One for each hit, and then some that mean nothing.
    pub(crate) raws: [PackedDecision; PLAIN_HITS_MAX],
}

impl Memory {
    /// Charges several keys, all or none, if that is plain; `None` if not, and then nothing was charged.
    ///
    /// If one is refused, then all are, at the moment at which that one was read: no lock is needed.
    ///
    /// Lists of a known length, filled one by one: the compiler keeps most of that in registers. Made by a closure each, three hits took
    /// half as long again.
    #[inline]
    pub(crate) fn charge_words<const N: usize>(
        &self,
        hits: &[FastHit<'_>; N],
        now: Micros,
    ) -> Option<FastBatch> {
        for hit in 1..N {
            // What two hits on one key cost is added up elsewhere.
            if hits[..hit].iter().any(|other| other.id == hits[hit].id) {
                return None;
            }
        }
        let since_start = self.since_start(now);
        if hits.iter().any(|hit| since_start > hit.weight.narrow.until) {
            return None;
        }
        let found = match self.found_all(hits) {
            Some(found) => found,
            None => {
                self.put_in_words(hits, now)?;
                self.found_all(hits)?
            }
        };
        let mut weighed = FastBatch { granted: true, raws: [PackedDecision::default(); PLAIN_HITS_MAX] };
        let mut zeros = [None; N];
        for hit in 0..N {
            let weight = hits[hit].weight;
            let (zero, raw) = weight.narrow.weigh(found[hit].2, since_start, weight.cost);
            weighed.granted &= raw.granted;
            *weighed.raws.get_mut(hit)? = raw;
            zeros[hit] = zero;
        }
        if weighed.granted {
            self.write_all(&found, &zeros, now)?;
            return Some(weighed);
        }
        if !found.iter().all(|(slot, tag, value)| slot.is_still(*tag, *value)) {
            return None;
        }
        for (hit, raw) in hits.iter().zip(&mut weighed.raws) {
            *raw = hit.weight.narrow.uncharged(raw);
        }
        Some(weighed)
    }

    #[inline(always)]
    fn found_all<'a, const N: usize>(&'a self, hits: &[FastHit<'a>; N]) -> Option<[FoundSlot<'a>; N]> {
        let mut found = [self.found(hits.first()?)?; N];
        for hit in 1..N {
            found[hit] = self.found(&hits[hit])?;
        }
        Some(found)
    }

    #[inline(always)]
    pub(super) fn found<'a>(&'a self, hit: &FastHit<'a>) -> Option<FoundSlot<'a>> {
        let kind = hit.weight.narrow.kind;
        match hit.spot.read(hit.id, kind) {
            Some(found) => Some(found),
            None => self.find(hit.id, kind),
        }
    }

    /// Writes all words, or none: `None` if one of them has changed since it was read.
    #[inline]
    fn write_all<const N: usize>(
        &self,
        found: &[FoundSlot<'_>; N],
        zeros: &[Option<u64>; N],
        now: Micros,
    ) -> Option<()> {
        for hit in 0..N {
            let (slot, tag, value) = found[hit];
            // Nobody is waited for, so the order does not matter. A cost of nothing changes nothing.
            let taken = match zeros[hit] {
                Some(_) => Table::lock_as_read(slot, tag, value).is_some(),
                None => slot.is_still(tag, value),
            };
            if !taken {
                let ours = found.iter().zip(zeros).take(hit).filter(|(_, zero)| zero.is_some());
                ours.for_each(|((slot, _, value), _)| slot.unlock(*value));
                return None;
            }
        }
        for ((slot, ..), zero) in found.iter().zip(zeros) {
            zero.iter().for_each(|zero| slot.unlock(*zero));
        }
        if self.table.is_moving() {
            self.help_a_little(now);
        }
        Some(())
    }
}
