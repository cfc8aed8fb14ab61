//! The state of keys after a charge, as far as the reply tells it, for the refusal cache.

use smallvec::SmallVec;
use tollgate_algorithms::{Change, Hit as CoreHit, Micros, State, Target, decide, decide_batch};

use super::BatchReplyForm;
use super::batch::KeyReplies;
use crate::encode::few;
use crate::script_targets::Targets;
use crate::state::{number, told};
use crate::{Hit, Value};

/// How a key stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ReportedState {
    /// That is not known: several hits are on one key, or a list has been added to, of which not all is told.
    Untold,
    /// As one that has never been seen, to limits of the algorithm that was asked.
    Absent,
    /// Like this. Of a list only what matters for the cost that was asked.
    State(State),
}

/// When it was decided, by the server's clock, and how the key of each hit stands then.
pub(crate) type ReportedStates = (Micros, SmallVec<[ReportedState; 2]>);

/// When it was decided, by the server's clock, and what else is told.
fn head(value: &Value) -> Option<(Micros, &[u8])> {
    let Value::BulkString(bytes) = value else { return None };
    let mut rest = bytes.as_slice();
    let now = Micros::new(number::<7>(&mut rest)? >> 1);
    Some((now, rest))
}

/// When an answer was decided that has been [read](crate::Reply::read) without an error.
pub(crate) fn decided_at(value: &Value) -> Option<Micros> {
    head(value).map(|(now, _)| now)
}

/// Reads how keys stand from an answer that has been [read](crate::Reply::read) without an error.
pub(crate) fn stands(hits: &[Hit<'_>], value: &Value) -> Option<ReportedStates> {
    let (now, rest) = head(value)?;
    if let [hit] = hits {
        let state = if rest.is_empty() { None } else { Some(told(hit.limit.algorithm()?, rest)?) };
        let (change, _) = decide(hit.limit, state.as_ref(), now, hit.cost);
        return Some((now, [changed(state, change)].into_iter().collect()));
    }
    let targets = Targets::of(hits);
    let driver = if few(hits).is_some() { BatchReplyForm::Few } else { BatchReplyForm::Batch };
    let mut known = KeyReplies::read(rest, driver, targets.keys())?;
    let mut states: SmallVec<[Option<State>; 4]> = SmallVec::new();
    for target in targets.iter() {
        states.push(if target.name.is_some() { known.take(target.limit)?.ok()?.0 } else { None });
    }
    let standing: SmallVec<[Target<'_>; 4]> = targets
        .iter()
        .zip(&states)
        .map(|(target, state)| Target { limit: target.limit, state: state.as_ref() })
        .collect();
    let place = |hit: &Hit<'_>| targets.place_of(hit).unwrap_or(usize::MAX);
    let core: SmallVec<[CoreHit; 4]> =
        hits.iter().map(|hit| CoreHit { target: place(hit), cost: hit.cost, mode: hit.mode }).collect();
    let mut changes = decide_batch(&standing, &core, now).changes;
    let mut after = |hit: &Hit<'_>| {
        let on = place(hit);
        if hits.iter().filter(|other| place(other) == on).count() > 1 {
            return ReportedState::Untold;
        }
        let change = changes.iter().position(|(target, _)| *target == on);
        let change = change.map_or(Change::Keep, |at| changes.swap_remove(at).1);
        changed(states.get(on).cloned().flatten(), change)
    };
    Some((now, hits.iter().map(&mut after).collect()))
}

fn changed(state: Option<State>, change: Change) -> ReportedState {
    match change {
        Change::Keep => state.map_or(ReportedState::Absent, ReportedState::State),
        Change::Replace(state) => ReportedState::State(state),
        Change::Forget => ReportedState::Absent,
        Change::EditBuckets(_) | Change::EditLog(_) => ReportedState::Untold,
    }
}
