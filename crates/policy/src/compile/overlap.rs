//! Whether one request could mean two operations, and whether that matters: with the same limits it does not.

use http::HeaderName;

use crate::compile::inherit::Operation;
use crate::compile::route_group::Group;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::ids::{LimitId, OperationId};
use crate::model::PolicyLimit;

/// What two templates that match the same path mean.
pub(crate) enum Overlap {
    /// No request can mean operations of both.
    Nothing,
    /// A request can mean these two, which have the same limits.
    Same(OperationId, OperationId),
    /// A request can mean two that have different limits.
    Differs,
}

/// What it means if a path matches the templates of both groups and neither is nearer.
pub(crate) fn between(
    one: &Group,
    other: &Group,
    (operations, limits): (&[Operation], &[PolicyLimit]),
) -> Overlap {
    let mut same = None;
    for mine in one.members.iter().map(|member| member.operation) {
        for theirs in other.members.iter().map(|member| member.operation) {
            let (Some(one), Some(other)) = (operations.get(mine.index()), operations.get(theirs.index()))
            else {
                continue;
            };
            if !methods_meet(one.method.as_deref(), other.method.as_deref()) {
                continue;
            }
            if !agree(one, other, limits) {
                return Overlap::Differs;
            }
            same = Some((mine, theirs));
        }
    }
    same.map_or(Overlap::Nothing, |(one, other)| Overlap::Same(one, other))
}

/// Whether one method can mean both. `HEAD` counts as `GET`.
fn methods_meet(one: Option<&str>, other: Option<&str>) -> bool {
    let plain = |method| if method == "HEAD" { "GET" } else { method };
    match (one, other) {
        (Some(one), Some(other)) => plain(one) == plain(other),
        (None, _) | (_, None) => true,
    }
}

/// Says that a request could mean both of a pair.
pub(crate) fn warn(
    (one, other): (OperationId, OperationId),
    operations: &[Operation],
    findings: &mut Findings,
) {
    let (Some(one), Some(other)) = (operations.get(one.index()), operations.get(other.index())) else {
        return;
    };
    let message = format!(
        "{} would meet requests that another operation meets too",
        tollgate_http::text::shown(&one.name())
    );
    let finding = Diagnostic::warning("shared-route", one.template_at, message);
    let named = format!("{} is written here", tollgate_http::text::shown(&other.name()));
    findings
        .push(finding.also(other.template_at, named).help("their limits are the same, so nothing is lost"));
}

/// Whether two operations limit requests alike: by the same limits at the same costs, or by limits that differ in nothing but
/// where they stand.
pub(crate) fn agree(one: &Operation, other: &Operation, limits: &[PolicyLimit]) -> bool {
    one.uses.len() == other.uses.len()
        && one.uses.iter().zip(&other.uses).all(|(one, other)| {
            one.cost == other.cost && one.when == other.when && alike(one.limit, other.limit, limits)
        })
}

fn alike(one: LimitId, other: LimitId, limits: &[PolicyLimit]) -> bool {
    if one == other {
        return true;
    }
    let (Some(one), Some(other)) = (limits.get(one.index()), limits.get(other.index())) else { return false };
    if one.named || other.named || one.tiers.len() != other.tiers.len() {
        return false;
    }
    let mut copy = other.clone();
    copy.name.clone_from(&one.name);
    copy.at.clone_from(&one.at);
    copy.place = one.place;
    for (copied, tier) in copy.tiers.iter_mut().zip(&one.tiers) {
        copied.place = tier.place;
    }
    copy == *one
}

/// That a request could mean two operations whose limits differ.
pub(crate) fn error(operation: &Operation, other: Option<&Operation>) -> Diagnostic {
    let message = format!(
        "{} would meet requests that another operation meets too",
        tollgate_http::text::shown(&operation.name())
    );
    let mut finding = Diagnostic::error("ambiguous", operation.template_at, message);
    if let Some(other) = other {
        finding = finding.also(
            other.template_at,
            format!("{} is written here", tollgate_http::text::shown(&other.name())),
        );
    }
    finding.help(match other {
        Some(other) if other.template == operation.template && operation.native => {
            "the route with more headers goes first, if it asks for all that the other asks for: make one of them ask for more"
        }
        Some(other) if same_text(other, operation) => {
            "names of parameters tell no paths apart: give both the same limits, or keep one of the two"
        }
        _ => {
            "a literal segment goes before a parameter, and more text before less: make one of them differ in that, or give \
             both the same limits"
        }
    })
}

/// That two operations differ in nothing but a query or fragment, and in their limits.
pub(crate) fn split(operation: &Operation, other: &Operation) -> Diagnostic {
    let (one, first) = (operation.name(), other.name());
    let message = format!(
        "{} and {} are one route with different limits, since what follows `?` or `#` is not matched",
        tollgate_http::text::shown(&one),
        tollgate_http::text::shown(&first)
    );
    Diagnostic::error("ambiguous", operation.template_at, message)
        .also(other.template_at, format!("{} is written here", tollgate_http::text::shown(&first)))
        .help("give both the same `x-rate-limit`, such as one on the path's tag or at the root")
}

/// Whether one request can meet both, and nothing says which of them it means.
pub(crate) fn confused(one: &Operation, other: &Operation) -> bool {
    if let (Some(method), Some(other)) = (&one.method, &other.method)
        && method != other
    {
        return false;
    }
    if one.host != other.host {
        // The more exact host goes first; two different ones of equal rank share no request.
        return false;
    }
    let contradict = one.headers.iter().any(|(name, mine)| match asked(other, name) {
        Some(Some(theirs)) => mine.as_ref().is_some_and(|mine| mine != theirs),
        _ => false,
    });
    if contradict {
        return false;
    }
    match (within(one, other), within(other, one)) {
        (true, true) => one.method.is_some() == other.method.is_some(),
        (false, false) => true,
        _ => false,
    }
}

/// What an operation asks of a header, if it asks for it at all.
fn asked<'a>(operation: &'a Operation, name: &HeaderName) -> Option<Option<&'a String>> {
    operation.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_ref())
}

/// Whether everything that one asks for is asked for by the other.
fn within(one: &Operation, other: &Operation) -> bool {
    one.headers.iter().all(|(name, mine)| {
        asked(other, name).is_some_and(|theirs| mine.is_none() || mine.as_ref() == theirs)
    })
}

/// Whether two templates differ in nothing but the names of their parameters.
fn same_text(one: &Operation, other: &Operation) -> bool {
    let plain = |operation: &Operation| {
        let parts = operation.template.split('{');
        parts.map(|part| part.split_once('}').map_or(part, |(_, after)| after).to_owned()).collect::<Vec<_>>()
    };
    plain(one) == plain(other)
}
