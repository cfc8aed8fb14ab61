//! The methods that a path supports, for the `Allow` header of a 405.

use tollgate_policy::{Facts, Policy, RequestMatch};

/// Maximum number of methods that are looked up for `Allow`; further methods are not named.
const METHODS_MAX: usize = 16;

/// Every method that an operation names, in alphabetical order.
pub(crate) fn methods(policy: &Policy) -> Vec<String> {
    let named = policy.operations().iter().filter_map(|operation| operation.method.as_deref());
    let mut methods: Vec<String> = named.map(str::to_owned).collect();
    if methods.iter().any(|method| method == "GET") {
        methods.push("HEAD".into());
    }
    methods.sort();
    methods.dedup();
    methods.truncate(METHODS_MAX);
    methods
}

/// Those of the methods that the request's path has, separated by commas.
pub(crate) fn allowed(policy: &Policy, methods: &[String], facts: &Facts<'_>) -> String {
    let is_allowed = |method: &&str| {
        let facts = Facts { method, ..*facts };
        matches!(policy.matched(&facts), RequestMatch::Operation(_) | RequestMatch::Loosely(_))
    };
    let allowed: Vec<_> = methods.iter().map(String::as_str).filter(is_allowed).collect();
    allowed.join(", ")
}
