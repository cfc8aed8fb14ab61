//! Whether decisions are made there, how long they take, and what held them up. Not why the server is set up as it is.

use std::time::Duration;

use tollgate_redis::StoreError;

use super::super::cures::cure;
use super::super::finding::Finding;
use super::super::found::Found;
use super::shown;

const DECISIONS: &str = "decisions";
const LATENCY: &str = "latency";
const SLOW: &str = "slow";

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
                StoreError::Foreign(_) => {
                    "somebody else writes keys that begin with `tg1:`: give Tollgate a server or a database of its own"
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
    let slow = match &found.slow {
        Ok(slow) => slow,
        Err(why) => {
            let user = found.user.as_deref().unwrap_or("default");
            let cure = format!(
                "`ACL SETUSER {user} +slowlog|get +latency|latest`, or ask with the user of an operator"
            );
            return Finding::unknown(SLOW, format!("it cannot be told without `SLOWLOG GET`: {why}"), cure);
        }
    };
    let held = |took: Duration, ago: Duration| took > found.budget / 2 && ago <= LATELY;
    let mut lately = slow.iter().filter(|slow| held(slow.took, slow.ago));
    let Some(worst) = lately.next() else {
        return Finding::good(
            SLOW,
            "nothing held the server for long in the last hour, as far as it remembers",
        );
    };
    let found = format!(
        "`{}` held the server for {}, {} s ago, and {} others did in the last hour: meanwhile nobody gets a decision",
        worst.what,
        shown(worst.took),
        worst.ago.as_secs(),
        lately.count()
    );
    Finding::warning(
        SLOW,
        found,
        "see `redis-cli SLOWLOG GET` and `redis-cli LATENCY DOCTOR`, and do such work on a replica or another server",
    )
}
