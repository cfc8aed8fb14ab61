//! Whether one limit is at least as strict as another for every client: for limits that documents must not loosen.

use tollgate_algorithms::Mode;

use super::tier::{Defaults, tiers};
use super::verdict::{Verdict, costs, impacts, in_requests, numbers};
use super::words;
use crate::authoring::impact::Impact;
use crate::model::{Cost, PolicyLimit};
use crate::numbers::Numbers;

/// In which respect `limit` is looser than `required`, as the end of a sentence; `None` if it is in none.
pub(crate) fn looser_than(required: &PolicyLimit, limit: &PolicyLimit) -> Option<String> {
    let is_looser = |verdict| matches!(verdict, Verdict::Looser | Verdict::Mixed);
    if limit.mode != Mode::Enforced && required.mode == Mode::Enforced {
        return Some("it is in shadow mode and refuses no request".into());
    }
    if limit.key != required.key {
        return Some("it has another key, so it limits other clients together".into());
    }
    for tier in tiers([required, limit].into_iter(), Defaults::default()) {
        let (was, is) = (tier.before(required), tier.after(limit));
        if is_looser(in_requests_or_cost((was, &required.cost), (is, &limit.cost))) {
            let whose = tier.name.map_or_else(String::new, |name| format!("for the tier `{name}`, "));
            return Some(format!("{whose}{}{}, more than {was}{}", is, at(&limit.cost), at(&required.cost)));
        }
    }
    if is_looser(words::verdict(required, limit)) {
        let changes = words::others(required, limit);
        let field = changes.iter().find_map(|change| match change {
            super::Change::Other { field, before, after } => {
                Some(format!("{field} is {after}, not {before}"))
            }
            super::Change::Same
            | super::Change::Looser
            | super::Change::Tighter
            | super::Change::Mixed
            | super::Change::Added
            | super::Change::Removed
            | super::Change::Renamed { .. }
            | super::Change::OtherAlgorithm { .. }
            | super::Change::OtherKey
            | super::Change::ModeChanged { .. }
            | super::Change::CostChanged => None,
        });
        return Some(field.unwrap_or_else(|| "it is counted otherwise".into()));
    }
    None
}

/// In which respect a use of a limit is cheaper than `required`; `None` if it is not.
pub(crate) fn cheaper_than(required: &Cost, cost: &Cost) -> bool {
    matches!(costs(required, cost), Verdict::Looser | Verdict::Mixed)
}

/// How numbers compare: in requests where every request has the same cost, else the numbers and the costs for themselves.
fn in_requests_or_cost((was, old_cost): (&Numbers, &Cost), (is, new_cost): (&Numbers, &Cost)) -> Verdict {
    match (Impact::of(was), Impact::of(is), old_cost, new_cost) {
        (Some(was), Some(is), Cost::Fixed(_), Cost::Fixed(_)) => {
            impacts(&in_requests(was, old_cost), &in_requests(is, new_cost))
        }
        _ => numbers(was, is).and(costs(old_cost, new_cost)),
    }
}

fn at(cost: &Cost) -> String {
    match cost {
        Cost::Fixed(1) => String::new(),
        Cost::Fixed(cost) => format!(" at a cost of {cost}"),
        Cost::Asked { .. } | Cost::Reported { .. } | Cost::Operations { .. } => {
            " at a cost that varies".into()
        }
    }
}
