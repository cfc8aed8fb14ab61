//! Checks of availability: replicas required for writes, client connections, idle timeouts, stuck scripts.

use super::super::finding::Finding;
use super::super::observations::Observations;
use super::{by_config, by_info, info_lacks};

const REPLICAS: &str = "replicas";
const CLIENTS: &str = "clients";
const IDLE: &str = "idle";
const ENDLESS: &str = "scripts";

/// Percentage of `maxclients` from which the check warns.
const FULL_PERCENT: u64 = 80;

pub(super) fn replicas(found: &Observations) -> Finding {
    by_config(found, REPLICAS, |info, config| {
        let wanted = config.number("min-replicas-to-write").or_else(|| config.number("min-slaves-to-write"));
        let Some(wanted) = wanted else {
            return Finding::unknown(
                REPLICAS,
                "`CONFIG GET min-replicas-to-write` returns nothing",
                "ask the server's operator",
            );
        };
        if wanted == 0 {
            return Finding::good(REPLICAS, "writes do not require replicas");
        }
        match info.number("min_slaves_good_slaves") {
            Some(good) if good >= wanted => {
                Finding::good(REPLICAS, format!("{good} connected, and writes require {wanted}"))
            }
            Some(good) => {
                let found = format!(
                    "`min-replicas-to-write` is {wanted}, but {good} are connected: every decision fails (NOREPLICAS)"
                );
                Finding::fault(REPLICAS, found, "start the replicas, or `CONFIG SET min-replicas-to-write 0`")
            }
            None => {
                let found = format!(
                    "`min-replicas-to-write` is {wanted}, and `INFO` does not say how many are connected"
                );
                Finding::unknown(REPLICAS, found, "run `redis-cli INFO replication` on the server")
            }
        }
    })
}

pub(super) fn clients(found: &Observations) -> Finding {
    by_info(found, CLIENTS, |info| {
        let set = found.config.as_ref().ok().and_then(|config| config.number("maxclients"));
        let max = info.number("maxclients").or(set);
        let (Some(now), Some(max @ 1..)) = (info.number("connected_clients"), max) else {
            return Finding::unknown(
                CLIENTS,
                "the server does not report its maximum number of clients",
                "run `redis-cli INFO clients` on the server",
            );
        };
        let sentence = format!("{now} of {max} connections are in use");
        if now.saturating_mul(100) / max >= FULL_PERCENT {
            let cure = "raise the maximum with `CONFIG SET maxclients …`, or find out who holds connections with `redis-cli CLIENT LIST`";
            return Finding::warning(CLIENTS, format!("{sentence}: new ones will soon be refused"), cure);
        }
        match info.number("rejected_connections") {
            Some(rejected @ 1..) => {
                let found = format!(
                    "{sentence}; the server has refused {rejected} since it started, because there were too many"
                );
                Finding::note(
                    CLIENTS,
                    found,
                    "raise the maximum with `CONFIG SET maxclients …` if that may happen again",
                )
            }
            Some(0) => Finding::good(CLIENTS, sentence),
            None => info_lacks(CLIENTS, ("stats", "rejected_connections")),
        }
    })
}

pub(super) fn idle(found: &Observations) -> Finding {
    by_config(found, IDLE, |_, config| match config.number("timeout") {
        Some(0) => Finding::good(IDLE, "idle connections stay open"),
        Some(seconds) => {
            let found = format!(
                "the server closes connections that are idle for {seconds} s; Tollgate reconnects, and `when_store_fails` applies meanwhile"
            );
            Finding::note(IDLE, found, "`CONFIG SET timeout 0`, and the same in redis.conf")
        }
        None => Finding::unknown(IDLE, "`CONFIG GET timeout` returns nothing", "ask the server's operator"),
    })
}

/// Another client's script that does not end: the server reports it only after this limit.
pub(super) fn endless(found: &Observations) -> Finding {
    by_config(found, ENDLESS, |_, config| {
        let limit = config.number("lua-time-limit").or_else(|| config.number("busy-reply-threshold"));
        match limit {
            Some(0) => {
                let found = "`busy-reply-threshold` is 0: a script that does not end blocks the server and cannot be killed";
                Finding::warning(
                    ENDLESS,
                    found,
                    "`CONFIG SET busy-reply-threshold 5000` (before Redis 7 `lua-time-limit`)",
                )
            }
            Some(limit) => {
                Finding::good(ENDLESS, format!("a script that does not end can be killed after {limit} ms"))
            }
            None => Finding::unknown(
                ENDLESS,
                "`CONFIG GET lua-time-limit` returns nothing",
                "ask the server's operator",
            ),
        }
    })
}
