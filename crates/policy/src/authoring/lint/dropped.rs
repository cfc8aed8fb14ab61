//! Advises about headers that a policy reads and the gateway drops, because it trusts no proxy.

use http::HeaderName;

use super::group_findings::{by_cause, finding};
use super::{Lint, named};
use crate::document::diagnostic::Diagnostic;
use crate::model::{Cost, CostFrom, Identity, PolicyLimit};
use tollgate_http::header::is_origin;
use tollgate_http::trusted::TrustedProxies;

/// Limits and routes by headers that say where a request comes from.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    if lint.policy.settings().trusted_proxies != TrustedProxies::None {
        return Vec::new();
    }
    let keys = lint.limits().flat_map(|(_, limit)| headers(limit).map(move |name| (name, limit)));
    let costs = lint.policy.costs().filter_map(|(limit, cost)| Some((header_of(cost)?, limit)));
    let mut limits: Vec<(&HeaderName, &PolicyLimit)> =
        keys.chain(costs).filter(|(name, _)| is_origin(name)).collect();
    limits.sort_by_key(|(_, limit)| limit.place);
    limits.dedup_by_key(|(name, limit)| (name.as_str(), limit.place));
    let mut found: Vec<_> =
        by_cause(limits.into_iter()).iter().filter_map(|(name, limits)| of_limits(name, limits)).collect();
    for operation in lint.policy.operations() {
        let names = operation.headers.iter().map(|(name, _)| name);
        found.extend(names.filter(|name| is_origin(name)).map(|name| {
            let message = format!("{} asks for `{name}`, {REMOVED}", named(&operation.name()));
            Diagnostic::warning("dropped-header", operation.place, message).help(HELP)
        }));
    }
    found
}

const REMOVED: &str = "which the gateway removes: it takes it from trusted proxies only, and none is trusted";
const HELP: &str = "name the proxies that set it under `trusted_proxies`, or read another header";

fn of_limits(name: &HeaderName, limits: &[&PolicyLimit]) -> Option<Diagnostic> {
    let (one, many) = (format!("reads `{name}`, {REMOVED}"), format!("read `{name}`, {REMOVED}"));
    Some(finding(Diagnostic::warning, "dropped-header", limits, (&one, &many))?.help(HELP))
}

/// The headers that a limit's key reads of a request, besides API keys.
fn headers(limit: &PolicyLimit) -> impl Iterator<Item = &HeaderName> {
    limit
        .identities()
        .filter_map(|identity| if let Identity::Header(name) = identity { Some(name) } else { None })
}

/// The header that a cost reads of a request.
fn header_of(cost: &Cost) -> Option<&HeaderName> {
    if let Cost::Asked { from: CostFrom::Header(name), .. } = cost { Some(name) } else { None }
}
