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
    /// No operation, but a server that is lenient about case, trailing slashes and `;parameters` would take it for this
    /// one: it is forwarded with this one's limits, so that spelling a path otherwise is no way around them.
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
        if let Some(id) = self.exactly(facts, facts.method) {
            return Matched::Operation(id);
        }
        let head = facts.method == "HEAD";
        if let Some(id) = head.then(|| self.exactly(facts, "GET")).flatten() {
            return Matched::Operation(id);
        }
        if self.preflight(facts) {
            return Matched::Preflight;
        }
        if self.settings.unmatched == Unmatched::Forward {
            let method = if head { "GET" } else { facts.method };
            let loosely = self.router.find_loosely(facts.path, |template| self.pick(template, facts, method));
            return loosely.map_or(Matched::Forwarded, Matched::Loosely);
        }
        let any = self.router.find(facts.path, |template| {
            let list = self.by_template.get(template as usize)?;
            list.iter().find(|id| self.operations.get(**id as usize).is_some_and(|of| conditions(of, facts)))
        });
        Matched::Nothing { other_methods: any.is_some() }
    }

    fn exactly(&self, facts: &Facts<'_>, method: &str) -> Option<u32> {
        self.router.find(facts.path, |template| self.pick(template, facts, method))
    }

    /// The first operation of a template that asks for nothing that the request has not.
    fn pick(&self, template: u32, facts: &Facts<'_>, method: &str) -> Option<u32> {
        let list = self.by_template.get(template as usize)?;
        list.iter().copied().find(|id| {
            let Some(operation) = self.operations.get(*id as usize) else { return false };
            operation.method.as_deref().is_none_or(|wanted| wanted == method) && conditions(operation, facts)
        })
    }

    /// Whether it is a browser's question about an operation that is there.
    fn preflight(&self, facts: &Facts<'_>) -> bool {
        if facts.method != "OPTIONS" || !facts.headers.contains_key(ORIGIN) {
            return false;
        }
        let Found::One(asked) = header::find(facts.headers, &ACCESS_CONTROL_REQUEST_METHOD) else {
            return false;
        };
        std::str::from_utf8(asked).is_ok_and(|method| self.exactly(facts, method).is_some())
    }
}

/// Whether host and headers are as the operation asks.
pub(crate) fn conditions(operation: &Operation, facts: &Facts<'_>) -> bool {
    operation.host.as_ref().is_none_or(|host| host.matches(facts.host))
        && operation.headers.iter().all(|(name, value)| match (header::find(facts.headers, name), value) {
            (Found::One(sent), Some(value)) => sent == value.as_bytes(),
            (Found::One(_), None) => true,
            _ => false,
        })
}
