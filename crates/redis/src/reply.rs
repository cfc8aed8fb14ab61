//! Decodes the replies of scripts into decisions, which the algorithms compute from the returned state.
//!
//! A script says when it decided, whether it granted, and the state as it was before. The core decides the same question on
//! that state, and so all that is reported comes from one place; and if the two do not agree, that is an error.

mod batch;
pub(crate) mod reported_state;
#[cfg(test)]
mod tests;

use smallvec::SmallVec;
use tollgate_algorithms::{
    Change, Decision, Limit, Micros, Mode, Outcome, State, decide, decide_up_to, headroom, refund_part,
    settle,
};

use batch::BatchReplyForm;

use crate::encode::{credible, few};
use crate::script_targets::{Target, Targets};
use crate::state::{number, told};
use crate::{Command, Hit, KeyName, StateKind, StoreError, Value};

/// The answer to an [`Command`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// To all but a reset.
    Decided {
        /// Whether all enforced hits fit (for a peek: would fit).
        granted: bool,
        /// One for each hit, in their order. For a peek, with the numbers of the uncharged keys.
        decisions: SmallVec<[Decision; 2]>,
    },
    /// To a reset.
    Reset {
        /// Whether there was something to forget.
        was_there: bool,
    },
}

impl Reply {
    /// Reads what the server answered to the call of a question.
    ///
    /// # Errors
    /// When a key holds something that is not ours, or when the answer is not what the core says: then there is no decision,
    /// though the script may have charged.
    pub fn read(ask: &Command<'_>, value: &Value) -> Result<Self, StoreError> {
        if let Value::Int(place) = value {
            return Err(foreign(ask, *place));
        }
        let Value::BulkString(bytes) = value else {
            return Err(StoreError::Disagrees(format!("expected a string, got {value:?}")));
        };
        Answer::read(ask, bytes).ok_or_else(|| StoreError::Disagrees("it is truncated".into()))?
    }
}

impl Reply {
    /// What a refund gave back, in units of cost, according to the same answer that [`read`](Self::read) reads; nothing if it
    /// is none of a refund.
    #[must_use]
    pub fn refunded(ask: &Command<'_>, value: &Value) -> u64 {
        let (Command::Refund(hit, receipt, _), Value::BulkString(bytes)) = (ask, value) else { return 0 };
        if *hit.limit == Limit::Unlimited || receipt.limit != *hit.limit {
            return 0;
        }
        refunded(ask, hit, bytes).unwrap_or(0)
    }
}

/// What the answer's bytes say of a refund under the receipt's own numbers.
fn refunded(ask: &Command<'_>, hit: &Hit<'_>, mut bytes: &[u8]) -> Option<u64> {
    let now = Micros::new(number::<7>(&mut bytes)? >> 1);
    let (how, _) = (number::<1>(&mut bytes)?, number::<7>(&mut bytes)?);
    let mut state = state_of(hit.limit, bytes).ok().filter(|_| how != VOID)?;
    let before = headroom(hit.limit, state.as_ref(), now);
    let (change, _) = asked(ask, hit, state.as_ref(), now)?;
    change.apply(&mut state);
    Some(headroom(hit.limit, state.as_ref(), now).saturating_sub(before))
}

/// What scripts add to a key's place if it holds a state of another kind: `ANOTHER_KIND` in `head.lua`.
const ANOTHER_KIND: i64 = 65_536;

/// A key holds something that its script cannot read; the answer says which, by its place from -1 downwards.
fn foreign(ask: &Command<'_>, answer: i64) -> StoreError {
    let place = answer.saturating_neg().saturating_sub(1);
    let is_of_another_kind = place >= ANOTHER_KIND;
    let place = if is_of_another_kind { place.saturating_sub(ANOTHER_KIND) } else { place };
    let key = usize::try_from(place).ok().and_then(|place| ask.keys().get(place).copied());
    match key {
        Some(key) if is_of_another_kind => StoreError::ForeignKind(format!(
            "`{key}` holds the state of another kind of algorithm than its name says. Tollgate never writes that: \
             something has renamed or copied a key. Delete it: its budget begins afresh"
        )),
        Some(key) => StoreError::Foreign(format!(
            "`{key}` was not written by this version of Tollgate. If nothing else uses that name, delete it: \
             its budget begins afresh. If something does, give Tollgate a database of its own"
        )),
        None => StoreError::Disagrees(format!("there is no key {place}")),
    }
}

impl Command<'_> {
    /// The keys, in the order in which they are sent.
    fn keys(&self) -> SmallVec<[KeyName; 4]> {
        match self {
            Self::Charge(hits) | Self::Peek(hits) => {
                Targets::of(hits).iter().filter_map(Target::key).collect()
            }
            Self::UpTo(hit) | Self::Settle(hit) | Self::Refund(hit, ..) => hit.key().into_iter().collect(),
            Self::Reset(name) => StateKind::ALL.iter().map(|kind| name.of(*kind)).collect(),
        }
    }
}

/// The head of an answer, and what comes after it.
struct Answer<'b> {
    now: Micros,
    granted: bool,
    rest: &'b [u8],
}

type Read = Result<Reply, StoreError>;

impl<'b> Answer<'b> {
    /// `None` if it is shorter than it must be.
    fn read(ask: &Command<'_>, mut bytes: &'b [u8]) -> Option<Read> {
        let head = number::<7>(&mut bytes)?;
        let answer = Answer { now: Micros::new(head >> 1), granted: head & 1 == 1, rest: bytes };
        match ask {
            Command::Charge([hit]) if *hit.limit != Limit::Unlimited => Some(answer.charge(hit)),
            Command::Charge(hits) if few(hits).is_some() => answer.batch(hits, BatchReplyForm::Few),
            Command::Charge(hits) => answer.batch(hits, BatchReplyForm::Batch),
            Command::Peek(hits) => answer.batch(hits, BatchReplyForm::Peek),
            Command::UpTo(hit) | Command::Settle(hit) if *hit.limit == Limit::Unlimited => {
                answer.unlimited(ask, hit)
            }
            Command::Refund(hit, ..) if *hit.limit == Limit::Unlimited => answer.unlimited(ask, hit),
            Command::Refund(hit, receipt, _) if receipt.limit != *hit.limit => {
                answer.batch(&[Hit { cost: 0, ..*hit }], BatchReplyForm::Peek)
            }
            Command::UpTo(hit) | Command::Settle(hit) | Command::Refund(hit, ..) => answer.verb(ask, hit),
            Command::Reset(_) => Some(Ok(Reply::Reset { was_there: answer.granted })),
        }
    }

    /// One hit on one key.
    fn charge(&self, hit: &Hit<'_>) -> Read {
        let state = state_of(hit.limit, self.rest)?;
        let (_, decision) = decide(hit.limit, state.as_ref(), self.now, hit.cost);
        agree(decision.is_granted() == self.granted, hit.limit, &decision)?;
        let granted = hit.mode == Mode::Shadow || decision.is_granted();
        Ok(Reply::Decided { granted, decisions: [decision].into_iter().collect() })
    }

    fn unlimited(&self, ask: &Command<'_>, hit: &Hit<'_>) -> Option<Read> {
        let (_, decision) = asked(ask, hit, None, self.now)?;
        Some(Ok(Reply::Decided { granted: true, decisions: [decision].into_iter().collect() }))
    }

    fn verb(mut self, ask: &Command<'_>, hit: &Hit<'_>) -> Option<Read> {
        let (how, charged) = (number::<1>(&mut self.rest)?, number::<7>(&mut self.rest)?);
        let state = match state_of(hit.limit, self.rest) {
            Ok(state) => state,
            Err(error) => return Some(Err(error)),
        };
        let (change, decision) = match (ask, how) {
            (Command::Settle(_), JOINED) => return Some(self.joined(hit, charged)),
            (Command::Refund(..), VOID) => (Change::Keep, decide(hit.limit, state.as_ref(), self.now, 0).1),
            _ => asked(ask, hit, state.as_ref(), self.now)?,
        };
        let is_alike = if matches!(ask, Command::Refund(..)) {
            self.granted == (change != Change::Keep)
        } else {
            self.granted == decision.is_granted() && charged == decision.charged
        };
        let read = agree(is_alike, hit.limit, &decision);
        let granted = decision.is_granted();
        Some(read.map(|()| Reply::Decided { granted, decisions: [decision].into_iter().collect() }))
    }

    /// A cost after the fact, on a key that was charged by other numbers since. What it leaves by those nobody knows here: it is told
    /// what was charged, and nothing that remains.
    fn joined(&self, hit: &Hit<'_>, charged: u64) -> Read {
        let (outcome, limit) = (Outcome::Granted, hit.limit.capacity());
        let decision =
            Decision { outcome, charged, limit, remaining: 0, reset_after: Micros::ZERO, at: self.now };
        agree(self.granted && charged <= hit.cost, hit.limit, &decision)?;
        Ok(Reply::Decided { granted: true, decisions: [decision].into_iter().collect() })
    }
}

/// What a script says of a refund if the receipt is void: the key was charged by other numbers since, or has begun anew.
const VOID: u64 = 1;

/// What it says of a cost after the fact that has joined what was owed under other numbers.
const JOINED: u64 = 2;

/// A verb of one key, as the core answers it.
fn asked(ask: &Command<'_>, hit: &Hit<'_>, state: Option<&State>, now: Micros) -> Option<(Change, Decision)> {
    match ask {
        Command::UpTo(_) => Some(decide_up_to(hit.limit, state, now, hit.cost)),
        Command::Settle(_) => Some(settle(hit.limit, state, now, hit.cost)),
        Command::Refund(_, receipt, part) => {
            Some(refund_part(hit.limit, state, now, &credible(receipt), *part))
        }
        Command::Charge(_) | Command::Peek(_) | Command::Reset(_) => None,
    }
}

/// What a script tells of a state under a limit. A key that is not there is told in no bytes.
fn state_of(limit: &Limit, bytes: &[u8]) -> Result<Option<State>, StoreError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let not_ours = || StoreError::Disagrees(format!("it reports a state of {} bytes", bytes.len()));
    limit.algorithm().and_then(|algorithm| told(algorithm, bytes)).map(Some).ok_or_else(not_ours)
}

fn agree(is_alike: bool, limit: &Limit, decision: &Decision) -> Result<(), StoreError> {
    if is_alike {
        return Ok(());
    }
    Err(StoreError::Disagrees(format!("under {limit}, the core says {decision:?}")))
}
