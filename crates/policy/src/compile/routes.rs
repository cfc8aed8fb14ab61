//! Which operation a request can mean: templates in a router, and no two operations that would mean the same request.

use std::collections::HashSet;

use http::HeaderName;

use crate::compile::inherit::Operation;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::ids::OperationId;
use crate::model::Unmatched;
use crate::parse::settings::Settings;
use crate::router::{Added, Loose, Router, RouterBuilder, RouterError};
use crate::template::{Tail, Template};

/// Everything that matching needs.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) operations: Vec<Operation>,
    pub(crate) router: Router,
    /// The operations of each template.
    pub(crate) picks: Vec<Picks>,
}

/// An operation as a request looks for it: what most requests need to know, close together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick {
    pub(crate) operation: OperationId,
    pub(crate) method: MethodCode,
    /// Whether it asks for a host or for headers.
    pub(crate) asks: bool,
    /// Whether its template ends in `{rest*}`.
    pub(crate) tail: bool,
}

/// The operations of one template. Most have one.
#[derive(Clone, Debug)]
pub(crate) struct Picks {
    first: Pick,
    more: Box<[Pick]>,
}

impl Picks {
    /// The only one; `None` if there are several.
    pub(crate) fn only(&self) -> Option<&Pick> {
        self.more.is_empty().then_some(&self.first)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pick> {
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
    operations: Vec<Operation>,
    settings: &Settings,
    findings: &mut Findings,
) -> Option<Routes> {
    let mut builder = RouterBuilder::new();
    let mut by_template: Vec<Vec<OperationId>> = Vec::new();
    let mut told = HashSet::new();
    for (id, operation) in OperationId::number(&operations) {
        let tail = if operation.native { Tail::Allowed } else { Tail::Refused };
        for base in &operation.bases {
            let text = format!("{base}{}", operation.written);
            let template = match Template::parse(&text, tail) {
                Ok(template) => template,
                Err(error) => {
                    let place = part_of(operation, &error.range, base.len());
                    findings.push(Diagnostic::error("template", place, error.to_string()));
                    continue;
                }
            };
            let template = match builder.add(&template) {
                Ok(Added::New(template) | Added::Same(template)) => template as usize,
                Err(RouterError::Ambiguous { with }) => {
                    let other =
                        by_template.get(with as usize).and_then(|list: &Vec<OperationId>| list.first());
                    let other = other.and_then(|id| operations.get(id.index()));
                    // Of two paths with several methods each, one error is enough.
                    if told.insert((operation.template_at, other.map(|other| other.template_at))) {
                        findings.push(overlap(operation, other));
                    }
                    continue;
                }
                Err(error) => {
                    findings.push(Diagnostic::error("template", operation.template_at, error.to_string()));
                    return None;
                }
            };
            if by_template.len() <= template {
                by_template.resize(template.saturating_add(1), Vec::new());
            }
            if let Some(list) = by_template.get_mut(template) {
                list.push(id);
            }
        }
    }
    for list in &mut by_template {
        sort(list, &operations, findings);
    }
    let tails = operations.iter().any(|operation| operation.written.ends_with("*}"));
    let loose = if tails || settings.unmatched == Unmatched::Forward { Loose::Yes } else { Loose::No };
    let router = match builder.build(loose) {
        Ok(router) => router,
        Err(error) => {
            let place = operations.first()?.template_at;
            findings.push(Diagnostic::error("template", place, error.to_string()));
            return None;
        }
    };
    let pick = |id: &OperationId| {
        let operation = operations.get(id.index())?;
        let method = operation.method.as_deref().map_or(MethodCode::ANY, MethodCode::of);
        let asks = operation.host.is_some() || !operation.headers.is_empty();
        Some(Pick { operation: *id, method, asks, tail: operation.written.ends_with("*}") })
    };
    let picks = by_template.iter().map(|list| {
        let mut list = list.iter().filter_map(pick);
        Some(Picks { first: list.next()?, more: list.collect() })
    });
    // A template without an operation has an error, and no policy comes of it.
    let picks = picks.collect::<Option<Vec<_>>>()?;
    Some(Routes { operations, router, picks })
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

fn overlap(operation: &Operation, other: Option<&Operation>) -> Diagnostic {
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
            "names of parameters tell no paths apart: keep one of the two"
        }
        _ => "a literal segment goes before a parameter, and more text before less: make one of them differ in that",
    })
}

/// Puts those that ask for more first, and points at those that nothing tells apart.
fn sort(list: &mut Vec<OperationId>, operations: &[Operation], findings: &mut Findings) {
    list.dedup();
    let of = |id: &OperationId| operations.get(id.index());
    list.sort_by_key(|id| {
        of(id).map(|operation| {
            let host = operation.host.as_ref().map(|host| host.specificity());
            std::cmp::Reverse((host, operation.headers.len(), operation.method.is_some()))
        })
    });
    if let Some(beyond) = list.get(COMPARED_MAX).and_then(of) {
        let message = format!(
            "more than {COMPARED_MAX} routes have this path, and could not be told apart fast enough"
        );
        findings.push(Diagnostic::error("too-many", beyond.template_at, message));
        return;
    }
    let mut told = HashSet::new();
    for (index, id) in list.iter().enumerate() {
        let Some(one) = of(id) else { continue };
        for other in list.iter().skip(index.saturating_add(1)).filter_map(of) {
            if confused(one, other) {
                let (first, second) = if one.place < other.place { (one, other) } else { (other, one) };
                if told.insert((second.template_at, first.template_at)) {
                    findings.push(overlap(second, Some(first)));
                }
            }
        }
    }
}

/// So many operations may one template have: each is compared with each. A file with more is refused.
const COMPARED_MAX: usize = 1_000;

/// Whether one request can meet both, and nothing says which of them it means.
fn confused(one: &Operation, other: &Operation) -> bool {
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
