//! Several hits on keys whose debts are words, each where it is looked for first: decided without the core, by the same
//! arithmetic. Anything less plain is `batch.rs`.

use smallvec::SmallVec;
use tollgate_core::{Micros, Mode};

use super::Memory;
use super::batch::Charge;
use super::locked::Locked;
use super::rates::{Narrow, Raw};
use super::table::Table;

/// So many hits are decided here; more are not plain.
const PLAIN_HITS_MAX: usize = 4;

/// Whether all hits were granted, and what each limit says, before its numbers are worked out.
pub(crate) struct Weighed {
    pub(crate) granted: bool,
    pub(crate) hits: SmallVec<[(Narrow, Raw); PLAIN_HITS_MAX]>,
}

impl Memory {
    /// Charges several keys, all or none, if that is plain; `None` if not, and then nothing was charged.
    pub(crate) fn charge_words(&self, charges: &[Charge<'_>], now: Micros) -> Option<Weighed> {
        if charges.len() > PLAIN_HITS_MAX || charges.iter().any(|charge| charge.mode == Mode::Shadow) {
            return None;
        }
        let mut order: SmallVec<[usize; PLAIN_HITS_MAX]> = (0..charges.len()).collect();
        order.sort_unstable_by_key(|hit| charges.get(*hit).map(|charge| charge.id));
        let mut locks: SmallVec<[(usize, Locked<'_>); PLAIN_HITS_MAX]> = SmallVec::new();
        for hit in order {
            // A key that two hits are on is locked by the first of them, and is not plain.
            match charges.get(hit).and_then(|charge| self.lock_word(charge)) {
                Some(locked) => locks.push((hit, locked)),
                None => {
                    locks.into_iter().for_each(|(_, locked)| locked.leave());
                    return None;
                }
            }
        }
        let weighed = self.weigh_all(charges, locks, now);
        if self.table.is_moving() {
            self.help_a_little(now);
        }
        Some(weighed)
    }

    fn lock_word(&self, charge: &Charge<'_>) -> Option<Locked<'_>> {
        let narrow = charge.limit.narrow.as_ref()?;
        let (slot, tag, value) = self.spot(charge.id)?.read(charge.id, narrow.kind)?;
        Table::lock_as_read(slot, tag, value)
    }

    /// Decides, writes and lets go.
    fn weigh_all(
        &self,
        charges: &[Charge<'_>],
        locks: SmallVec<[(usize, Locked<'_>); PLAIN_HITS_MAX]>,
        now: Micros,
    ) -> Weighed {
        let since_start = self.since_start(now);
        let mut zeros = [None; PLAIN_HITS_MAX];
        let mut hits: SmallVec<[(Narrow, Raw); PLAIN_HITS_MAX]> = SmallVec::new();
        let mut granted = true;
        for (hit, charge) in charges.iter().enumerate() {
            let value = locks.iter().find(|lock| lock.0 == hit).and_then(|lock| lock.1.known());
            let (Some(narrow), Some((_, value))) = (charge.limit.narrow, value) else { continue };
            let (zero, raw) = narrow.weigh(value, since_start, charge.cost);
            granted &= raw.granted;
            if let Some(kept) = zeros.get_mut(hit) {
                *kept = zero;
            }
            hits.push((narrow, raw));
        }
        for (hit, locked) in locks {
            let zero = zeros.get(hit).copied().flatten().filter(|_| granted);
            match (zero, locked.known()) {
                (Some(zero), Some((tag, _))) => locked.write(tag, zero),
                _ => locked.leave(),
            }
        }
        if !granted {
            hits.iter_mut().for_each(|(narrow, raw)| *raw = narrow.uncharged(raw));
        }
        Weighed { granted, hits }
    }
}
