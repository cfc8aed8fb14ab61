//! Finds the operation that a request matches.

use crate::compile::inherit::Operation;
use crate::compile::routes::{Candidate, Candidates, MethodCode};
use crate::ids::OperationId;
use crate::matching::request::Facts;
use crate::model::Unmatched;
use crate::policy::Policy;
use crate::template::Case;
use http::header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN};
use tollgate_http::found::Lookup;
use tollgate_http::header;

/// What a request means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestMatch {
    /// This operation.
    Operation(OperationId),
    /// No operation (or only one whose `{rest*}` takes everything), but a server that is lenient about case, trailing slashes
    /// and `;parameters` would take it for this one: it has this one's limits, so that spelling a path otherwise is no way
    /// around them.
    Loosely(OperationId),
    /// A browser's question before a request of another origin; no operation answers `OPTIONS` itself. It carries no
    /// key, and is limited by the root.
    Preflight,
    /// No operation, to be forwarded all the same, and limited by the root.
    Forwarded,
    /// No operation: 404, or 405 if other methods are there.
    Unmatched {
        /// Whether the path has operations of other methods.
        other_methods: bool,
    },
}

impl Policy {
    /// The operation that a request means.
    #[must_use]
    pub fn matched(&self, facts: &Facts<'_>) -> RequestMatch {
        if let Some(asked) = preflight(facts) {
            // Only an operation that names `OPTIONS` answers itself; browsers send no key with the question.
            let (options, asked) = (MethodFilter::only("OPTIONS"), MethodFilter::new(asked));
            if let Some(own) = self.router.find(facts.path, |template| self.pick(template, facts, &options)) {
                return RequestMatch::Operation(own.operation);
            }
            if self.router.find(facts.path, |template| self.pick(template, facts, &asked)).is_some() {
                return RequestMatch::Preflight;
            }
        }
        let wanted = MethodFilter::new(facts.method);
        let exact = self.router.find(facts.path, |template| self.pick(template, facts, &wanted));
        // What only a tail takes may be another spelling of what has limits of its own.
        if let Some(found) = exact.filter(|found| !found.tail) {
            return RequestMatch::Operation(found.operation);
        }
        let forward = self.settings.unmatched == Unmatched::Forward;
        if forward || exact.is_some() {
            let lenient = wanted.leniently();
            let loosely =
                self.router.find_loosely(facts.path, |template| self.pick(template, facts, &lenient));
            return match (exact, loosely) {
                (Some(exact), Some(loosely)) if loosely.operation != exact.operation && !loosely.tail => {
                    RequestMatch::Loosely(loosely.operation)
                }
                (Some(exact), _) => RequestMatch::Operation(exact.operation),
                (None, Some(loosely)) => RequestMatch::Loosely(loosely.operation),
                (None, None) => RequestMatch::Forwarded,
            };
        }
        let any = self.router.find(facts.path, |template| self.pick(template, facts, &MethodFilter::ANY));
        RequestMatch::Unmatched { other_methods: any.is_some() }
    }

    /// Of a template's operations that ask for nothing which the request has not: the one that asks for most.
    #[inline]
    fn pick(&self, template: u32, facts: &Facts<'_>, wanted: &MethodFilter<'_>) -> Option<Candidate> {
        let picks = self.picks.get(template as usize)?;
        if let Some(only) = picks.only().filter(|only| !only.asks) {
            let name = || self.operations.get(only.operation.index())?.method.as_deref();
            return wanted.rank(only.method, name).map(|_| *only);
        }
        self.best(picks, facts, wanted)
    }

    fn best(&self, picks: &Candidates, facts: &Facts<'_>, wanted: &MethodFilter<'_>) -> Option<Candidate> {
        let mut best: Option<(Candidate, Rank)> = None;
        for pick in picks.iter() {
            let operation = || self.operations.get(pick.operation.index());
            let Some(method) = wanted.rank(pick.method, || operation()?.method.as_deref()) else { continue };
            let mut rank = ((0, 0), 0, 0, method);
            if pick.asks {
                let Some(operation) = operation().filter(|operation| conditions(operation, facts)) else {
                    continue;
                };
                let Some(end) = self.end(pick, facts, wanted) else { continue };
                let host = operation.host.as_ref().map_or(0, |host| host.specificity().saturating_add(1));
                rank = (end, host, operation.headers.len(), method);
            }
            if best.is_none_or(|(_, other)| rank > other) {
                best = Some((*pick, rank));
            }
        }
        best.map(|(pick, _)| pick)
    }

    /// How near the end of the path is that an operation asks for; `None` if the path ends otherwise.
    fn end(&self, pick: &Candidate, facts: &Facts<'_>, wanted: &MethodFilter<'_>) -> Option<(usize, usize)> {
        let Some(at) = usize::from(pick.suffix).checked_sub(1) else { return Some((0, 0)) };
        let suffix = self.suffixes.get(at)?;
        suffix.matches(facts.path, wanted.case).then(|| suffix.rank())
    }
}

/// Of the operations of one template, the one that ranks highest goes first: by the end of the path, host, headers, method.
type Rank = ((usize, usize), usize, usize, u8);

/// Which methods an operation may have.
struct MethodFilter<'a> {
    method: Option<(&'a str, MethodCode)>,
    /// Whether an operation may also take every method.
    or_all: bool,
    /// How the end of a path is compared.
    case: Case,
}

impl<'a> MethodFilter<'a> {
    /// Any.
    const ANY: Self = Self { method: None, or_all: true, case: Case::Kept };

    /// This one, by name or among all. `HEAD` counts as `GET`, unless an operation names it.
    fn new(method: &'a str) -> Self {
        Self { method: Some((method, MethodCode::of(method))), or_all: true, case: Case::Kept }
    }

    /// This one, by name.
    fn only(method: &'a str) -> Self {
        Self { or_all: false, ..Self::new(method) }
    }

    /// The same, as a lenient server looks for it.
    const fn leniently(&self) -> Self {
        Self { case: Case::Ignored, ..*self }
    }

    /// How well an operation's method fits; `None` if it does not.
    fn rank<'b>(&self, code: MethodCode, name: impl Fn() -> Option<&'b str>) -> Option<u8> {
        let Some((method, wanted)) = self.method else { return Some(0) };
        if code == MethodCode::ANY {
            return self.or_all.then_some(0);
        }
        if code == wanted {
            return (!code.needs_name() || name() == Some(method)).then_some(2);
        }
        (self.or_all && method == "HEAD" && code == MethodCode::GET).then_some(1)
    }
}

/// The method that a browser asks about before it sends it to another origin.
fn preflight<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    if facts.method != "OPTIONS" || !facts.headers.contains_key(ORIGIN) {
        return None;
    }
    match header::find(facts.headers, &ACCESS_CONTROL_REQUEST_METHOD) {
        Lookup::One(asked) => std::str::from_utf8(asked).ok(),
        Lookup::Missing | Lookup::Empty | Lookup::Repeated | Lookup::Malformed => None,
    }
}

/// Whether host and headers are as the operation asks.
pub(crate) fn conditions(operation: &Operation, facts: &Facts<'_>) -> bool {
    operation.host.as_ref().is_none_or(|host| host.matches(facts.host))
        && operation.headers.iter().all(|(name, value)| match (header::find(facts.headers, name), value) {
            (Lookup::One(sent), Some(value)) => sent == value.as_bytes(),
            (Lookup::One(_), None) => true,
            (Lookup::Missing | Lookup::Empty | Lookup::Repeated | Lookup::Malformed, _) => false,
        })
}
