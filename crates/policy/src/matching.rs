//! Which operation a request means. What that costs whom is decided by `hits`.

use crate::compile::effective::Operation;
use crate::found::Found;
use crate::header;
use crate::model::Unmatched;
use crate::policy::Policy;
use crate::request::Facts;
use http::header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN};

/// What a request means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Matched {
    /// This operation, by number.
    Operation(u32),
    /// No operation (or only one whose `{rest*}` takes everything), but a server that is lenient about case, trailing slashes
    /// and `;parameters` would take it for this one: it has this one's limits, so that spelling a path otherwise is no way
    /// around them.
    Loosely(u32),
    /// A browser's question before a request of another origin; no operation answers `OPTIONS` itself. It carries no
    /// key, and is limited by the root.
    Preflight,
    /// No operation, to be forwarded all the same, and limited by the root.
    Forwarded,
    /// No operation: 404, or 405 if other methods are there.
    Nothing {
        /// Whether the path has operations of other methods.
        other_methods: bool,
    },
}

impl Policy {
    /// The operation that a request means.
    #[must_use]
    pub fn matched(&self, facts: &Facts<'_>) -> Matched {
        if let Some(asked) = preflight(facts) {
            // Only an operation that names `OPTIONS` answers itself; browsers send no key with the question.
            let own =
                self.router.find(facts.path, |template| self.pick(template, facts, Methods::Only("OPTIONS")));
            if let Some(id) = own {
                return Matched::Operation(id);
            }
            if self
                .router
                .find(facts.path, |template| self.pick(template, facts, Methods::As(asked)))
                .is_some()
            {
                return Matched::Preflight;
            }
        }
        let methods = Methods::As(facts.method);
        let exact = self.router.find(facts.path, |template| self.pick(template, facts, methods));
        // What only a tail takes may be another spelling of what has limits of its own.
        if let Some(id) = exact.filter(|id| !self.ends_in_tail(*id)) {
            return Matched::Operation(id);
        }
        let forward = self.settings.unmatched == Unmatched::Forward;
        if forward || exact.is_some() {
            let loosely =
                self.router.find_loosely(facts.path, |template| self.pick(template, facts, methods));
            return match (exact, loosely) {
                (Some(exact), Some(loosely)) if loosely != exact && !self.ends_in_tail(loosely) => {
                    Matched::Loosely(loosely)
                }
                (Some(exact), _) => Matched::Operation(exact),
                (None, Some(loosely)) => Matched::Loosely(loosely),
                (None, None) => Matched::Forwarded,
            };
        }
        let any = self.router.find(facts.path, |template| self.pick(template, facts, Methods::Any));
        Matched::Nothing { other_methods: any.is_some() }
    }

    fn ends_in_tail(&self, id: u32) -> bool {
        self.operations.get(id as usize).is_some_and(|operation| operation.written.ends_with("*}"))
    }

    /// Of a template's operations that ask for nothing which the request has not: the one that asks for most.
    fn pick(&self, template: u32, facts: &Facts<'_>, methods: Methods<'_>) -> Option<u32> {
        let list = self.by_template.get(template as usize)?;
        let mut best: Option<(u32, (usize, usize, u8))> = None;
        for id in list {
            let Some(operation) = self.operations.get(*id as usize) else { continue };
            let Some(method) = methods.rank(operation.method.as_deref()) else { continue };
            let host = operation.host.as_ref().map_or(0, |host| host.specificity().saturating_add(1));
            let rank = (host, operation.headers.len(), method);
            if best.is_none_or(|(_, other)| rank > other) && conditions(operation, facts) {
                best = Some((*id, rank));
            }
        }
        best.map(|(id, _)| id)
    }
}

/// Which methods an operation may have.
#[derive(Clone, Copy)]
enum Methods<'a> {
    /// This one, by name.
    Only(&'a str),
    /// This one, by name or among all. `HEAD` counts as `GET`, unless an operation names it.
    As(&'a str),
    /// Any.
    Any,
}

impl Methods<'_> {
    /// How well an operation's method fits; `None` if it does not.
    fn rank(self, method: Option<&str>) -> Option<u8> {
        match (self, method) {
            (Self::Only(wanted) | Self::As(wanted), Some(method)) if method == wanted => Some(2),
            (Self::As("HEAD"), Some("GET")) => Some(1),
            (Self::As(_) | Self::Any, None) | (Self::Any, Some(_)) => Some(0),
            (Self::Only(_), _) | (Self::As(_), Some(_)) => None,
        }
    }
}

/// The method that a browser asks about before it sends it to another origin.
fn preflight<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    if facts.method != "OPTIONS" || !facts.headers.contains_key(ORIGIN) {
        return None;
    }
    match header::find(facts.headers, &ACCESS_CONTROL_REQUEST_METHOD) {
        Found::One(asked) => std::str::from_utf8(asked).ok(),
        Found::Missing | Found::Empty | Found::Repeated | Found::Malformed => None,
    }
}

/// Whether host and headers are as the operation asks.
pub(crate) fn conditions(operation: &Operation, facts: &Facts<'_>) -> bool {
    operation.host.as_ref().is_none_or(|host| host.matches(facts.host))
        && operation.headers.iter().all(|(name, value)| match (header::find(facts.headers, name), value) {
            (Found::One(sent), Some(value)) => sent == value.as_bytes(),
            (Found::One(_), None) => true,
            (Found::Missing | Found::Empty | Found::Repeated | Found::Malformed, _) => false,
        })
}
