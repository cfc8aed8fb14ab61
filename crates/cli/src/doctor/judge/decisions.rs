//! Whether decisions are made there, how long they take, and what held them up. Not why the server is set up as it is.

use std::time::Duration;

use tollgate_redis::StoreError;

use super::super::finding::Finding;
use super::super::observations::{Found, Slow};
use super::super::remedies::cure;
use super::{config_lacks, not_asked, shown};

const DECISIONS: &str = "decisions";
const LATENCY: &str = "latency";
const SLOW: &str = "slow";

/// From so many microseconds on the server remembers what held it, and so many of them.
const SLOW_FROM: &str = "slowlog-log-slower-than";
const SLOW_LENGTH: &str = "slowlog-max-len";

/// No more entries of that list are looked at.
const SLOW_SEEN: u64 = 1_024;

/// What was slow longer ago is not told any more.
const LATELY: Duration = Duration::from_secs(3600);

pub(super) fn decisions(found: &Found) -> Finding {
    match &found.decided {
        Ok(()) => Finding::good(
            DECISIONS,
            "each kind of limit was charged, asked and reset on a key of its own, and decided as it should be",
        ),
        Err(error) => {
            let what = match error {
                StoreError::Link(link) => cure(link.cause()),
                StoreError::Foreign(_) | StoreError::ForeignKind(_) => {
                    "somebody else writes keys that begin with `tg3:`: give Tollgate a server or a database of its own"
                }
                StoreError::Disagrees(_) | _ => {
                    "a proxy or another server in between changes scripts or answers: connect to Redis or Valkey itself"
                }
            };
            Finding::fault(DECISIONS, format!("there is no decision: {error}"), what)
        }
    }
}

pub(super) fn latency(found: &Found) -> Finding {
    let latency = match &found.latency {
        Ok(latency) => latency,
        Err(why) => {
            return Finding::unknown(
                LATENCY,
                format!("it could not be timed: {why}"),
                "mend that first, and ask again",
            );
        }
    };
    let budget = shown(found.budget);
    let sentence = format!(
        "{} decisions, one after the other: half within {}, 99 % within {}, all within {}; the budget is {budget}",
        latency.count,
        shown(latency.p50),
        shown(latency.p99),
        shown(latency.worst)
    );
    let cure = "bring the server nearer, give it a core of its own, see what is `slow` there, or raise `store.budget` (TOLLGATE_STORE_BUDGET)";
    if latency.p99 > found.budget {
        Finding::fault(
            LATENCY,
            format!("{sentence}: so many decisions are late that `when_store_fails` is the rule"),
            cure,
        )
    } else if latency.p99 > found.budget / 2 {
        Finding::warning(
            LATENCY,
            format!("{sentence}: more than half of it is used up without any load"),
            cure,
        )
    } else {
        Finding::good(LATENCY, sentence)
    }
}

pub(super) fn slow(found: &Found) -> Finding {
    let held = |slow: &&Slow| slow.took > found.budget / 2 && slow.ago <= LATELY;
    let lately = || found.slow.iter().flatten().chain(found.events.iter().flatten()).filter(held);
    if let Some(worst) = lately().max_by_key(|slow| slow.took) {
        let sentence = format!(
            "`{}` held the server for {}, {} s ago, and {} others did in the last hour: meanwhile nobody gets a decision",
            worst.what,
            shown(worst.took),
            worst.ago.as_secs(),
            lately().count().saturating_sub(1)
        );
        return Finding::warning(
            SLOW,
            sentence,
            "see `redis-cli SLOWLOG GET` and `redis-cli LATENCY DOCTOR`, and do such work on a replica or another server",
        );
    }
    // Nothing is known to be wrong. Of what could not be asked, nothing is known to be right either.
    match (&found.slow, &found.events) {
        (Err(why), _) => not_asked(found, SLOW, ("SLOWLOG GET", "+slowlog|get +latency|latest"), why),
        (_, Err(why)) => not_asked(found, SLOW, ("LATENCY LATEST", "+latency|latest"), why),
        (Ok(_), Ok(_)) => remembers(found),
    }
}

/// Nothing is in the list of what was slow. That is good only if the server would have put it there.
fn remembers(found: &Found) -> Finding {
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
    // A negative number turns the list off.
    let Ok(from) = u64::try_from(from).map(Duration::from_micros) else {
        let found = format!("`{SLOW_FROM} {from}`: the server does not remember what held it");
        return Finding::unknown(SLOW, found, cure);
    };
    if from > half {
        let found = format!(
            "the server remembers only what held it for {} and longer (`{SLOW_FROM}`), and half of the budget is {}",
            shown(from),
            shown(half)
        );
        return Finding::unknown(SLOW, found, cure);
    }
    if length == 0 {
        let found = format!("`{SLOW_LENGTH} 0`: the server does not remember what held it");
        let cure = format!("`CONFIG SET {SLOW_LENGTH} 128`, and the same in redis.conf");
        return Finding::unknown(SLOW, found, cure);
    }
    // A full list has forgotten what came before its oldest entry.
    let commands = found.slow.iter().flatten();
    let oldest = commands.clone().map(|slow| slow.ago).max().unwrap_or_default();
    if u64::try_from(commands.count()).unwrap_or(u64::MAX) >= length.min(SLOW_SEEN) && oldest < LATELY {
        let found =
            format!("the list of what held the server is full, and goes back {} s only", oldest.as_secs());
        let cure = format!(
            "`CONFIG SET {SLOW_FROM} {}` and a longer `{SLOW_LENGTH}`, and the same in redis.conf",
            half.as_micros()
        );
        return Finding::unknown(SLOW, found, cure);
    }
    Finding::good(SLOW, "nothing held the server for long in the last hour, as far as it remembers")
}
