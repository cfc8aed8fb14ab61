//! Routes that a client can choose by sending a host or a header, and that are free where another is limited.

use std::collections::HashMap;

use super::Lint;
use super::coverage::is_always_limited;
use crate::compile::inherit::Operation;
use crate::document::diagnostic::Diagnostic;
use tollgate_http::trusted::TrustedProxies;

/// Every free route that asks for a host or headers, beside a limited one of the same template that asks for less.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut by_template: HashMap<&str, Vec<&Operation>> = HashMap::new();
    for operation in lint.policy.operations() {
        by_template.entry(operation.template.as_str()).or_default().push(operation);
    }
    let asks = |operation: &Operation| operation.host.is_some() || !operation.headers.is_empty();
    let mut found = Vec::new();
    for free in lint.policy.operations().iter().filter(|of| asks(of) && !is_always_limited(lint, of)) {
        let beside = by_template.get(free.template.as_str()).into_iter().flatten();
        let mut beside = beside.filter(|of| !asks(of) && is_always_limited(lint, of));
        let Some(limited) =
            beside.find(|of| of.method.is_none() || free.method.is_none() || of.method == free.method)
        else {
            continue;
        };
        let name = tollgate_http::text::shown(&free.name());
        let message = format!("a client that sends what this route asks for is not limited on {name}");
        // A proxy in front may set what the route asks for, and take away what clients send.
        let set_by_proxy = lint.policy.settings().trusted_proxies != TrustedProxies::None;
        let finding = if set_by_proxy {
            Diagnostic::note("client-chosen-route", free.place, message)
        } else {
            Diagnostic::warning("client-chosen-route", free.place, message)
        };
        let help = "anybody can send any host and header: limit it too, or tell it apart behind a trusted proxy only";
        found.push(finding.also(limited.place, "without that, this one is meant, and limited").help(help));
    }
    found
}
