//! Judges what was observed about a store: one finding per check. Pure: no I/O.

mod availability;
mod clock;
mod decisions;
mod memory;
mod permissions;
mod persistence;
mod server;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tollgate_redis::LinkError;

use super::finding::{Finding, Grade};
use super::observations::{Fields, Observations};
use super::remedies::cure;

/// All checks, in the order an operator would go through them: connection, version, data safety, availability, permissions,
/// function, speed.
pub(super) fn judge(found: &Observations) -> Vec<Finding> {
    let mut all = vec![connection(found), server::version(found), server::role(found)];
    if server::is_sentinel(found) {
        // The other checks do not apply to a server without data.
        return all;
    }
    all.extend([memory::eviction(found), memory::room(found), memory::company(found)]);
    all.extend([persistence::saving(found), persistence::stalls(found), persistence::restart(found)]);
    all.extend([
        availability::replicas(found),
        availability::clients(found),
        availability::idle(found),
        availability::endless(found),
    ]);
    all.extend([clock::clock(found), permissions::rights(found), permissions::password(found)]);
    all.push(permissions::secret(found));
    all.extend([decisions::decisions(found), decisions::latency(found), decisions::slow(found)]);
    all
}

/// The finding for a server that is unreachable or denied access. No other check is possible.
pub(super) fn unreachable(at: &str, error: &LinkError) -> Finding {
    Finding::fault("connection", format!("{at}: {error}"), cure(error.cause()))
}

fn connection(found: &Observations) -> Finding {
    let way = match found.at.split_once("://") {
        Some(("rediss", _)) => "over TLS",
        Some(("unix", _)) => "over a Unix socket",
        Some(_) | None => "without TLS",
    };
    let whom = found
        .user
        .as_ref()
        .map_or_else(|| "without a password".into(), |user| format!("as the user `{user}`"));
    Finding::good("connection", format!("{} answers {way}, {whom}", found.at))
}

/// Judges `INFO`; if that is unavailable, says which permission is missing.
fn by_info(found: &Observations, check: &'static str, judge: impl FnOnce(&Fields) -> Finding) -> Finding {
    match &found.info {
        Ok(info) => judge(info),
        Err(why) => not_asked(found, check, ("INFO", "+info"), why),
    }
}

/// Judges `INFO` and `CONFIG GET`; if one is unavailable, says which permission is missing.
fn by_config(
    found: &Observations,
    check: &'static str,
    judge: impl FnOnce(&Fields, &Fields) -> Finding,
) -> Finding {
    match (&found.info, &found.config) {
        (Err(why), _) => not_asked(found, check, ("INFO", "+info"), why),
        (_, Err(why)) => not_asked(found, check, ("CONFIG GET", "+config|get"), why),
        (Ok(info), Ok(config)) => judge(info, config),
    }
}

fn not_asked(found: &Observations, check: &'static str, (what, rule): (&str, &str), why: &str) -> Finding {
    let user = found.user.as_deref().unwrap_or("default");
    let cure = format!(
        "`ACL SETUSER {user} {rule}`, or run doctor as an operator; if the provider forbids it to everybody, ask the provider"
    );
    Finding::unknown(check, format!("needs `{what}`: {why}"), cure)
}

/// The finding if `INFO` lacks a field that the check needs. A missing field never counts as good.
fn info_lacks(check: &'static str, (section, field): (&str, &str)) -> Finding {
    let cure =
        format!("run `redis-cli INFO {section}` on the server; if the provider omits it, ask the provider");
    Finding::unknown(check, format!("`INFO` has no readable `{field}`"), cure)
}

/// The finding if `CONFIG GET` lacks a setting that the check needs. A missing setting never counts as good.
fn config_lacks(check: &'static str, name: &str) -> Finding {
    let found = format!("`CONFIG GET {name}` has no readable value");
    Finding::unknown(check, found, "ask the server's operator or the provider")
}

/// A time, to the microsecond.
fn shown(time: Duration) -> String {
    format!("{:?}", Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)))
}

/// A number of bytes in a suitable unit.
fn bytes(count: u64) -> String {
    match count {
        0..0x2800 => format!("{count} bytes"),
        0x2800..0xa0_0000 => format!("{} KiB", count >> 10),
        _ => format!("{} MiB", count >> 20),
    }
}

/// The worse of two findings, or the first if they are equal.
fn worse(one: Finding, other: Finding) -> Finding {
    let rank = |finding: &Finding| Grade::ALL.iter().position(|grade| *grade == finding.grade);
    if rank(&other) < rank(&one) { other } else { one }
}
