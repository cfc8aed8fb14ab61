//! Which operation a request can mean: templates in a router, and no two operations that would mean the same request.

use std::collections::{HashMap, HashSet};

use crate::compile::inherit::Operation;
use crate::compile::route_group::{Group, Member};
use crate::compile::suffix::Suffix;
use crate::compile::{openapi_path, overlap};
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::ids::OperationId;
use crate::model::{PolicyLimit, Unmatched};
use crate::parse::settings::Settings;
use crate::router::{LenientSearch, Router, RouterBuilder, RouterError};
use crate::template::{Tail, Template, TemplateError};

/// Everything that matching needs.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) operations: Vec<Operation>,
    pub(crate) router: Router,
    /// The operations of each template.
    pub(crate) picks: Vec<Candidates>,
    /// What paths must end with behind a tail.
    pub(crate) suffixes: Vec<Suffix>,
}

/// An operation as a request looks for it: what most requests need to know, close together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) operation: OperationId,
    pub(crate) method: MethodCode,
    /// Whether it asks for a host or for headers, or for an end of the path.
    pub(crate) asks: bool,
    /// Whether its template ends in `{rest*}`.
    pub(crate) tail: bool,
    /// Which of the suffixes the path must have, from 1; 0 if it may end in any way.
    pub(crate) suffix: u16,
}

/// The operations of one template. Most have one.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    first: Candidate,
    more: Box<[Candidate]>,
}

impl Candidates {
    /// The only one; `None` if there are several.
    pub(crate) fn only(&self) -> Option<&Candidate> {
        self.more.is_empty().then_some(&self.first)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Candidate> {
        std::iter::once(&self.first).chain(&self.more)
    }
}

/// A method in one byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MethodCode(u8);

impl MethodCode {
    /// Every method.
    pub(crate) const ANY: Self = Self(0);
    /// One without a number of its own: compared by name.
    const OTHER: Self = Self(u8::MAX);
    /// What `HEAD` counts as.
    pub(crate) const GET: Self = Self(1);
    const KNOWN: [&'static str; 8] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];

    /// The code of a method.
    #[inline]
    pub(crate) fn of(method: &str) -> Self {
        // Most requests.
        if method == "GET" { Self::GET } else { Self::listed(method) }
    }

    fn listed(method: &str) -> Self {
        let known = Self::KNOWN.iter().position(|known| *known == method);
        known.and_then(|at| u8::try_from(at.saturating_add(1)).ok()).map_or(Self::OTHER, Self)
    }

    /// Whether it takes a name to tell methods of this code apart.
    pub(crate) fn needs_name(self) -> bool {
        self == Self::OTHER
    }
}

/// Builds the router.
pub(crate) fn build(
    mut operations: Vec<Operation>,
    limits: &[PolicyLimit],
    settings: &Settings,
    findings: &mut Findings,
) -> Option<Routes> {
    let mut suffixes = Vec::new();
    let mut groups = grouped(&operations, &mut suffixes, findings);
    let mut found = Findings::default();
    for group in &mut groups {
        group.unite(&mut operations, limits, &mut found);
        group.sort(&operations, &suffixes, &mut found);
    }
    let routes = routed(operations, (&groups, suffixes), (limits, settings), &mut found);
    once_a_path(found, findings);
    routes
}

/// Keeps of findings about the same two paths the first: what is true of `GET` is true of `POST`, too.
fn once_a_path(found: Findings, findings: &mut Findings) {
    let mut seen = HashSet::new();
    for finding in found.all() {
        let others: Vec<_> = finding.also.iter().map(|(place, _)| *place).collect();
        if seen.insert((finding.code, finding.place, others)) {
            findings.push(finding.clone());
        }
    }
}

/// The router of templates that have been put in order.
fn routed(
    operations: Vec<Operation>,
    (groups, suffixes): (&[Group], Vec<Suffix>),
    (limits, settings): (&[PolicyLimit], &Settings),
    findings: &mut Findings,
) -> Option<Routes> {
    let mut builder = RouterBuilder::new();
    // Templates in the order of their ids.
    let mut added: Vec<&Group> = Vec::with_capacity(groups.len());
    for group in groups {
        let mut shared = Vec::new();
        let result = builder.add_beside(&group.template, &mut |with| {
            let Some(other) = added.get(with as usize) else { return false };
            match overlap::between(group, other, (&operations, limits)) {
                overlap::Overlap::Nothing => true,
                overlap::Overlap::Same(one, other) => {
                    shared.push((one, other));
                    true
                }
                overlap::Overlap::Differs => false,
            }
        });
        shared.sort_unstable();
        shared.dedup();
        shared.into_iter().for_each(|pair| overlap::warn(pair, &operations, findings));
        match result {
            Ok(_) => added.push(group),
            Err(RouterError::Ambiguous { with }) => {
                let other = added.get(with as usize).and_then(|other| other.operation(&operations));
                if let Some(one) = group.operation(&operations) {
                    findings.push(overlap::error(one, other));
                }
            }
            Err(error) => {
                let place = group.operation(&operations)?.template_at;
                findings.push(Diagnostic::error("template", place, error.to_string()));
                return None;
            }
        }
    }
    let tails = groups.iter().any(Group::is_tail);
    let loose = if tails || settings.unmatched == Unmatched::Forward {
        LenientSearch::Yes
    } else {
        LenientSearch::No
    };
    let router = match builder.build(loose) {
        Ok(router) => router,
        Err(error) => {
            let place = operations.first()?.template_at;
            findings.push(Diagnostic::error("template", place, error.to_string()));
            return None;
        }
    };
    // A template without an operation has an error, and no policy comes of it.
    let picks = added.iter().map(|group| picks(group, &operations)).collect::<Option<Vec<_>>>()?;
    Some(Routes { operations, router, picks, suffixes })
}

fn picks(group: &Group, operations: &[Operation]) -> Option<Candidates> {
    let mut list = group.members.iter().filter_map(|member| {
        let operation = operations.get(member.operation.index())?;
        let method = operation.method.as_deref().map_or(MethodCode::ANY, MethodCode::of);
        let asks = operation.host.is_some() || !operation.headers.is_empty() || member.suffix > 0;
        let (operation, suffix) = (member.operation, member.suffix);
        Some(Candidate { operation, method, asks, tail: group.is_tail(), suffix })
    });
    Some(Candidates { first: list.next()?, more: list.collect() })
}

/// The templates of all operations, each with those that have it, in the order in which they are written.
fn grouped(operations: &[Operation], suffixes: &mut Vec<Suffix>, findings: &mut Findings) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut by_shape: HashMap<String, usize> = HashMap::new();
    let mut numbers: HashMap<(usize, String), u16> = HashMap::new();
    let mut tails = Vec::new();
    for (id, operation) in OperationId::number(operations) {
        for base in &operation.bases {
            let forms = match forms(operation, base) {
                Ok(forms) => forms,
                Err((error, is_verbatim)) => {
                    let place = if is_verbatim {
                        part_of(operation, &error.range, base.len())
                    } else {
                        operation.template_at
                    };
                    findings.push(Diagnostic::error("template", place, error.to_string()));
                    continue;
                }
            };
            tails.extend(forms.long.map(|(head, suffix)| (id, head, suffix)));
            add(&mut groups, &mut by_shape, forms.ordinary, Member { operation: id, suffix: 0 });
        }
    }
    // After all others, so that ids are the same whether or not a parameter may take several segments.
    for (id, head, suffix) in tails {
        let number = suffix.map(|suffix| {
            *numbers.entry(suffix.identity()).or_insert_with(|| {
                suffixes.push(suffix);
                u16::try_from(suffixes.len()).unwrap_or(u16::MAX)
            })
        });
        if suffixes.len() > SUFFIXES_MAX {
            let place = operations.get(id.index()).map(|operation| operation.template_at);
            let message = format!(
                "more than {SUFFIXES_MAX} different ends of paths follow parameters of several segments"
            );
            place
                .into_iter()
                .for_each(|place| findings.push(Diagnostic::error("too-many", place, message.clone())));
            break;
        }
        add(&mut groups, &mut by_shape, head, Member { operation: id, suffix: number.unwrap_or(0) });
    }
    groups
}

/// So many different ends of paths may follow parameters of several segments. A policy with more is refused.
const SUFFIXES_MAX: usize = 10_000;

fn add(groups: &mut Vec<Group>, by_shape: &mut HashMap<String, usize>, template: Template, member: Member) {
    let at = *by_shape.entry(template.shape().to_owned()).or_insert(groups.len());
    match groups.get_mut(at) {
        Some(group) => group.add(member),
        None => groups.push(Group::new(template, member)),
    }
}

/// The templates of an operation under one base path.
struct TemplateForms {
    ordinary: Template,
    /// Where a parameter takes several segments: the template up to it, and what must follow.
    long: Option<(Template, Option<Suffix>)>,
}

/// Reads a path. Of an error it is told whether its range is one of the path as it is written.
fn forms(operation: &Operation, base: &str) -> Result<TemplateForms, (TemplateError, bool)> {
    if operation.native {
        let text = format!("{base}{}", operation.written);
        let ordinary = Template::parse(&text, Tail::Allowed).map_err(|error| (error, true))?;
        return Ok(TemplateForms { ordinary, long: None });
    }
    let path = openapi_path::read(&operation.written, &operation.multi);
    let parse = |base: &str, text: &str| Template::parse(&format!("{base}{text}"), Tail::Allowed);
    let ordinary = parse(base, &path.ordinary).map_err(|error| (error, path.is_verbatim))?;
    let long = path.long.map(|long| {
        let head = parse(base, &long.head)?;
        let rest = if long.rest.is_empty() { None } else { Some(parse("", &long.rest)?) };
        let suffix = rest.map(|rest| Suffix::new(&head, &rest));
        Ok((head, suffix))
    });
    Ok(TemplateForms { ordinary, long: long.transpose().map_err(|error| (error, false))? })
}

/// The part of a template's text that an error is about, if the text stands in the document as it is.
fn part_of(operation: &Operation, range: &std::ops::Range<usize>, base: usize) -> Place {
    let place = operation.template_at;
    // In quotes, everything stands one further.
    let quote = usize::from(place.range().len() == operation.written.len().saturating_add(2));
    let shift = |at: usize| u32::try_from(at.saturating_sub(base).saturating_add(quote)).unwrap_or(0);
    let start = place.start.saturating_add(shift(range.start));
    let end = place.start.saturating_add(shift(range.end));
    if range.start >= base && end <= place.end && start < end { Place { start, end, ..place } } else { place }
}
