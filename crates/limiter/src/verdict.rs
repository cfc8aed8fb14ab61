//! The result of a request: granted, refused or unavailable, with the decision of each limit.

use std::cell::RefCell;
use std::fmt;
use std::thread::LocalKey;
use std::time::Duration;

use tollgate_algorithms::{Decision, Micros, Mode, Retry};

use crate::limit::Hit;
use crate::listing::{Kept, Listed, Listing};
use crate::store::memory::rates::{Narrow, Raw};
use crate::store::memory::words::Weighed;

/// The answer to the hits of one request.
#[derive(Clone, Debug)]
#[must_use = "whether it was granted is the point"]
pub struct Verdict {
    pub(crate) kind: Kind,
    pub(crate) answers: Answers,
}

/// What the limits of one request say.
pub(crate) type Answers = Listing<Answer>;

/// Granted, refused, or neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Every enforced hit fits, and all of them were charged.
    Granted,
    /// An enforced hit does not fit, and nothing was charged.
    Refused,
    /// It cannot be told: nothing was charged, and it is not a grant. What to do then is the caller's rule.
    Unavailable(Unavailable),
}

/// Why it cannot be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unavailable {
    /// The store is full, and there are so many limits that new keys cannot even share a cell.
    NoRoom,
    /// As many reservations are open as there may be.
    TooManyReservations,
    /// The system gives no random bytes, without which a reservation's name could be guessed.
    NoRandomness,
    /// The shared store gives no decision, and a limit says to deny then. This is why, by a name of a fixed set.
    Store(&'static str),
}

/// What one limit says to its hit.
#[derive(Clone, Copy)]
pub struct Answer {
    said: Said,
    mode: Mode,
    source: Source,
}

/// By what a hit was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Source {
    /// By the key's own state.
    Own,
    /// By a cell that new keys have in common, because there was no room for the key: it may be refused for what others
    /// have spent, and is never granted more than its own limit.
    Common,
    /// By the shared store, a while ago: it refused, and that still holds. See [`Hit::for_good`].
    Remembered,
    /// Not at all: another limit of the request refuses already, so that the shared store was not asked. Its numbers are those
    /// of a key never seen, and mean nothing.
    Unasked,
    /// By this process alone, with its share of the limit, because the shared store gave no decision.
    Share,
    /// By nothing: the shared store gave no decision, and the limit says to allow then; or there is no room for the key, not even in a
    /// cell in common, and it is only counted. Nothing was charged, and its numbers are those of a key never seen.
    Nothing,
}

impl Source {
    /// Whether the numbers of the decision are the key's. If they are not, they mean nothing, and nobody should be told.
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
enum Said {
    Decided(Decision),
    Weighed(Narrow, Raw, Micros),
}

thread_local! {
    static ANSWERS: Kept<Answer> = const { RefCell::new(Vec::new()) };
}

impl Listed for Answer {
    type Few = [Self; 4];

    fn kept() -> &'static LocalKey<Kept<Self>> {
        &ANSWERS
    }
}

impl Answer {
    pub(crate) const fn new(decision: Decision, mode: Mode, source: Source) -> Self {
        Self { said: Said::Decided(decision), mode, source }
    }

    /// The numbers of a key never seen, where nothing was asked.
    pub(crate) fn unknown(hit: &Hit<'_>, now: Micros, source: Source) -> Self {
        Self::new(tollgate_algorithms::peek(&hit.limit.limit, None, now, 0), hit.mode, source)
    }

    /// Of an enforced hit, whose numbers have not been worked out.
    const fn weighed(narrow: &Narrow, raw: Raw, now: Micros) -> Self {
        Self { said: Said::Weighed(*narrow, raw, now), mode: Mode::Enforced, source: Source::Own }
    }

    /// The decision: outcome, remaining, reset.
    #[must_use]
    pub fn decision(&self) -> Decision {
        match &self.said {
            Said::Decided(decision) => *decision,
            Said::Weighed(narrow, raw, now) => narrow.decision(raw, *now),
        }
    }

    /// The instant of the limiter's clock at which it was decided: see [`Decision::at`].
    #[must_use]
    pub const fn at(&self) -> Micros {
        match &self.said {
            Said::Decided(decision) => decision.at,
            Said::Weighed(_, _, now) => *now,
        }
    }

    /// What was charged for a hit of this cost, of a verdict that was granted: so its other numbers need not be worked out for a receipt.
    pub(crate) const fn charged(&self, cost: u64) -> u64 {
        match &self.said {
            Said::Decided(decision) => decision.charged,
            // All of it, or nothing.
            Said::Weighed(_, raw, _) => {
                if raw.granted {
                    cost
                } else {
                    0
                }
            }
        }
    }

    /// Whether this limit would let the request go on.
    #[must_use]
    #[inline]
    pub const fn granted(&self) -> bool {
        match &self.said {
            Said::Decided(decision) => decision.granted(),
            Said::Weighed(_, raw, _) => raw.granted,
        }
    }

    /// Whether a refusal counts.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether there was no room for the key, so that it was decided by a cell that new keys have in common: it may be refused
    /// for what others have spent, and is never granted more than its own limit.
    #[must_use]
    pub const fn shared(&self) -> bool {
        matches!(self.source, Source::Common)
    }

    /// By what it was decided.
    #[must_use]
    pub const fn source(&self) -> Source {
        self.source
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Answer");
        shown.field("decision", &self.decision()).field("mode", &self.mode).field("source", &self.source);
        shown.finish()
    }
}

impl Verdict {
    /// The verdict on one enforced hit whose numbers have not been worked out.
    #[inline]
    pub(crate) fn of_weighed(narrow: &Narrow, raw: Raw, now: Micros) -> Self {
        let kind = if raw.granted { Kind::Granted } else { Kind::Refused };
        Self { kind, answers: Listing::of(Answer::weighed(narrow, raw, now)) }
    }

    /// The same, written where it is wanted: a verdict has room for four answers, and is not moved for one.
    #[inline]
    pub(crate) fn write_weighed(into: &mut Option<Self>, (narrow, raw): (&Narrow, Raw), now: Micros) {
        let verdict = into.insert(Self { kind: Kind::Refused, answers: Listing::new() });
        if raw.granted {
            verdict.kind = Kind::Granted;
        }
        verdict.answers.push(Answer::weighed(narrow, raw, now));
    }

    /// The verdict on several enforced hits whose numbers have not been worked out.
    #[inline(always)]
    pub(crate) fn of_weighed_all(hits: &[Hit<'_>], weighed: &Weighed, now: Micros) -> Self {
        let [first, second, third, fourth] = weighed.raws;
        let answer = |hit: &Hit<'_>, raw| {
            let said = Said::Weighed(hit.limit.narrow?, raw, now);
            Some(Answer { said, mode: Mode::Enforced, source: Source::Own })
        };
        // One after another and not in a loop: so the compiler sees how many there are, and leaves out those that nobody reads.
        let answers = || match hits {
            [a, b] => Some(Listing::from([answer(a, first)?, answer(b, second)?])),
            [a, b, c] => Some(Listing::from([answer(a, first)?, answer(b, second)?, answer(c, third)?])),
            [a, b, c, d] => {
                let (a, b) = (answer(a, first)?, answer(b, second)?);
                Some(Listing::from([a, b, answer(c, third)?, answer(d, fourth)?]))
            }
            _ => None,
        };
        let kind = if weighed.granted { Kind::Granted } else { Kind::Refused };
        Self { kind, answers: answers().unwrap_or_default() }
    }

    /// Granted, refused, or neither.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the request may go on.
    #[must_use]
    #[inline]
    pub const fn granted(&self) -> bool {
        matches!(self.kind, Kind::Granted)
    }

    /// What each limit says, in the order of the hits; nothing if it cannot be told.
    #[must_use]
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Which hit was refused: of several, the one that has to wait longest.
    #[must_use]
    pub fn refused_by(&self) -> Option<usize> {
        let refused = |answer: &Answer| answer.decision().retry().filter(|_| answer.mode == Mode::Enforced);
        let waits = self.answers.iter().enumerate().filter_map(|(hit, answer)| Some((hit, refused(answer)?)));
        // The first of those that wait equally long.
        waits.rev().max_by_key(|(_, retry)| *retry).map(|(hit, _)| hit)
    }

    /// When the same request is granted, if nothing more is charged meanwhile: the longest wait of all its limits. `None`
    /// if it was granted, or if it cannot be told.
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

    /// The least that any enforced limit has left; `None` if there is none.
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        let enforced = self.answers.iter().filter(|answer| answer.mode == Mode::Enforced);
        enforced.map(|answer| answer.decision().remaining).min()
    }

    /// Whether some hit was decided by a cell that new keys have in common, because the store is full.
    #[must_use]
    pub fn shared(&self) -> bool {
        self.answers.iter().any(Answer::shared)
    }

    /// Whether some hit was decided by something else than its key's own state, or cannot be decided: see [`Source`].
    #[must_use]
    pub fn degraded(&self) -> bool {
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
