//! Whether the server takes writes and keeps connections: replicas, clients, idle connections, endless scripts. Not how fast it is.

use super::super::finding::Finding;
use super::super::observations::Found;
use super::{by_config, by_info, info_lacks};

const REPLICAS: &str = "replicas";
const CLIENTS: &str = "clients";
const IDLE: &str = "idle";
const ENDLESS: &str = "scripts";

/// From so many hundredths of `maxclients` on there is little room.
const FULL_PERCENT: u64 = 80;

pub(super) fn replicas(found: &Found) -> Finding {
    by_config(found, REPLICAS, |info, config| {
        let wanted = config.number("min-replicas-to-write").or_else(|| config.number("min-slaves-to-write"));
        let Some(wanted) = wanted else {
            return Finding::unknown(
                REPLICAS,
                "`CONFIG GET min-replicas-to-write` says nothing",
                "ask the server's operator for it",
            );
        };
        if wanted == 0 {
            return Finding::good(REPLICAS, "it takes writes whether or not there are replicas");
        }
        match info.number("min_slaves_good_slaves") {
            Some(good) if good >= wanted => {
                Finding::good(REPLICAS, format!("{good} of the {wanted} that it needs to take writes"))
            }
            Some(good) => {
                let found = format!(
                    "`min-replicas-to-write` is {wanted}, and there are {good}: every decision fails (NOREPLICAS)"
                );
                Finding::fault(REPLICAS, found, "start the replicas, or `CONFIG SET min-replicas-to-write 0`")
            }
            None => {
                let found = format!(
                    "`min-replicas-to-write` is {wanted}, and `INFO` does not say how many there are"
                );
                Finding::unknown(REPLICAS, found, "`redis-cli INFO replication` on the server says it")
            }
        }
    })
}

pub(super) fn clients(found: &Found) -> Finding {
    by_info(found, CLIENTS, |info| {
        let set = found.config.as_ref().ok().and_then(|config| config.number("maxclients"));
        let max = info.number("maxclients").or(set);
        let (Some(now), Some(max @ 1..)) = (info.number("connected_clients"), max) else {
            return Finding::unknown(
                CLIENTS,
                "the server does not say how many clients it may have",
                "`redis-cli INFO clients` on the server says it",
            );
        };
        let sentence = format!("{now} of {max} connections are in use");
        if now.saturating_mul(100) / max >= FULL_PERCENT {
            let cure =
                "`CONFIG SET maxclients …` to more, or find out who keeps them open: `redis-cli CLIENT LIST`";
            return Finding::warning(CLIENTS, format!("{sentence}: soon new ones are refused"), cure);
        }
        match info.number("rejected_connections") {
            Some(rejected @ 1..) => {
                let found = format!(
                    "{sentence}; {rejected} were refused since it started, because there were too many"
                );
                Finding::note(CLIENTS, found, "`CONFIG SET maxclients …` to more, if that may happen again")
            }
            Some(0) => Finding::good(CLIENTS, sentence),
            None => info_lacks(CLIENTS, ("stats", "rejected_connections")),
        }
    })
}

pub(super) fn idle(found: &Found) -> Finding {
    by_config(found, IDLE, |_, config| match config.number("timeout") {
        Some(0) => Finding::good(IDLE, "idle connections are kept"),
        Some(seconds) => {
            let found = format!(
                "a connection that is idle for {seconds} s is closed; it is made anew by itself, and decisions in that moment go by `when_store_fails`"
            );
            Finding::note(IDLE, found, "`CONFIG SET timeout 0`, and the same in redis.conf")
        }
        None => {
            Finding::unknown(IDLE, "`CONFIG GET timeout` says nothing", "ask the server's operator for it")
        }
    })
}

/// A script of somebody else that does not end: after a while the server says so, and until then it says nothing.
pub(super) fn endless(found: &Found) -> Finding {
    by_config(found, ENDLESS, |_, config| {
        let limit = config.number("lua-time-limit").or_else(|| config.number("busy-reply-threshold"));
        match limit {
            Some(0) => {
                let found = "`busy-reply-threshold` is 0: while somebody's script runs, nobody is told and nobody can stop it";
                Finding::warning(
                    ENDLESS,
                    found,
                    "`CONFIG SET busy-reply-threshold 5000` (before Redis 7 `lua-time-limit`)",
                )
            }
            Some(limit) => {
                Finding::good(ENDLESS, format!("somebody's endless script can be stopped after {limit} ms"))
            }
            None => Finding::unknown(
                ENDLESS,
                "`CONFIG GET lua-time-limit` says nothing",
                "ask the server's operator for it",
            ),
        }
    })
}
