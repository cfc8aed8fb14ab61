//! The result of a request: granted, refused or unavailable, with the decision of each limit.

use std::cell::RefCell;
use std::fmt;
use std::thread::LocalKey;
use std::time::Duration;

use tollgate_algorithms::{Decision, Micros, Mode, Retry};

use crate::inline_list::{InlineItem, InlineList, SpareBuffers};
use crate::limit::Hit;
use crate::store::memory::fast_path::FastBatch;
use crate::store::memory::packed_rates::{PackedDecision, PackedLimit};

/// The result of the hits of one request.
#[derive(Clone, Debug)]
#[must_use = "whether it was granted is the point"]
pub struct Verdict {
    pub(crate) kind: Kind,
    pub(crate) answers: HitResults,
}

/// The decisions of a request's limits.
pub(crate) type HitResults = InlineList<HitResult>;

/// The kind of a verdict: granted, refused, or unavailable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Every enforced hit fit, and all were charged.
    Granted,
    /// An enforced hit did not fit, and nothing was charged.
    Refused,
    /// No decision was possible, and nothing was charged. This is not a grant; the caller decides what to do.
    Unavailable(Unavailable),
}

/// Why no decision was possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unavailable {
    /// The store is full, with so many limits that there is not even room for an overflow bucket.
    NoRoom,
    /// The maximum number of reservations is open.
    TooManyReservations,
    /// The system has no random bytes for the ID of a reservation.
    NoRandomness,
    /// The shared store failed, and a limit's failure rule denies. The value is the name of the cause, from a fixed set.
    Store(&'static str),
}

/// The result of one hit.
#[derive(Clone, Copy)]
pub struct HitResult {
    said: LazyDecision,
    mode: Mode,
    source: Source,
}

/// What a hit was decided by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Source {
    /// The key's own state.
    Own,
    /// An overflow bucket, because there was no room for the key: it may be refused for the usage of other new keys,
    /// but never gets more than its limit.
    Common,
    /// A cached refusal of the shared store that still holds. See [`Hit::non_refundable`].
    Remembered,
    /// Nothing: another limit of the request refused first, so the shared store was not queried. The numbers are those
    /// of a key never seen and have no meaning.
    Unasked,
    /// This process alone, with its fraction of the limit, because the shared store made no decision.
    Share,
    /// Nothing: the shared store failed and the limit's failure rule allows; or there is no room for the key, not even in an
    /// overflow bucket, and the hit is in shadow mode. Nothing was charged, and the numbers are those of a key never seen.
    Nothing,
}

impl Source {
    /// Returns true if the decision's numbers are those of the key. Otherwise they have no meaning and should not be shown.
    #[must_use]
    pub const fn has_numbers(self) -> bool {
        match self {
            Self::Own | Self::Common | Self::Remembered | Self::Share => true,
            Self::Unasked | Self::Nothing => false,
        }
    }
}

/// A decision, or what it takes to work out its numbers: most callers want to know only whether it was granted.
#[derive(Clone, Copy, Debug)]
enum LazyDecision {
    Decided(Decision),
    Weighed(PackedLimit, PackedDecision, Micros),
}

thread_local! {
    static ANSWERS: SpareBuffers<HitResult> = const { RefCell::new(Vec::new()) };
}

impl InlineItem for HitResult {
    type Few = [Self; 4];

    fn kept() -> &'static LocalKey<SpareBuffers<Self>> {
        &ANSWERS
    }
}

impl HitResult {
    pub(crate) const fn new(decision: Decision, mode: Mode, source: Source) -> Self {
        Self { said: LazyDecision::Decided(decision), mode, source }
    }

    /// The numbers of a key never seen, where nothing was asked.
    pub(crate) fn unknown(hit: &Hit<'_>, now: Micros, source: Source) -> Self {
        Self::new(tollgate_algorithms::peek(&hit.limit.limit, None, now, 0), hit.mode, source)
    }

    /// Of an enforced hit, whose numbers have not been worked out.
    const fn weighed(narrow: &PackedLimit, raw: PackedDecision, now: Micros) -> Self {
        Self { said: LazyDecision::Weighed(*narrow, raw, now), mode: Mode::Enforced, source: Source::Own }
    }

    /// The decision: outcome, remaining, reset.
    #[must_use]
    pub fn decision(&self) -> Decision {
        match &self.said {
            LazyDecision::Decided(decision) => *decision,
            LazyDecision::Weighed(narrow, raw, now) => narrow.decision(raw, *now),
        }
    }

    /// The instant of the decision on the limiter's clock: see [`Decision::at`].
    #[must_use]
    pub const fn at(&self) -> Micros {
        match &self.said {
            LazyDecision::Decided(decision) => decision.at,
            LazyDecision::Weighed(_, _, now) => *now,
        }
    }

    /// What was charged for a hit of this cost, of a verdict that was granted: so its other numbers need not be worked out for a receipt.
    pub(crate) const fn charged(&self, cost: u64) -> u64 {
        match &self.said {
            LazyDecision::Decided(decision) => decision.charged,
            // All of it, or nothing.
            LazyDecision::Weighed(_, raw, _) => {
                if raw.granted {
                    cost
                } else {
                    0
                }
            }
        }
    }

    /// Returns true if this hit was granted.
    #[must_use]
    #[inline]
    pub const fn is_granted(&self) -> bool {
        match &self.said {
            LazyDecision::Decided(decision) => decision.is_granted(),
            LazyDecision::Weighed(_, raw, _) => raw.granted,
        }
    }

    /// Whether the hit is enforced or in shadow mode.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns true if an overflow bucket decided the hit, because there was no room for the key: it may be refused
    /// for the usage of other new keys, but never gets more than its limit.
    #[must_use]
    pub const fn is_overflow(&self) -> bool {
        matches!(self.source, Source::Common)
    }

    /// What the hit was decided by.
    #[must_use]
    pub const fn source(&self) -> Source {
        self.source
    }
}

impl fmt::Debug for HitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Answer");
        shown.field("decision", &self.decision()).field("mode", &self.mode).field("source", &self.source);
        shown.finish()
    }
}

impl Verdict {
    /// The verdict on one enforced hit whose numbers have not been worked out.
    #[inline]
    pub(crate) fn of_weighed(narrow: &PackedLimit, raw: PackedDecision, now: Micros) -> Self {
        let kind = if raw.granted { Kind::Granted } else { Kind::Refused };
        Self { kind, answers: InlineList::of(HitResult::weighed(narrow, raw, now)) }
    }

    /// The same, written where it is wanted: a verdict has room for four answers, and is not moved for one.
    #[inline]
    pub(crate) fn write_weighed(
        into: &mut Option<Self>,
        (narrow, raw): (&PackedLimit, PackedDecision),
        now: Micros,
    ) {
        let verdict = into.insert(Self { kind: Kind::Refused, answers: InlineList::new() });
        if raw.granted {
            verdict.kind = Kind::Granted;
        }
        verdict.answers.push(HitResult::weighed(narrow, raw, now));
    }

    /// The verdict on several enforced hits whose numbers have not been worked out.
    #[inline(always)]
    pub(crate) fn of_weighed_all(hits: &[Hit<'_>], weighed: &FastBatch, now: Micros) -> Self {
        let [first, second, third, fourth] = weighed.raws;
        let answer = |hit: &Hit<'_>, raw| {
            let said = LazyDecision::Weighed(hit.limit.narrow?, raw, now);
            Some(HitResult { said, mode: Mode::Enforced, source: Source::Own })
        };
        // One after another and not in a loop: so the compiler sees how many there are, and leaves out those that nobody reads.
        let answers = || match hits {
            [a, b] => Some(InlineList::from([answer(a, first)?, answer(b, second)?])),
            [a, b, c] => Some(InlineList::from([answer(a, first)?, answer(b, second)?, answer(c, third)?])),
            [a, b, c, d] => {
                let (a, b) = (answer(a, first)?, answer(b, second)?);
                Some(InlineList::from([a, b, answer(c, third)?, answer(d, fourth)?]))
            }
            _ => None,
        };
        let kind = if weighed.granted { Kind::Granted } else { Kind::Refused };
        Self { kind, answers: answers().unwrap_or_default() }
    }

    /// The kind of the verdict.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns true if the request was granted.
    #[must_use]
    #[inline]
    pub const fn is_granted(&self) -> bool {
        matches!(self.kind, Kind::Granted)
    }

    /// The result of each hit, in order; empty if the verdict is unavailable.
    #[must_use]
    pub fn results(&self) -> &[HitResult] {
        &self.answers
    }

    /// The position of the refused hit: of several, the one with the longest wait.
    #[must_use]
    pub fn refused_by(&self) -> Option<usize> {
        let refused =
            |answer: &HitResult| answer.decision().retry().filter(|_| answer.mode == Mode::Enforced);
        let waits = self.answers.iter().enumerate().filter_map(|(hit, answer)| Some((hit, refused(answer)?)));
        // The first of those that wait equally long.
        waits.rev().max_by_key(|(_, retry)| *retry).map(|(hit, _)| hit)
    }

    /// When the same request would be granted, if nothing more is charged meanwhile: the longest wait of all its limits. `None`
    /// if it was granted or the verdict is unavailable.
    #[must_use]
    pub fn retry(&self) -> Option<Retry> {
        self.answers.get(self.refused_by()?)?.decision().retry()
    }

    /// How long to wait before the same request is granted, if nothing more is charged meanwhile. `None` if it was granted,
    /// if retrying will never succeed, or if there is no decision: [`kind`](Self::kind) and [`retry`](Self::retry) tell
    /// these apart.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self.retry()? {
            Retry::After(wait) => Some(wait.into()),
            Retry::Never => None,
        }
    }

    /// The least remaining quota of any enforced limit; `None` if there is none.
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        let enforced = self.answers.iter().filter(|answer| answer.mode == Mode::Enforced);
        enforced.map(|answer| answer.decision().remaining).min()
    }

    /// Returns true if an overflow bucket decided some hit, because the store is full.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.answers.iter().any(HitResult::is_overflow)
    }

    /// Returns true if some hit was not decided by its key's own state, or not at all: see [`Source`].
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        matches!(self.kind, Kind::Unavailable(_))
            || self.answers.iter().any(|answer| match answer.source {
                Source::Own | Source::Remembered | Source::Unasked => false,
                Source::Common | Source::Share | Source::Nothing => true,
            })
    }
}

/// One line for a person: `granted, 4 remaining`, or `refused, retry after 10 s`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.retry()) {
            (Kind::Granted, _) => match self.remaining() {
                Some(remaining) if remaining != Decision::UNLIMITED => {
                    write!(f, "granted, {remaining} remaining")
                }
                _ => f.write_str("granted"),
            },
            (Kind::Refused, Some(Retry::After(wait))) => write!(f, "refused, retry after {wait}"),
            (Kind::Refused, _) => f.write_str("refused, retrying will never succeed"),
            (Kind::Unavailable(why), _) => write!(f, "no decision: {why}"),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom => f.write_str("the store in memory is full"),
            Self::TooManyReservations => f.write_str("too many reservations are open"),
            Self::NoRandomness => f.write_str("the system returned no random bytes"),
            Self::Store(why) => write!(f, "the shared store failed ({why})"),
        }
    }
}
