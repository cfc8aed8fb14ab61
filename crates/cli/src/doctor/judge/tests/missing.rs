//! Replies that lack a field, or have a malformed one: the check is "not known", never good.

use super::super::super::finding::Grade;
use super::super::super::observations::Observations;
use super::{CONFIG, INFO, bad, but, cure, good};
use crate::doctor::judge::judge;

/// Fields that stand in for each other, of `INFO` and of `CONFIG`, and the checks that cannot do without them.
type Row = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

const ROWS: &[Row] = &[
    (&["redis_version"], &[], &["version"]),
    (&["role"], &[], &["role"]),
    (&["cluster_enabled", "redis_mode"], &[], &["role"]),
    (&["maxmemory"], &[], &["eviction", "memory"]),
    (&["maxmemory_policy"], &[], &["eviction"]),
    (&["evicted_keys"], &[], &["eviction"]),
    (&["used_memory"], &[], &["memory"]),
    (&["# Keyspace", "db0"], &[], &["database"]),
    (&["rdb_last_bgsave_status"], &[], &["saving"]),
    (&["aof_enabled"], &[], &["saving", "stalls", "restart"]),
    (&["aof_last_write_status"], &[], &["saving"]),
    (&["aof_last_bgrewrite_status"], &[], &["saving"]),
    (&["aof_delayed_fsync"], &[], &["stalls"]),
    (&["latest_fork_usec"], &[], &["stalls"]),
    (&["connected_clients"], &[], &["clients"]),
    (&["maxclients"], &["maxclients"], &["clients"]),
    (&["rejected_connections"], &[], &["clients"]),
    (&[], &["appendfsync"], &["stalls", "restart"]),
    (&[], &["lua-time-limit"], &["scripts"]),
    (&[], &["min-replicas-to-write"], &["replicas"]),
    (&[], &["slowlog-log-slower-than"], &["slow"]),
    (&[], &["slowlog-max-len"], &["slow"]),
    (&[], &["timeout"], &["idle"]),
];

/// What a good server is not judged by: they count only after a snapshot failed, or without an append-only file.
const NOT_NEEDED: &[&str] = &["save", "stop-writes-on-bgsave-error"];

/// The good server, whose answers lack these.
fn without(info: &[&str], config: &[&str]) -> Observations {
    let left = |all: &[(&'static str, &'static str)], gone: &[&str]| {
        all.iter().copied().filter(|(name, _)| !gone.contains(name)).collect()
    };
    Observations { info: Ok(left(INFO, info)), config: Ok(left(CONFIG, config)), ..good() }
}

#[test]
fn each_field_that_is_missing_makes_its_checks_not_known_and_no_other() {
    for (info, config, checks) in ROWS {
        let expected: Vec<_> = checks.iter().map(|check| (*check, Grade::Unknown)).collect();
        assert_eq!(bad(&without(info, config)), expected, "without {info:?} and {config:?}");
    }
}

#[test]
fn each_field_that_cannot_be_read_leaves_none_of_its_checks_good() {
    for (info, config, checks) in ROWS {
        let garbled = |names: &[&'static str]| names.iter().map(|name| (*name, "?")).collect::<Vec<_>>();
        let found = but(&garbled(info), &garbled(config));
        let bad: Vec<_> = bad(&found).into_iter().map(|(check, _)| check).collect();
        assert_eq!(bad, *checks, "with ? for {info:?} and {config:?}");
    }
}

#[test]
fn every_field_of_the_good_server_is_in_the_table() {
    let names =
        INFO.iter().map(|(name, _)| (true, *name)).chain(CONFIG.iter().map(|(name, _)| (false, *name)));
    for (of_info, name) in names {
        let told = ROWS.iter().any(|(info, config, _)| if of_info { info } else { config }.contains(&name));
        assert_ne!(told, NOT_NEEDED.contains(&name), "{name}");
    }
    for name in NOT_NEEDED {
        assert_eq!(bad(&without(&[], &[name])), [], "{name}");
    }
}

#[test]
fn what_a_good_server_is_not_judged_by_is_missed_where_it_counts() {
    let mut found = without(&[], &["save"]);
    found.info.as_mut().unwrap().put("aof_enabled", "0");
    assert_eq!(bad(&found), [("restart", Grade::Unknown)]);
    for name in NOT_NEEDED {
        let mut found = without(&[], &[name]);
        found.info.as_mut().unwrap().put("rdb_last_bgsave_status", "err");
        assert!(bad(&found).iter().any(|(check, _)| *check == "saving"), "{name}");
    }
}

#[test]
fn an_empty_server_has_no_keys_and_one_that_tells_nothing_of_keys_may_have_some() {
    let told =
        |found: &Observations| judge(found).into_iter().find(|finding| finding.check == "database").unwrap();
    let empty = told(&without(&["db0"], &[]));
    assert_eq!((empty.grade, empty.found.as_str()), (Grade::Good, "no keys yet"));
    let untold = without(&["# Keyspace", "db0"], &[]);
    assert_eq!(told(&untold).grade, Grade::Unknown);
    assert!(cure(&untold, "database").starts_with("run `redis-cli INFO keyspace`"));
    for line in ["keys=3", "expires=3", "keys=?,expires=0", ""] {
        assert_eq!(told(&but(&[("db0", line)], &[])).grade, Grade::Unknown, "{line}");
    }
}
