//! Pairs the operations of two policies by method, template, host and headers.

use std::collections::{BTreeSet, HashMap};

use tollgate_algorithms::Mode;

use super::Verdict;
use super::rows::Rows;
use crate::compile::inherit::Operation;
use crate::ids::{LimitId, OperationId};
use crate::model::Unmatched;
use crate::policy::Policy;
use crate::template::{Tail, Template};

/// What a limit applies to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LimitTarget {
    /// The operation of this pair.
    Pair(usize),
    /// Requests that match no operation.
    Root,
}

/// The operations of both policies: those of the new one in its order, then those that are gone.
pub(super) struct OperationPairs {
    pairs: Vec<(Option<OperationId>, Option<OperationId>)>,
}

impl OperationPairs {
    /// For each limit of the old policy, the pairs of operations that it meets.
    pub(super) fn met_before(&self, old: &Policy) -> Vec<Vec<LimitTarget>> {
        self.met(old, |(old, _)| *old)
    }

    /// The same for the new policy.
    pub(super) fn met_after(&self, new: &Policy) -> Vec<Vec<LimitTarget>> {
        self.met(new, |(_, new)| *new)
    }

    fn met(
        &self,
        policy: &Policy,
        side: impl Fn(&(Option<OperationId>, Option<OperationId>)) -> Option<OperationId>,
    ) -> Vec<Vec<LimitTarget>> {
        let mut met = vec![Vec::new(); policy.limits().len()];
        let mut note = |limits: &[LimitId], at: LimitTarget| {
            for limit in limits {
                if let Some(list) = met.get_mut(limit.index()) {
                    list.push(at);
                }
            }
        };
        for (at, pair) in self.pairs.iter().enumerate() {
            let operation = side(pair).and_then(|id| policy.operations().get(id.index()));
            note(operation.map_or(&[], |operation| &operation.limits), LimitTarget::Pair(at));
        }
        note(policy.default_limits(), LimitTarget::Root);
        met
    }
}

/// Finds for each operation what it was before.
pub(super) fn matched(old: &Policy, new: &Policy) -> OperationPairs {
    let mut before: HashMap<String, OperationId> = HashMap::new();
    for (id, operation) in OperationId::number(old.operations()) {
        before.entry(identity(operation)).or_insert(id);
    }
    let mut used = BTreeSet::new();
    let mut pairs = Vec::new();
    for (id, operation) in OperationId::number(new.operations()) {
        let was = before.get(&identity(operation)).copied().filter(|was| used.insert(*was));
        pairs.push((was, Some(id)));
    }
    let gone = OperationId::number(old.operations()).map(|(id, _)| id).filter(|id| !used.contains(id));
    pairs.extend(gone.map(|id| (Some(id), None)));
    OperationPairs { pairs }
}

/// What makes an operation the same one: method, template but for its parameters' names, host and headers.
fn identity(operation: &Operation) -> String {
    let shape = Template::parse(&operation.template, Tail::Allowed)
        .map_or_else(|_| operation.template.clone(), |template| template.shape().to_owned());
    let method = operation.method.as_deref().unwrap_or("*");
    format!("{method} {shape}{}", conditions(operation))
}

/// What an operation asks for besides: ` (host api.example.org, x-version: 2)`.
fn conditions(operation: &Operation) -> String {
    let host = operation.host.iter().map(|host| format!("host {host}"));
    let mut headers: Vec<String> = operation
        .headers
        .iter()
        .map(|(name, value)| {
            value.as_ref().map_or_else(|| name.to_string(), |value| format!("{name}: {value}"))
        })
        .collect();
    headers.sort();
    let all: Vec<String> = host.chain(headers).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

/// Compares every operation, and what no operation names.
pub(super) fn compare(matched: &OperationPairs, rows: &mut Rows<'_>) {
    let (old, new) = (rows.old, rows.new);
    // What is not forwarded is refused, whatever its limits are: there is nothing to it.
    let (before, after) = (forwarded(old).map(|_| &*old.root_uses), forwarded(new).map(|_| &*new.root_uses));
    if before.is_some() || after.is_some() {
        rows.operation(|| "what no operation names".to_owned(), before, after);
    }
    for (before, after) in &matched.pairs {
        let before = before.and_then(|id| old.operations().get(id.index()));
        let after = after.and_then(|id| new.operations().get(id.index()));
        let Some(operation) = after.or(before) else { continue };
        let name = || format!("{}{}", operation.name(), conditions(operation));
        let (before_uses, after_uses) = (before.map(|of| &*of.uses), after.map(|of| &*of.uses));
        rows.operation(name, before_uses, after_uses);
        // An operation that is new and free lets more through than before, unless its requests were forwarded freely
        // before. With `unmatched: reject` they were 404. One that is new and limited is only new. And the other way.
        match (before, after) {
            (None, Some(new_one)) if is_free(new, &new_one.limits) && was_held(old, new_one) => {
                rows.count(Verdict::Looser);
            }
            (Some(old_one), None) if is_free(old, &old_one.limits) && was_held(new, old_one) => {
                rows.count(Verdict::Tighter);
            }
            _ => {}
        }
    }
}

/// The limits of what no operation names, if it is forwarded.
fn forwarded(policy: &Policy) -> Option<&[LimitId]> {
    (policy.settings().unmatched == Unmatched::Forward).then(|| policy.default_limits())
}

/// Whether none of these limits is enforced.
fn is_free(policy: &Policy, limits: &[LimitId]) -> bool {
    let mut limits = limits.iter().filter_map(|id| policy.limits().get(id.index()));
    !limits.any(|limit| limit.mode == Mode::Enforced)
}

/// Whether a policy that does not have this operation limits or refuses its requests: by another operation that stands for
/// them too, such as `/reports/{id}` for `/reports/new`, or by what it does with what no operation names.
fn was_held(policy: &Policy, operation: &Operation) -> bool {
    let other = policy.router.find(&operation.template, |template| {
        let picks = policy.picks.get(template as usize)?;
        let mut others = picks.iter().filter_map(|pick| policy.operations().get(pick.operation.index()));
        others.find_map(|other| {
            let free = is_free(policy, &other.limits);
            // A free one stands for them if it takes all of them: else some may meet the next one.
            let all = other.host.is_none() && other.headers.is_empty() && takes(other, operation);
            let some = takes(other, operation) || operation.method.is_none();
            (if free { all } else { some }).then_some(!free)
        })
    });
    other.unwrap_or_else(|| forwarded(policy).is_none_or(|root| !is_free(policy, root)))
}

/// Whether the first takes the second's method. `HEAD` counts as `GET` where nothing else names it.
fn takes(one: &Operation, other: &Operation) -> bool {
    let as_get = one.method.as_deref() == Some("GET") && other.method.as_deref() == Some("HEAD");
    one.method.is_none() || one.method == other.method || as_get
}
