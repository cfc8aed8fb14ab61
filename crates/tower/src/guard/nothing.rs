//! What a request is answered that no operation is meant by: 404, or 405 with the methods that its path has.

use http::Method;
use tollgate_policy::{Facts, Matched, Policy};

use super::Guard;
use crate::asked::Answer;
use crate::problem;

/// So many methods are looked for when a path does not have the one that was asked for; `Allow` names no others.
pub(super) const METHODS_MAX: usize = 16;

impl Guard {
    /// What is answered to a request that no operation is meant by.
    pub(super) fn nothing(&self, facts: &Facts<'_>, other_methods: bool) -> Answer {
        if !other_methods {
            return problem::not_found();
        }
        let allowed = |method: &&Method| {
            let facts = Facts { method: method.as_str(), ..*facts };
            matches!(self.gate.policy().matched(&facts), Matched::Operation(_) | Matched::Loosely(_))
        };
        let allowed: Vec<_> = self.methods.iter().filter(allowed).map(Method::as_str).collect();
        problem::method_not_allowed(&allowed.join(", "))
    }
}

/// Every method that an operation names, in the order of the alphabet.
pub(super) fn methods(policy: &Policy) -> Vec<Method> {
    let named = policy.operations().iter().filter_map(|operation| operation.method.as_deref()?.parse().ok());
    let mut methods: Vec<Method> = named.collect();
    if methods.contains(&Method::GET) {
        methods.push(Method::HEAD);
    }
    methods.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    methods.dedup();
    methods.truncate(METHODS_MAX);
    methods
}
