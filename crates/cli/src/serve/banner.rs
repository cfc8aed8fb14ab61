//! The start-up message: the limits, the store and the addresses, in a few lines for people.

use std::io::{self, Write};

use tollgate_algorithms::Mode;
use tollgate_http::text::shown;
use tollgate_policy::Policy;
use tollgate_policy::model::{ConsumerKey, Identity, MissingKeyRule, PolicyLimit, Unmatched, shown_chain};
use tollgate_policy::quantity::spoken;

use super::Running;
use crate::settings::Value;

/// Maximum number of limits listed; the others are counted.
const LISTED_MAX: usize = 8;

/// Writes the start-up message.
///
/// # Errors
/// If the output cannot be written.
pub fn banner(running: &Running, out: &mut dyn Write) -> io::Result<()> {
    let settings = &running.common.settings;
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    for address in running.addresses() {
        writeln!(out, "tollgate {} on {scheme}://{address}", env!("CARGO_PKG_VERSION"))?;
    }
    if !settings.has_gateway() {
        writeln!(out, "tollgate {} answers clients that ask for decisions", env!("CARGO_PKG_VERSION"))?;
    }
    endpoints(running, out)?;
    let upstream = &settings.upstream;
    let to = if upstream.tls { "https" } else { "http" };
    if settings.has_gateway() {
        writeln!(out, "  forwards to  {to}://{}:{}", upstream.host, upstream.port)?;
    }
    let live = running.common.live.load();
    if let Some(url) = &settings.store.url {
        let namespace = match live.limits.namespace() {
            "" => String::new(),
            namespace => format!(", namespace {namespace}"),
        };
        writeln!(out, "  state in     {}{namespace}", Value::Store(url.clone()))?;
    }
    if settings.has_policy() {
        policy(live.limits.policy(), &settings.policy, out)?;
    } else {
        writeln!(out, "  policy       none: clients bring their limits")?;
    }
    if let Some(operations) = running.operations() {
        writeln!(out, "  metrics      http://{operations}/metrics, /readyz, /healthz")?;
    }
    let reloads = if settings.has_policy() { "; saving the policy (or SIGHUP) reloads it" } else { "" };
    writeln!(out, "  stop         Ctrl-C or SIGTERM{reloads}")
}

/// `  for Redis    redis://127.0.0.1:6380, with a token`
fn endpoints(running: &Running, out: &mut dyn Write) -> io::Result<()> {
    for (name, settings) in running.common.settings.endpoints() {
        let Some(address) = running.endpoint(name) else { continue };
        let is_tls = settings.tls(name).is_some();
        let (what, scheme) = match (name, is_tls) {
            ("grpc", false) => ("for Envoy   ", "grpc"),
            ("grpc", true) => ("for Envoy   ", "grpcs"),
            ("resp", false) => ("for Redis   ", "redis"),
            ("resp", true) => ("for Redis   ", "rediss"),
            (_, false) => ("for HTTP    ", "http"),
            (_, true) => ("for HTTP    ", "https"),
        };
        let who = match (settings.tokens.is_some(), settings.client_ca.is_some()) {
            (false, false) => "",
            (true, false) => ", with a token",
            (false, true) => ", with a client certificate",
            (true, true) => ", with a client certificate and a token",
        };
        writeln!(out, "  {what} {scheme}://{address}{who}")?;
        if name == "grpc" {
            let files = running.common.settings.envoy.files.iter().map(|file| shown(file));
            writeln!(out, "    limits in  {}", files.collect::<Vec<_>>().join(", "))?;
        }
    }
    Ok(())
}

fn policy(policy: &Policy, file: &str, out: &mut dyn Write) -> io::Result<()> {
    let operations = policy.operations();
    let limited = operations.iter().filter(|operation| !operation.limits.is_empty()).count();
    let others = match policy.settings().unmatched {
        Unmatched::Reject => "anything else is 404",
        Unmatched::Forward => "anything else is forwarded",
    };
    let (file, count) = (shown(file), operations.len());
    writeln!(out, "  policy       {file}: {count} operations, {limited} limited; {others}")?;
    let limits = policy.limits();
    let width = limits.iter().take(LISTED_MAX).map(|limit| limit.name.len()).max().unwrap_or(0);
    for limit in limits.iter().take(LISTED_MAX) {
        writeln!(out, "    {:width$}  {}", limit.name, said(limit))?;
    }
    match limits.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        Some(more) => writeln!(out, "    and {more} more: see `tollgate explain`"),
        None => Ok(()),
    }
}

/// `5 at once, then 1 per 10 s, by api_key, else ip`
fn said(limit: &PolicyLimit) -> String {
    let shadow = if limit.mode == Mode::Shadow { " (only counted)" } else { "" };
    let tiers = match limit.tiers.len() {
        0 => String::new(),
        1 => " (1 tier has its own numbers)".into(),
        count => format!(" ({count} tiers have their own numbers)"),
    };
    let wait = limit.wait.map_or_else(String::new, |wait| format!(", waits {} at most", spoken(wait)));
    let turns = match limit.fair_by.as_slice() {
        [] => String::new(),
        chain => format!(", in turns by {}", shown_chain(chain)),
    };
    format!("{}, by {}{wait}{turns}{tiers}{shadow}", limit.numbers, by(&limit.key))
}

fn by(key: &ConsumerKey) -> String {
    let links = key.chain.iter().map(|link| {
        let parts: Vec<_> = link.iter().map(ToString::to_string).collect();
        parts.join(" + ")
    });
    let mut links: Vec<_> = links.collect();
    let always = |link: &Vec<Identity>| matches!(link.as_slice(), [Identity::Address | Identity::Everyone]);
    match key.missing {
        _ if key.chain.last().is_some_and(always) => {}
        MissingKeyRule::Address => links.push("ip".into()),
        MissingKeyRule::Reject => links.push("400".into()),
        MissingKeyRule::Anonymous => links.push("all together".into()),
    }
    links.join(", else ")
}
