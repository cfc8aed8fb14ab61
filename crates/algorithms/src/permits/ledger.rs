//! What a store keeps of a key's permits, and the one operation on it. Its twin is `exchange.lua`.

use alloc::vec::Vec;

use super::LEVEL_MAX;
use crate::Micros;

/// The most processes that a key has records of. A further one gets [`Result::Full`], and no permits, until another has none left.
pub const RECORDS_MAX: usize = 256;

/// What one process has of a key's permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The process: 128 random bits.
    pub id: u128,
    /// The number of its last request.
    pub seq: u64,
    /// How many permits it has.
    pub level: u32,
    /// How many more it wanted and did not get.
    pub want: u32,
    /// When the record ends, unless it is renewed.
    pub until: Micros,
}

/// The permits of one key.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Ledger {
    /// Counts the permits that were ever granted, from the instant on at which the first was.
    pub fence: u64,
    /// One for each process.
    pub records: Vec<Record>,
}

/// What a process asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The process.
    pub id: u128,
    /// Larger than that of every earlier request of the process.
    pub seq: u64,
    /// How many of its permits it keeps: it uses no more from before it sends this on.
    pub keep: u32,
    /// How many more it wants.
    pub want: u32,
    /// How many permits the key has.
    pub limit: u32,
    /// How long its record lasts.
    pub lease: Micros,
}

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Result {
    /// It was recorded.
    Recorded,
    /// The permits that the process wanted to keep have ended: they are void. Nothing was changed.
    Gone,
    /// A later request was there before. Nothing was changed.
    Stale,
    /// There are [`RECORDS_MAX`] other processes. Nothing was changed.
    Full,
}

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchanged {
    /// What came of it.
    pub result: Result,
    /// How many permits the process has.
    pub level: u32,
    /// The number of the last permit that was granted.
    pub fence: u64,
    /// How many processes want permits, with this one.
    pub contenders: u32,
    /// Whether another one wants permits and has less than its part.
    pub is_short: bool,
    /// How many permits the others have.
    pub others: u64,
}

/// The largest number that a double counts to.
const FENCE_MAX: u64 = (1 << 53) - 1;

/// What the other processes have.
#[derive(Default)]
struct Others {
    levels: u64,
    wanting: u64,
    /// The least level of those that want more.
    least: Option<u64>,
}

impl Ledger {
    /// Answers a request at `now`. `is_recovering` says that data may have been lost within the last lease: then nothing is granted but what
    /// processes say that they have.
    pub fn exchange(&mut self, request: &Request, now: Micros, is_recovering: bool) -> Exchanged {
        let mut after = self.clone();
        after.forget(request.lease, now);
        let place = after.records.iter().position(|record| record.id == request.id);
        let own = place.map(|place| after.records.remove(place));
        let others = after.others();
        let limit = u64::from(request.limit.min(LEVEL_MAX));
        let (keep, want) = (u64::from(request.keep), u64::from(request.want));
        let free = limit.saturating_sub(others.levels);
        let contenders = others.wanting.saturating_add(1);
        let is_short = others.least.is_some_and(|least| least.saturating_mul(contenders) < limit);
        let (result, level) = match own {
            Some(own) if request.seq <= own.seq => (Result::Stale, u64::from(own.level)),
            None if keep > 0 && !(is_recovering && keep <= free) => (Result::Gone, 0),
            None if after.records.len() >= RECORDS_MAX => (Result::Full, 0),
            _ if is_recovering => (Result::Recorded, keep),
            _ => {
                // All of them; an equal part, if another one that wants some has less than that.
                let part = limit.checked_div(contenders).unwrap_or(limit).max(1);
                let cap = if is_short { part } else { limit };
                (Result::Recorded, keep.saturating_add(want).min(free).min(cap).max(keep))
            }
        };
        let mut fence = self.fence;
        if result == Result::Recorded {
            let granted = level.saturating_sub(keep);
            let begin = if self.records.is_empty() { now.min(Micros::INSTANT_MAX).get() } else { self.fence };
            fence = begin.saturating_add(granted).min(FENCE_MAX);
            after.fence = fence;
            after.record(request, level, now);
            // A ledger without records is not kept.
            *self = if after.records.is_empty() { Self::default() } else { after };
        }
        Exchanged {
            result,
            level: narrow(level),
            fence,
            contenders: narrow(contenders),
            is_short,
            others: others.levels,
        }
    }

    /// Drops the records that have ended. One that ends later than it can was written before the clock was set back.
    fn forget(&mut self, lease: Micros, now: Micros) {
        let latest = now.saturating_add(lease).saturating_add(lease);
        for record in &mut self.records {
            if record.until > latest {
                record.until = now.saturating_add(lease);
            }
        }
        self.records.retain(|record| record.until > now);
    }

    fn others(&self) -> Others {
        let mut others = Others::default();
        for record in &self.records {
            let level = u64::from(record.level);
            others.levels = others.levels.saturating_add(level);
            if record.want > 0 {
                others.wanting = others.wanting.saturating_add(1);
                others.least = Some(others.least.map_or(level, |least| least.min(level)));
            }
        }
        others
    }

    /// Writes the process's record behind the others. One that has nothing and wants nothing has none.
    fn record(&mut self, request: &Request, level: u64, now: Micros) {
        let unmet = u64::from(request.keep).saturating_add(request.want.into()).saturating_sub(level);
        if level > 0 || unmet > 0 {
            let until = now.saturating_add(request.lease);
            let (level, want) = (narrow(level), narrow(unmet));
            self.records.push(Record { id: request.id, seq: request.seq, level, want, until });
        }
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
