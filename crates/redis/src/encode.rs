//! Encodes a command as a script, keys and arguments. `reply.rs` decodes the reply.
//!
//! Numbers go as seven bytes each. Every number of a limit is below 2^53; a cost may be any number, and is sent as the
//! smallest one that is answered alike.

#[cfg(test)]
mod tests;

use smallvec::{SmallVec, smallvec};
use tollgate_algorithms::{Limit, Micros, Mode, Quota, Receipt, Window};

use crate::call::Argument;
use crate::config_tag::marked;
use crate::script::{Clock, Driver, FEW_MAX, Kind, KindSet, script};
use crate::script_targets::Targets;
use crate::state::numbered;
use crate::{Call, Command, Hit, KeyName, StateKind};

/// What the scripts call the verbs.
const UP_TO: u8 = 1;
const SETTLE: u8 = 2;
const REFUND: u8 = 3;

/// After a limit: a shadow hit's cost, or one that is asked about only.
const SHADOW: u8 = 1;
const ASKED: u8 = 2;

impl Command<'_> {
    /// The call that asks it, at the server's time.
    #[must_use]
    pub fn call(&self) -> Call {
        self.call_by(Clock::Server)
    }

    /// The call that asks it at an instant that the caller says: for tests.
    #[cfg(feature = "given-time")]
    #[doc(hidden)]
    #[must_use]
    pub fn call_at(&self, now: Micros) -> Call {
        let mut call = self.call_by(Clock::Given);
        call.arguments.push(number(now.get().min(Micros::INSTANT_MAX.get())));
        call
    }

    fn call_by(&self, clock: Clock) -> Call {
        match self {
            Self::Charge([hit]) if *hit.limit != Limit::Unlimited => {
                let arguments = smallvec![limit(hit.limit, asked(hit))];
                one(Driver::Charge, clock, hit, arguments)
            }
            Self::Charge(hits) => match few(hits) {
                Some(targets) => few_keys(clock, hits, &targets),
                None => batch(Driver::Batch, clock, hits),
            },
            Self::Peek(hits) => batch(Driver::Peek, clock, hits),
            Self::UpTo(hit) => {
                // Not less than 1, if more is asked: nothing is refused of nothing.
                let most = hit.limit.capacity().max(1);
                verb(clock, hit, (UP_TO, hit.cost.min(most)), None)
            }
            Self::Settle(hit) => {
                let most = hit.limit.capacity().saturating_mul(2);
                verb(clock, hit, (SETTLE, hit.cost.min(most)), None)
            }
            // A receipt is void under other numbers: the key is only looked at.
            Self::Refund(hit, receipt, _) if receipt.limit != *hit.limit => {
                batch(Driver::Peek, clock, &[Hit { cost: 0, ..*hit }])
            }
            Self::Refund(hit, receipt, part) => {
                let receipt = credible(receipt);
                verb(clock, hit, (REFUND, 0), Some((&receipt, (*part).min(receipt.cost))))
            }
            Self::Reset(name) => Call {
                script: script(Driver::Reset, KindSet::default(), clock),
                // Whatever a process that counts the limit in another way has of it, too.
                names: StateKind::ALL.iter().map(|kind| name.of(*kind)).collect(),
                arguments: SmallVec::new(),
                writes: Driver::Reset.writes(0),
            },
        }
    }
}

/// A receipt as it is believed: no charge was ever larger than twice a capacity.
pub(crate) fn credible(receipt: &Receipt) -> Receipt {
    let most = receipt.limit.capacity().saturating_mul(2);
    Receipt { at: receipt.at, cost: receipt.cost.min(most), limit: receipt.limit }
}

/// A cost as it is sent: one that is larger than the capacity never fits, however large it is.
fn asked(hit: &Hit<'_>) -> u64 {
    hit.cost.min(hit.limit.capacity().saturating_add(1))
}

fn one(driver: Driver, clock: Clock, hit: &Hit<'_>, arguments: SmallVec<[Argument; 4]>) -> Call {
    Call {
        script: script(driver, KindSet::of([hit.limit]), clock),
        names: hit.key().into_iter().collect(),
        arguments,
        writes: driver.writes(hit.cost),
    }
}

fn verb(clock: Clock, hit: &Hit<'_>, (verb, cost): (u8, u64), refund: Option<(&Receipt, u64)>) -> Call {
    if *hit.limit == Limit::Unlimited {
        return batch(Driver::Peek, clock, &[*hit]);
    }
    let (at, charged, part) =
        refund.map_or((0, 0, 0), |(receipt, part)| (receipt.at.get().min(BELOW), receipt.cost, part));
    let mut words = Argument::new();
    words.push(verb);
    [at, charged, part].into_iter().for_each(|number| numbered(&mut words, number));
    one(Driver::Verbs, clock, hit, smallvec![limit(hit.limit, cost), words])
}

/// The targets of hits that `few.lua` answers: on two to four keys, enforced, and no list twice.
pub(crate) fn few<'a>(hits: &[Hit<'a>]) -> Option<Targets<'a>> {
    let targets = Targets::of(hits);
    let keys = targets.keys();
    let is_plain = |hit: &Hit<'_>| {
        let on = targets.place_of(hit);
        let is_alone = hits.iter().filter(|other| targets.place_of(other) == on).count() == 1;
        hit.mode == Mode::Enforced && (is_alone || !is_list(hit.limit))
    };
    ((2..=usize::from(FEW_MAX)).contains(&keys) && hits.iter().all(is_plain)).then_some(targets)
}

fn few_keys(clock: Clock, hits: &[Hit<'_>], targets: &Targets<'_>) -> Call {
    let mut names: SmallVec<[KeyName; 4]> = SmallVec::new();
    let mut argument = Argument::new();
    for (place, target) in targets.iter().enumerate() {
        let Some(key) = target.key() else { continue };
        names.push(key);
        let on = hits.iter().filter(|hit| targets.place_of(hit) == Some(place));
        let sum = on.fold(0, |sum: u64, hit| sum.saturating_add(hit.cost));
        argument.extend_from_slice(&limit(target.limit, sum.min(target.limit.capacity().saturating_add(1))));
    }
    let kinds = KindSet::of(targets.iter().map(|target| target.limit));
    let driver = Driver::Few(u8::try_from(names.len()).unwrap_or(FEW_MAX));
    let writes = driver.writes(hits.iter().fold(0, |sum: u64, hit| sum.saturating_add(hit.cost)));
    Call { script: script(driver, kinds, clock), names, arguments: smallvec![argument], writes }
}

pub(crate) const fn is_list(limit: &Limit) -> bool {
    matches!(limit, Limit::SlidingWindowBuckets(_) | Limit::SlidingWindowLog(_))
}

/// An instant that no state has: all of them are earlier.
const BELOW: u64 = (1 << 53) - 1;

fn batch(driver: Driver, clock: Clock, hits: &[Hit<'_>]) -> Call {
    let targets = Targets::of(hits);
    let mut names: SmallVec<[KeyName; 4]> = SmallVec::new();
    let mut arguments: SmallVec<[Argument; 4]> = SmallVec::new();
    for (place, target) in targets.iter().enumerate() {
        let Some(key) = target.key() else { continue };
        names.push(key);
        arguments.push(hits_on(target.limit, hits.iter().filter(|hit| targets.place_of(hit) == Some(place))));
    }
    let kinds = KindSet::of(targets.iter().map(|target| target.limit));
    let writes = driver.writes(hits.iter().fold(0, |sum: u64, hit| sum.saturating_add(hit.cost)));
    Call { script: script(driver, kinds, clock), names, arguments, writes }
}

/// A limit, what all enforced hits on it take, and what else is asked of it.
fn hits_on<'a>(on: &Limit, hits: impl Iterator<Item = &'a Hit<'a>>) -> Argument {
    let (mut sum, mut further) = (0_u64, Argument::new());
    let never = on.capacity().saturating_add(1);
    // Where a list is waited for must be told for each hit on it; all else is told by the state.
    for hit in hits {
        let (what, cost) = match hit.mode {
            Mode::Shadow => (SHADOW, hit.cost),
            Mode::Enforced => {
                sum = sum.saturating_add(hit.cost);
                (ASKED, sum)
            }
        };
        if what == SHADOW || is_list(on) {
            further.push(what);
            numbered(&mut further, cost.min(never));
        }
    }
    let mut argument = limit(on, sum.min(never));
    argument.extend_from_slice(&further);
    argument
}

#[cfg(feature = "given-time")]
fn number(number: u64) -> Argument {
    let mut argument = Argument::new();
    numbered(&mut argument, number);
    argument
}

/// How many bytes come before the numbers of a limit.
const TAG_AND_COST: usize = 8;

/// A limit and a cost as a script reads them, and the mark of the limit's numbers.
pub(crate) fn limit(limit: &Limit, cost: u64) -> Argument {
    let mut argument = Argument::new();
    let Some(algorithm) = limit.algorithm() else { return argument };
    let tag = StateKind::of(algorithm).tag();
    argument.push(tag);
    numbered(&mut argument, cost);
    numbered(&mut argument, limit.capacity());
    match limit {
        Limit::Unlimited => {}
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => {
            rate(&mut argument, quota);
        }
        Limit::FixedWindow(rule) => window(&mut argument, rule.window()),
        Limit::SlidingWindow(rule) => numbered(&mut argument, rule.window().get()),
        Limit::SlidingWindowBuckets(rule) => {
            let bucket = rule.window().get().div_ceil(u64::from(rule.buckets().max(1)));
            list(&mut argument, rule.window(), bucket, rule.buckets().saturating_add(1));
        }
        Limit::SlidingWindowLog(rule) => list(&mut argument, rule.window(), 1, u32::MAX),
    }
    // A debt's numbers are their own mark.
    if Kind::of(algorithm) != Kind::Debt {
        let mark = marked(tag, argument.get(TAG_AND_COST..).unwrap_or_default());
        argument.extend_from_slice(&mark);
    }
    argument
}

fn rate(argument: &mut Argument, quota: &Quota) {
    numbered(argument, quota.count());
    // Larger only with a burst of 0, under which nothing fits in any period.
    numbered(argument, quota.period().min(Micros::INSTANT_MAX.get()));
}

/// A fixed window: 0 and its length, or which calendar's and how far its midnight lies before that of UTC.
fn window(argument: &mut Argument, window: Window) {
    let (calendar, span) = match window {
        Window::Every(length) => (0, length.get()),
        Window::Day(offset) => (1, offset.code()),
        Window::Week(offset) => (2, offset.code()),
        Window::Month(offset) => (3, offset.code()),
        Window::Year(offset) => (4, offset.code()),
    };
    argument.push(calendar);
    numbered(argument, span);
}

fn list(argument: &mut Argument, window: Micros, bucket: u64, entries_max: u32) {
    numbered(argument, window.get());
    numbered(argument, bucket);
    argument.extend_from_slice(&entries_max.to_be_bytes());
}
