//! Checks persistence: failed saves, stalls caused by saving, and what a restart loses.

use std::time::Duration;

use super::super::finding::Finding;
use super::super::observations::{Fields, Observations};
use super::super::remedies::cure;
use super::{by_config, by_info, config_lacks, info_lacks, shown, worse};
use tollgate_redis::Cause;

const SAVING: &str = "saving";
const STALLS: &str = "stalls";
const RESTART: &str = "restart";

/// The field of `INFO` that shows whether the append-only file is enabled.
const APPENDS: &str = "aof_enabled";

/// Checks whether the last save succeeded.
pub(super) fn saving(found: &Observations) -> Finding {
    by_info(found, SAVING, |info| {
        let failed = |name: &str| info.get(name).is_some_and(|status| status != "ok");
        let appends = appends(info);
        if appends == Some(true) && failed("aof_last_write_status") {
            let found = "writing the append-only file failed, so the server rejects writes";
            return Finding::fault(
                SAVING,
                found,
                "find the reason in the server's log (usually a full disk), and fix it",
            );
        }
        if failed("rdb_last_bgsave_status") {
            return snapshot_failed(found);
        }
        if appends == Some(true) && failed("aof_last_bgrewrite_status") {
            let found = "rewriting the append-only file failed, so it keeps growing";
            return Finding::warning(
                SAVING,
                found,
                "find the reason in the server's log, then run `BGREWRITEAOF`",
            );
        }
        if appends.is_none() {
            return info_lacks(SAVING, ("persistence", APPENDS));
        }
        let of_appending = ["aof_last_write_status", "aof_last_bgrewrite_status"];
        let needed = of_appending.into_iter().filter(|_| appends == Some(true));
        let missing = needed.chain(["rdb_last_bgsave_status"]).find(|name| info.get(name).is_none());
        missing.map_or_else(
            || Finding::good(SAVING, "the last save succeeded"),
            |name| info_lacks(SAVING, ("persistence", name)),
        )
    })
}

/// Whether the append-only file is enabled; `None` if the server does not say.
fn appends(info: &Fields) -> Option<bool> {
    match info.get(APPENDS)? {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

fn snapshot_failed(found: &Observations) -> Finding {
    let config = |name: &str| found.config.as_ref().ok().and_then(|config| config.get(name));
    match (config("stop-writes-on-bgsave-error"), config("save")) {
        (Some("no"), _) => Finding::warning(
            SAVING,
            "the last snapshot failed; the server still accepts writes",
            "find the reason in the server's log (usually a full disk), and fix it",
        ),
        (_, Some("")) => Finding::note(
            SAVING,
            "the last snapshot failed; automatic snapshots are disabled",
            "find the reason in the server's log, or ignore it",
        ),
        (Some(_), Some(_)) => Finding::fault(
            SAVING,
            "the last snapshot failed, so the server rejects writes: every decision fails (MISCONF)",
            cure(Cause::Misconf),
        ),
        (None, _) | (_, None) => Finding::warning(
            SAVING,
            "the last snapshot failed; with `stop-writes-on-bgsave-error yes` every decision fails (MISCONF)",
            cure(Cause::Misconf),
        ),
    }
}

/// Checks how long decisions wait while the server saves.
pub(super) fn stalls(found: &Observations) -> Finding {
    by_info(found, STALLS, |info| worse(fork(found, info), fsync(found, info)))
}

fn fork(found: &Observations, info: &Fields) -> Finding {
    let Some(fork) = info.number("latest_fork_usec").map(Duration::from_micros) else {
        return info_lacks(STALLS, ("stats", "latest_fork_usec"));
    };
    if fork > found.budget {
        let sentence = format!(
            "the last fork, for a snapshot or a rewrite, blocked the server for {}, longer than the time budget of {}",
            shown(fork),
            shown(found.budget)
        );
        let cure =
            "save on a replica instead (`CONFIG SET save \"\"` here), or give Tollgate its own small server";
        return Finding::warning(STALLS, sentence, cure);
    }
    let last = match fork {
        Duration::ZERO => "no fork yet".into(),
        fork => format!("the last fork took {}", shown(fork)),
    };
    Finding::good(STALLS, format!("decisions do not wait for the disk; {last}"))
}

fn fsync(found: &Observations, info: &Fields) -> Finding {
    match appends(info) {
        Some(true) => {}
        Some(false) => return Finding::good(STALLS, String::new()),
        None => return info_lacks(STALLS, ("persistence", APPENDS)),
    }
    by_config(found, STALLS, |_, config| {
        match config.get("appendfsync") {
            Some("always") => {
                let found = "`appendfsync always`: every decision waits for the disk";
                return Finding::warning(
                    STALLS,
                    found,
                    "`CONFIG SET appendfsync everysec`, and the same in redis.conf",
                );
            }
            Some("everysec" | "no") => {}
            Some(_) | None => return config_lacks(STALLS, "appendfsync"),
        }
        match info.number("aof_delayed_fsync") {
            Some(1..) => {
                let late = info.get("aof_delayed_fsync").unwrap_or_default();
                let found = format!("the disk delayed decisions {late} times since the server started");
                let cure = "use a faster disk, `CONFIG SET no-appendfsync-on-rewrite yes`, or `CONFIG SET appendonly no`";
                Finding::warning(STALLS, found, cure)
            }
            Some(0) => Finding::good(STALLS, String::new()),
            None => info_lacks(STALLS, ("persistence", "aof_delayed_fsync")),
        }
    })
}

/// Reports what a restart loses.
pub(super) fn restart(found: &Observations) -> Finding {
    by_config(found, RESTART, |info, config| {
        let Some(appends) = appends(info) else {
            return info_lacks(RESTART, ("persistence", APPENDS));
        };
        if appends {
            return match config.get("appendfsync") {
                Some("always") => Finding::good(RESTART, "a restart loses nothing"),
                Some("no") => {
                    Finding::good(RESTART, "a crash may lose the charges of the last half minute or so")
                }
                Some("everysec") => {
                    Finding::good(RESTART, "a crash may lose the charges of the last second or two")
                }
                Some(_) | None => config_lacks(RESTART, "appendfsync"),
            };
        }
        let cure = "do nothing if that is acceptable; otherwise `CONFIG SET appendonly yes`, with `appendfsync everysec`";
        match config.get("save") {
            Some("") => {
                let found = "nothing is saved: after a restart, all states start afresh";
                Finding::note(RESTART, found, cure)
            }
            Some(_) => {
                let found = "only snapshots are saved: a crash loses the charges since the last one";
                Finding::note(RESTART, found, cure)
            }
            None => Finding::unknown(
                RESTART,
                "`CONFIG GET save` returns nothing",
                "ask the server's operator what is saved",
            ),
        }
    })
}
