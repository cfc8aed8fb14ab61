//! Combines all enforced limits of an operation, before and after. Limits with different keys bound different things.

use tollgate_algorithms::Mode;

use super::limits;
use super::tier::Tier;
use super::verdict::{UNLIMITED, Verdict, impacts, in_requests, least};
use super::words;
use crate::authoring::impact::Impact;
use crate::model::{Condition, ConsumerKey, Cost, PolicyLimit};
use crate::numbers::Numbers;

/// One limit at one operation. At least one side is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitPair<'a> {
    /// Which pair of limits it is.
    pub(super) pair: usize,
    /// Under which condition it applies.
    pub(super) when: Option<&'a Condition>,
    /// As it was there.
    pub(super) old: Option<&'a PolicyLimit>,
    /// As it is there.
    pub(super) new: Option<&'a PolicyLimit>,
}

/// In each respect the least that was.
pub(super) fn before(meetings: &[LimitPair<'_>], tier: Tier<'_>) -> Impact {
    together(meetings.iter().filter_map(|meeting| meeting.old), |limit| tier.before(limit))
}

/// In each respect the least that is.
pub(super) fn after(meetings: &[LimitPair<'_>], tier: Tier<'_>) -> Impact {
    together(meetings.iter().filter_map(|meeting| meeting.new), |limit| tier.after(limit))
}

fn together<'a>(
    limits: impl Iterator<Item = &'a PolicyLimit>,
    numbers: impl Fn(&'a PolicyLimit) -> &'a Numbers,
) -> Impact {
    let enforced = limits.filter(|limit| limit.mode == Mode::Enforced);
    let meanings = enforced.filter_map(|limit| Some(in_requests(Impact::of(numbers(limit))?, &limit.cost)));
    meanings.fold(UNLIMITED, least)
}

/// All in all. Limits of one key are seen together; what one key gains does not make up for what another loses.
pub(super) fn verdict(meetings: &[LimitPair<'_>], tier: Tier<'_>) -> Verdict {
    let mut keys: Vec<&ConsumerKey> = Vec::new();
    for limit in meetings.iter().flat_map(|meeting| [meeting.old, meeting.new]).flatten() {
        if !keys.contains(&&limit.key) {
            keys.push(&limit.key);
        }
    }
    keys.into_iter().fold(Verdict::Same, |all, key| all.and(of_key(meetings, key, tier)))
}

fn of_key(meetings: &[LimitPair<'_>], key: &ConsumerKey, tier: Tier<'_>) -> Verdict {
    let side = |limit: Option<&'_ PolicyLimit>| limit.is_some_and(|limit| limit.key == *key);
    let old = meetings.iter().filter(|meeting| side(meeting.old));
    let new = meetings.iter().filter(|meeting| side(meeting.new));
    let was = together(old.filter_map(|meeting| meeting.old), |limit| tier.before(limit));
    let is = together(new.filter_map(|meeting| meeting.new), |limit| tier.after(limit));
    let here = || meetings.iter().filter(|meeting| side(meeting.old) || side(meeting.new));
    match impacts(&was, &is) {
        // The least is as it was: then a limit that is not the least decides, or one that came or went.
        Verdict::Same => here().fold(Verdict::Same, |all, meeting| all.and(single(meeting, tier))),
        seen @ (Verdict::Looser | Verdict::Tighter | Verdict::Mixed) => {
            here().fold(seen, |all, meeting| all.and(unseen(meeting, tier)))
        }
    }
}

/// What one limit means here by itself.
fn single(meeting: &LimitPair<'_>, tier: Tier<'_>) -> Verdict {
    match (meeting.old, meeting.new) {
        (Some(old), Some(new)) => limits::for_tier(old, new, tier).1,
        _ => super::rows::came_or_went(meeting),
    }
}

/// What the least of all numbers does not show: costs that vary, how many at the same time, and words such as `counted`.
fn unseen(meeting: &LimitPair<'_>, tier: Tier<'_>) -> Verdict {
    let shown = |numbers: &Numbers| Impact::of(numbers).is_some();
    match (meeting.old, meeting.new) {
        (Some(old), Some(new)) if old.mode == Mode::Enforced && new.mode == Mode::Enforced => {
            let fixed = matches!((&old.cost, &new.cost), (Cost::Fixed(_), Cost::Fixed(_)));
            let cost = if fixed { Verdict::Same } else { super::verdict::costs(&old.cost, &new.cost) };
            let (was, is) = (tier.before(old), tier.after(new));
            let numbers =
                if shown(was) && shown(is) { Verdict::Same } else { super::verdict::numbers(was, is) };
            words::verdict(old, new).and(cost).and(numbers)
        }
        (Some(old), None) if !shown(tier.before(old)) => super::rows::came_or_went(meeting),
        (None, Some(new)) if !shown(tier.after(new)) => super::rows::came_or_went(meeting),
        _ => Verdict::Same,
    }
}
