//! Checks that decisions work, how long they take, and what blocked the server recently.

use std::time::Duration;

use tollgate_redis::StoreError;

use super::super::finding::Finding;
use super::super::observations::{Observations, SlowEvent};
use super::super::remedies::cure;
use super::{config_lacks, not_asked, shown};

const DECISIONS: &str = "decisions";
const LATENCY: &str = "latency";
const SLOW: &str = "slow";

/// The server's settings for its slow log: minimum duration in microseconds, and number of entries.
const SLOW_FROM: &str = "slowlog-log-slower-than";
const SLOW_LENGTH: &str = "slowlog-max-len";

/// Maximum number of slow-log entries read.
const SLOW_SEEN: u64 = 1_024;

/// Maximum age of a reported slow command.
const LATELY: Duration = Duration::from_secs(3600);

pub(super) fn decisions(found: &Observations) -> Finding {
    match &found.decided {
        Ok(()) => Finding::good(
            DECISIONS,
            "every kind of limit was charged, peeked and reset on a key of its own, with correct results",
        ),
        Err(error) => {
            let what = match error {
                StoreError::Link(link) => cure(link.cause()),
                StoreError::Foreign(_) | StoreError::ForeignKind(_) => {
                    "another program writes keys that begin with `tg3:`: give Tollgate its own server or database"
                }
                StoreError::Disagrees(_) | _ => {
                    "a proxy or an incompatible server changes scripts or replies: connect to Redis or Valkey directly"
                }
            };
            Finding::fault(DECISIONS, format!("no decision: {error}"), what)
        }
    }
}

pub(super) fn latency(found: &Observations) -> Finding {
    let latency = match &found.latency {
        Ok(latency) => latency,
        Err(why) => {
            return Finding::unknown(
                LATENCY,
                format!("could not be measured: {why}"),
                "fix that first, then run doctor again",
            );
        }
    };
    let budget = shown(found.budget);
    let sentence = format!(
        "{} decisions in sequence: p50 {}, p99 {}, maximum {}; the time budget is {budget}",
        latency.count,
        shown(latency.p50),
        shown(latency.p99),
        shown(latency.worst)
    );
    let cure = "move the server nearer, give it a core of its own, look at the check `slow`, or raise `store.budget` (TOLLGATE_STORE_BUDGET)";
    if latency.p99 > found.budget {
        Finding::fault(
            LATENCY,
            format!("{sentence}: more than 1 % of decisions time out, and `when_store_fails` applies"),
            cure,
        )
    } else if latency.p99 > found.budget / 2 {
        Finding::warning(
            LATENCY,
            format!("{sentence}: p99 takes more than half of it without any load"),
            cure,
        )
    } else {
        Finding::good(LATENCY, sentence)
    }
}

pub(super) fn slow(found: &Observations) -> Finding {
    let held = |slow: &&SlowEvent| slow.took > found.budget / 2 && slow.ago <= LATELY;
    let lately = || found.slow.iter().flatten().chain(found.events.iter().flatten()).filter(held);
    if let Some(worst) = lately().max_by_key(|slow| slow.took) {
        let sentence = format!(
            "`{}` blocked the server for {}, {} s ago, and {} others did in the last hour: decisions wait meanwhile",
            worst.what,
            shown(worst.took),
            worst.ago.as_secs(),
            lately().count().saturating_sub(1)
        );
        return Finding::warning(
            SLOW,
            sentence,
            "see `redis-cli SLOWLOG GET` and `redis-cli LATENCY DOCTOR`, and move such work to a replica or another server",
        );
    }
    // Nothing slow was found. What could not be queried remains unknown.
    match (&found.slow, &found.events) {
        (Err(why), _) => not_asked(found, SLOW, ("SLOWLOG GET", "+slowlog|get +latency|latest"), why),
        (_, Err(why)) => not_asked(found, SLOW, ("LATENCY LATEST", "+latency|latest"), why),
        (Ok(_), Ok(_)) => remembers(found),
    }
}

/// The slow log is empty. That is good only if the server would have recorded slow commands.
fn remembers(found: &Observations) -> Finding {
    let config = match &found.config {
        Ok(config) => config,
        Err(why) => return not_asked(found, SLOW, ("CONFIG GET", "+config|get"), why),
    };
    let half = found.budget / 2;
    let Some(from) = config.get(SLOW_FROM).and_then(|text| text.parse::<i64>().ok()) else {
        return config_lacks(SLOW, SLOW_FROM);
    };
    let Some(length) = config.number(SLOW_LENGTH) else {
        return config_lacks(SLOW, SLOW_LENGTH);
    };
    let cure = format!("`CONFIG SET {SLOW_FROM} {}`, and the same in redis.conf", half.as_micros());
    // A negative number disables the slow log.
    let Ok(from) = u64::try_from(from).map(Duration::from_micros) else {
        let found = format!("`{SLOW_FROM} {from}`: the slow log is disabled");
        return Finding::unknown(SLOW, found, cure);
    };
    if from > half {
        let found = format!(
            "the slow log starts at {} (`{SLOW_FROM}`), which is more than half of the time budget, {}",
            shown(from),
            shown(half)
        );
        return Finding::unknown(SLOW, found, cure);
    }
    if length == 0 {
        let found = format!("`{SLOW_LENGTH} 0`: the slow log is disabled");
        let cure = format!("`CONFIG SET {SLOW_LENGTH} 128`, and the same in redis.conf");
        return Finding::unknown(SLOW, found, cure);
    }
    // A full slow log has dropped everything before its oldest entry.
    let commands = found.slow.iter().flatten();
    let oldest = commands.clone().map(|slow| slow.ago).max().unwrap_or_default();
    if u64::try_from(commands.count()).unwrap_or(u64::MAX) >= length.min(SLOW_SEEN) && oldest < LATELY {
        let found = format!("the slow log is full and goes back only {} s", oldest.as_secs());
        let cure = format!(
            "`CONFIG SET {SLOW_FROM} {}` and a longer `{SLOW_LENGTH}`, and the same in redis.conf",
            half.as_micros()
        );
        return Finding::unknown(SLOW, found, cure);
    }
    Finding::good(SLOW, "the slow log shows nothing that blocked the server in the last hour")
}
