//! Saving: whether it fails, whether decisions wait for it, and what a restart forgets. Not what the server evicts.

use std::time::Duration;

use super::super::cures::cure;
use super::super::finding::Finding;
use super::super::found::{Fields, Found};
use super::{by_config, by_info, shown, worse};
use tollgate_redis::Cause;

const SAVING: &str = "saving";
const STALLS: &str = "stalls";
const RESTART: &str = "restart";

/// Whether the last save went well, and what follows if not.
pub(super) fn saving(found: &Found) -> Finding {
    by_info(found, SAVING, |info| {
        let failed = |name: &str| info.get(name).is_some_and(|status| status != "ok");
        if info.get("aof_enabled") == Some("1") && failed("aof_last_write_status") {
            let found = "the append-only file could not be written, and the server takes no writes";
            return Finding::fault(
                SAVING,
                found,
                "see in the server's log why (mostly: the disk is full), and mend that",
            );
        }
        if failed("rdb_last_bgsave_status") {
            return snapshot_failed(found);
        }
        if info.get("aof_enabled") == Some("1") && failed("aof_last_bgrewrite_status") {
            let found = "the append-only file could not be rewritten, and grows until it can";
            return Finding::warning(SAVING, found, "see in the server's log why, and then `BGREWRITEAOF`");
        }
        Finding::good(SAVING, "nothing failed when it was saved last")
    })
}

fn snapshot_failed(found: &Found) -> Finding {
    let config = |name: &str| found.config.as_ref().ok().and_then(|config| config.get(name));
    match (config("stop-writes-on-bgsave-error"), config("save")) {
        (Some("no"), _) => Finding::warning(
            SAVING,
            "the last snapshot failed; the server goes on taking writes",
            "see in the server's log why (mostly: the disk is full), and mend that",
        ),
        (_, Some("")) => Finding::note(
            SAVING,
            "the last snapshot failed; none are made by themselves",
            "see in the server's log why, or leave it",
        ),
        (Some(_), Some(_)) => Finding::fault(
            SAVING,
            "the last snapshot failed, and so the server takes no writes: every decision fails (MISCONF)",
            cure(Cause::Misconf),
        ),
        (None, _) | (_, None) => Finding::warning(
            SAVING,
            "the last snapshot failed; with `stop-writes-on-bgsave-error yes` every decision fails (MISCONF)",
            cure(Cause::Misconf),
        ),
    }
}

/// What decisions wait for while the server saves.
pub(super) fn stalls(found: &Found) -> Finding {
    by_info(found, STALLS, |info| worse(fork(found, info), fsync(found, info)))
}

fn fork(found: &Found, info: &Fields) -> Finding {
    let fork = Duration::from_micros(info.number("latest_fork_usec").unwrap_or(0));
    if fork > found.budget {
        let sentence = format!(
            "the last fork, for a snapshot or a rewrite, held the server for {}, longer than the budget of {}",
            shown(fork),
            shown(found.budget)
        );
        let cure = "save on a replica and not here (`CONFIG SET save \"\"`), or give Tollgate a small server of its own";
        return Finding::warning(STALLS, sentence, cure);
    }
    let last = match fork {
        Duration::ZERO => "it has not forked yet".into(),
        fork => format!("the last fork took {}", shown(fork)),
    };
    Finding::good(STALLS, format!("decisions do not wait for the disk; {last}"))
}

fn fsync(found: &Found, info: &Fields) -> Finding {
    if info.get("aof_enabled") != Some("1") {
        return Finding::good(STALLS, String::new());
    }
    by_config(found, STALLS, |_, config| {
        if config.get("appendfsync") == Some("always") {
            let found = "`appendfsync always`: every decision waits for the disk";
            return Finding::warning(
                STALLS,
                found,
                "`CONFIG SET appendfsync everysec`, and the same in redis.conf",
            );
        }
        match info.number("aof_delayed_fsync") {
            Some(1..) => {
                let late = info.get("aof_delayed_fsync").unwrap_or_default();
                let found = format!(
                    "the disk was late {late} times since the server started, and decisions waited for it"
                );
                let cure = "give it a quicker disk, `CONFIG SET no-appendfsync-on-rewrite yes`, or `CONFIG SET appendonly no`";
                Finding::warning(STALLS, found, cure)
            }
            Some(0) | None => Finding::good(STALLS, String::new()),
        }
    })
}

/// What a restart forgets. That is nobody's fault.
pub(super) fn restart(found: &Found) -> Finding {
    by_config(found, RESTART, |info, config| {
        if info.get("aof_enabled") == Some("1") {
            return match config.get("appendfsync") {
                Some("always") => Finding::good(RESTART, "nothing is forgotten by a restart"),
                Some("no") => Finding::good(
                    RESTART,
                    "what was charged in the last half a minute or so may be forgotten by a crash",
                ),
                Some(_) | None => Finding::good(
                    RESTART,
                    "what was charged in the last second or two may be forgotten by a crash",
                ),
            };
        }
        let cure = "nothing has to be done if that is all right; else `CONFIG SET appendonly yes`, with `appendfsync everysec`";
        match config.get("save") {
            Some("") => {
                let found = "nothing is saved: after a restart all budgets begin anew";
                Finding::note(RESTART, found, cure)
            }
            Some(_) => {
                let found =
                    "only snapshots are saved: after a crash budgets stand as they did at the last one";
                Finding::note(RESTART, found, cure)
            }
            None => Finding::unknown(
                RESTART,
                "`CONFIG GET save` says nothing",
                "ask the server's operator what is saved",
            ),
        }
    })
}
