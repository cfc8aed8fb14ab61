//! The operations of one template: those that mean the same requests become one route, the others are put in order.

use std::collections::HashMap;

use crate::compile::inherit::Operation;
use crate::compile::openapi_path::matched_part;
use crate::compile::overlap::{agree, confused, error, split};
use crate::compile::suffix::Suffix;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::ids::OperationId;
use crate::model::PolicyLimit;
use crate::template::{Segment, Template};

/// A template and its operations.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) template: Template,
    pub(crate) members: Vec<Member>,
}

/// An operation of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) operation: OperationId,
    /// Which suffix the path must have, from 1; 0 if none.
    pub(crate) suffix: u16,
}

/// So many operations may one template have that are not one route: each is compared with each. A file with more is refused.
const COMPARED_MAX: usize = 1_000;
/// So many operations are named where many are one route.
const NAMED_MAX: usize = 3;

impl Group {
    pub(crate) fn new(template: Template, member: Member) -> Self {
        Self { template, members: vec![member] }
    }

    /// Adds an operation, unless it is there: two base paths may be the same.
    pub(crate) fn add(&mut self, member: Member) {
        if self.members.last() != Some(&member) {
            self.members.push(member);
        }
    }

    /// Whether the template ends in a parameter of several segments.
    pub(crate) fn is_tail(&self) -> bool {
        self.template.segments().last() == Some(&Segment::Tail)
    }

    /// The first of its operations.
    pub(crate) fn operation<'o>(&self, operations: &'o [Operation]) -> Option<&'o Operation> {
        operations.get(self.members.first()?.operation.index())
    }

    /// Makes one route of operations that nothing in a request's path, method, host or headers tells apart, if they have the
    /// same limits: with a warning. Where their limits differ, that is an error.
    pub(crate) fn unite(
        &mut self,
        operations: &mut [Operation],
        limits: &[PolicyLimit],
        findings: &mut Findings,
    ) {
        let mut kept: Vec<(Member, Vec<OperationId>)> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        for member in &self.members {
            let Some(one) = operations.get(member.operation.index()) else { continue };
            let at = *seen.entry(told_by(one, *member)).or_insert(kept.len());
            let Some((first, same)) = kept.get_mut(at) else {
                kept.push((*member, Vec::new()));
                continue;
            };
            let Some(first) = operations.get(first.operation.index()) else { continue };
            if agree(one, first, limits) {
                same.push(member.operation);
            } else {
                let cut = matched_part(&one.written) != one.written
                    || matched_part(&first.written) != first.written;
                findings.push(if cut { split(one, first) } else { error(one, Some(first)) });
            }
        }
        for (first, same) in &kept {
            share_keys(first.operation, same, operations);
            if let Some(finding) = shared(first.operation, same, operations) {
                findings.push(finding);
            }
        }
        self.members = kept.into_iter().map(|(member, _)| member).collect();
    }

    /// Puts those that ask for more first, and points at those that nothing tells apart.
    pub(crate) fn sort(&mut self, operations: &[Operation], suffixes: &[Suffix], findings: &mut Findings) {
        let of = |member: &Member| operations.get(member.operation.index());
        let suffix = |member: &Member| suffixes.get(usize::from(member.suffix).checked_sub(1)?);
        self.members.sort_by_key(|member| {
            of(member).map(|operation| {
                let host = operation.host.as_ref().map(|host| host.specificity());
                let suffix = suffix(member).map(Suffix::rank);
                std::cmp::Reverse((suffix, host, operation.headers.len(), operation.method.is_some()))
            })
        });
        if let Some(beyond) = self.members.get(COMPARED_MAX).and_then(of) {
            let message =
                format!("more than {COMPARED_MAX} routes have this path, which is too many to distinguish");
            findings.push(Diagnostic::error("too-many", beyond.template_at, message));
            return;
        }
        for (index, member) in self.members.iter().enumerate() {
            let Some(one) = of(member) else { continue };
            for next in self.members.iter().skip(index.saturating_add(1)) {
                let Some(other) = of(next) else { continue };
                let ends = match (suffix(member), suffix(next)) {
                    (None, None) => true,
                    (Some(one), Some(other)) => one.rank() == other.rank() && one.meets(other),
                    (Some(_), None) | (None, Some(_)) => false,
                };
                if ends && confused(one, other) {
                    let (first, second) = if one.place < other.place { (one, other) } else { (other, one) };
                    findings.push(error(second, Some(first)));
                }
            }
        }
    }
}

/// Everything in a request that tells an operation from others of its template.
fn told_by(operation: &Operation, member: Member) -> String {
    let mut headers = operation.headers.clone();
    headers.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
    format!("{:?} {} {:?} {headers:?}", operation.method, member.suffix, operation.host)
}

/// An API key that one of the operations reads is read for all of them: its own places first.
fn share_keys(first: OperationId, same: &[OperationId], operations: &mut [Operation]) {
    let (mut more, mut keyless) = (Vec::new(), true);
    for other in same.iter().filter_map(|id| operations.get(id.index())) {
        more.extend(other.api_key.iter().cloned());
        keyless &= other.keyless;
    }
    let Some(operation) = operations.get_mut(first.index()) else { return };
    for place in more {
        if !operation.api_key.contains(&place) {
            operation.api_key.push(place);
        }
    }
    operation.keyless &= keyless || same.is_empty();
}

/// Says that operations are one route, or that a part of a path tells nothing.
fn shared(first: OperationId, same: &[OperationId], operations: &[Operation]) -> Option<Diagnostic> {
    let one = operations.get(first.index())?;
    let all = || std::iter::once(&first).chain(same).filter_map(|id| operations.get(id.index()));
    let is_cut =
        all().any(|operation| !operation.native && matched_part(&operation.written) != operation.written);
    let name = tollgate_http::text::shown(&one.name());
    if same.is_empty() {
        if !is_cut {
            return None;
        }
        let message = format!("{name} is matched by its path alone, without what follows `?` or `#`");
        let finding = Diagnostic::warning("shared-route", one.template_at, message);
        return Some(finding.help("its limits hold for every request with this path, whatever its query"));
    }
    let message = match same.len() {
        1 => format!("{name} and another operation are one route, since nothing in a path tells them apart"),
        more => format!(
            "{name} and {more} more operations are one route, since nothing in a path tells them apart"
        ),
    };
    let mut finding = Diagnostic::warning("shared-route", one.template_at, message);
    for other in all().skip(1).take(NAMED_MAX) {
        let named = format!("{} is written here", tollgate_http::text::shown(&other.name()));
        finding = finding.also(other.template_at, named);
    }
    Some(finding.help(if is_cut {
        "what follows `?` or `#` is not matched; their limits are the same, so nothing is lost"
    } else {
        "names of parameters tell no paths apart; their limits are the same, so nothing is lost"
    }))
}
