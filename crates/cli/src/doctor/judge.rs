//! What was found out about a store, judged: a finding for each check. Pure: nothing is asked and nothing is printed here.

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
use super::observations::{Fields, Found};
use super::remedies::cure;

/// Every check, in the order in which an operator would go: is it there, is it the right one, does it keep what it is told, does
/// it serve, may we, does it work, is it quick.
pub(super) fn judge(found: &Found) -> Vec<Finding> {
    let mut all = vec![connection(found), server::version(found), server::role(found)];
    if server::is_sentinel(found) {
        // Nothing else is true of what holds no data.
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

/// A server that could not be reached, or did not let us in: there is nothing else to say.
pub(super) fn unreachable(at: &str, error: &LinkError) -> Finding {
    Finding::fault("connection", format!("{at}: {error}"), cure(error.cause()))
}

fn connection(found: &Found) -> Finding {
    let way = match found.at.split_once("://") {
        Some(("rediss", _)) => "over TLS",
        Some(("unix", _)) => "over its socket",
        Some(_) | None => "without TLS",
    };
    let whom = found
        .user
        .as_ref()
        .map_or_else(|| "without a password".into(), |user| format!("as the user `{user}`"));
    Finding::good("connection", format!("{} answers {way}, {whom}", found.at))
}

/// Judges what `INFO` says; if that is not known, says what would be needed.
fn by_info(found: &Found, check: &'static str, judge: impl FnOnce(&Fields) -> Finding) -> Finding {
    match &found.info {
        Ok(info) => judge(info),
        Err(why) => not_asked(found, check, ("INFO", "+info"), why),
    }
}

/// Judges what `CONFIG GET` says, with what `INFO` says; if they are not known, says what would be needed.
fn by_config(found: &Found, check: &'static str, judge: impl FnOnce(&Fields, &Fields) -> Finding) -> Finding {
    match (&found.info, &found.config) {
        (Err(why), _) => not_asked(found, check, ("INFO", "+info"), why),
        (_, Err(why)) => not_asked(found, check, ("CONFIG GET", "+config|get"), why),
        (Ok(info), Ok(config)) => judge(info, config),
    }
}

fn not_asked(found: &Found, check: &'static str, (what, rule): (&str, &str), why: &str) -> Finding {
    let user = found.user.as_deref().unwrap_or("default");
    let cure = format!(
        "`ACL SETUSER {user} {rule}`, or ask with the user of an operator; where it is forbidden to all, ask the provider"
    );
    Finding::unknown(check, format!("it cannot be told without `{what}`: {why}"), cure)
}

/// `INFO` was answered without a field that the check needs. That is never taken for a good value of it.
fn info_lacks(check: &'static str, (section, field): (&str, &str)) -> Finding {
    let cure = format!(
        "`redis-cli INFO {section}` on the server says it; where it is left out for all, ask the provider"
    );
    Finding::unknown(check, format!("`INFO` does not say `{field}` in a way that can be read"), cure)
}

/// `CONFIG GET` was answered without a setting that the check needs. That is never taken for a good value of it.
fn config_lacks(check: &'static str, name: &str) -> Finding {
    let found = format!("`CONFIG GET {name}` says nothing that can be read");
    Finding::unknown(
        check,
        found,
        "ask the server's operator for it; where it is left out for all, ask the provider",
    )
}

/// A time, to the microsecond.
fn shown(time: Duration) -> String {
    format!("{:?}", Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)))
}

/// Bytes, in a unit in which there are not too many.
fn bytes(count: u64) -> String {
    match count {
        0..0x2800 => format!("{count} bytes"),
        0x2800..0xa0_0000 => format!("{} KiB", count >> 10),
        _ => format!("{} MiB", count >> 20),
    }
}

/// The worse of two, the first of equals.
fn worse(one: Finding, other: Finding) -> Finding {
    let rank = |finding: &Finding| Grade::ALL.iter().position(|grade| *grade == finding.grade);
    if rank(&other) < rank(&one) { other } else { one }
}
