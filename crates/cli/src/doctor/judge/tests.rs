//! Tables of observations and findings: one good server, changed in one respect at a time.

mod missing;

use std::time::Duration;

use tollgate_redis::{Cause, LinkError, StoreError};

use super::super::finding::Grade;
use super::super::observations::{Clock, Fields, Latency, MissingPermissions, Observations, SlowEvent};
use super::{bytes, judge, unreachable};

/// What a good server says.
const INFO: &[(&str, &str)] = &[
    ("redis_version", "7.0.15"),
    ("redis_mode", "standalone"),
    ("role", "master"),
    ("cluster_enabled", "0"),
    ("maxmemory", "1000000"),
    ("maxmemory_policy", "noeviction"),
    ("used_memory", "500000"),
    ("evicted_keys", "0"),
    ("# Keyspace", ""),
    ("db0", "keys=3,expires=3,avg_ttl=0"),
    ("rdb_last_bgsave_status", "ok"),
    ("aof_enabled", "1"),
    ("aof_last_write_status", "ok"),
    ("aof_last_bgrewrite_status", "ok"),
    ("aof_delayed_fsync", "0"),
    ("latest_fork_usec", "300"),
    ("connected_clients", "10"),
    ("maxclients", "10000"),
    ("rejected_connections", "0"),
];

/// How a good server is set up.
const CONFIG: &[(&str, &str)] = &[
    ("appendfsync", "everysec"),
    ("lua-time-limit", "5000"),
    ("maxclients", "10000"),
    ("min-replicas-to-write", "0"),
    ("save", ""),
    ("slowlog-log-slower-than", "10000"),
    ("slowlog-max-len", "128"),
    ("stop-writes-on-bgsave-error", "yes"),
    ("timeout", "0"),
];

fn good() -> Observations {
    let ms = Duration::from_millis;
    Observations {
        at: "rediss://gate:***@host:6379/0".into(),
        user: Some("gate".into()),
        has_secret: true,
        budget: ms(25),
        info: Ok(INFO.iter().copied().collect()),
        config: Ok(CONFIG.iter().copied().collect()),
        clock: Ok(Clock { ahead: -40, error: 100 }),
        rights: Ok(MissingPermissions::default()),
        may_flush: Ok(false),
        slow: Ok(Vec::new()),
        events: Ok(Vec::new()),
        decided: Ok(()),
        latency: Ok(Latency { count: 200, p50: ms(1), p99: ms(2), worst: ms(30) }),
    }
}

/// What is not good of what was found, by check and grade.
fn bad(found: &Observations) -> Vec<(&'static str, Grade)> {
    let findings = judge(found);
    for finding in &findings {
        assert_eq!(finding.grade == Grade::Good, finding.cure.is_none(), "{finding:?}");
        assert!(!finding.found.is_empty(), "{finding:?}");
    }
    let bad = findings.into_iter().filter(|finding| finding.grade != Grade::Good);
    bad.map(|finding| (finding.check, finding.grade)).collect()
}

/// The good server, with other words for some fields.
fn but(info: &[(&str, &str)], config: &[(&str, &str)]) -> Observations {
    let mut found = good();
    let put = |fields: &mut Fields, pairs: &[(&str, &str)]| {
        pairs.iter().for_each(|(name, value)| fields.put(name, value))
    };
    put(found.info.as_mut().unwrap(), info);
    put(found.config.as_mut().unwrap(), config);
    found
}

/// The cure of a check.
fn cure(found: &Observations, check: &str) -> String {
    let finding = judge(found).into_iter().find(|finding| finding.check == check);
    finding.and_then(|finding| finding.cure).unwrap_or_default()
}

#[test]
fn a_good_server_is_good_and_every_check_has_a_name_of_its_own() {
    assert_eq!(bad(&good()), []);
    let mut names: Vec<_> = judge(&good()).iter().map(|finding| finding.check).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), count), (count, 20));
}

#[test]
fn what_a_server_says_of_itself_is_judged_one_field_at_a_time() {
    use Grade::{Fault, Note, Unknown, Warning};
    type Row = (
        &'static [(&'static str, &'static str)],
        &'static [(&'static str, &'static str)],
        &'static str,
        Option<Grade>,
    );
    let rows: &[Row] = &[
        (&[("redis_version", "6.2.0")], &[], "version", None),
        (&[("redis_version", "6.0.16")], &[], "version", Some(Fault)),
        (&[("redis_version", "unstable")], &[], "version", Some(Unknown)),
        (&[("redis_version", "5.0.0"), ("valkey_version", "9.1.2")], &[], "version", None),
        (&[("dragonfly_version", "df-v1.30")], &[], "version", Some(Warning)),
        (&[("cluster_enabled", "1")], &[], "role", Some(Fault)),
        (&[("role", "slave")], &[], "role", Some(Fault)),
        (&[("role", "?")], &[], "role", Some(Unknown)),
        (&[("maxmemory_policy", "allkeys-lru")], &[], "eviction", Some(Fault)),
        (&[("maxmemory_policy", "volatile-lru")], &[], "eviction", Some(Fault)),
        (&[("maxmemory_policy", "volatile-ttl")], &[], "eviction", Some(Warning)),
        (&[("maxmemory_policy", "allkeys-lru"), ("maxmemory", "0")], &[], "eviction", Some(Note)),
        (&[("evicted_keys", "7")], &[], "eviction", Some(Note)),
        (&[("maxmemory", "?")], &[], "eviction", Some(Unknown)),
        (&[("used_memory", "899999")], &[], "memory", None),
        (&[("used_memory", "900000")], &[], "memory", Some(Warning)),
        (&[("used_memory", "1000000")], &[], "memory", Some(Fault)),
        (&[("maxmemory", "0")], &[], "memory", None),
        (&[("db0", "keys=3,expires=2,avg_ttl=0")], &[], "database", Some(Note)),
        (&[("db7", "keys=1,expires=0")], &[], "database", Some(Note)),
        (&[("rdb_last_bgsave_status", "err")], &[("save", "60 1")], "saving", Some(Fault)),
        (&[("rdb_last_bgsave_status", "err")], &[], "saving", Some(Note)),
        (
            &[("rdb_last_bgsave_status", "err")],
            &[("save", "60 1"), ("stop-writes-on-bgsave-error", "no")],
            "saving",
            Some(Warning),
        ),
        (&[("aof_last_write_status", "err")], &[], "saving", Some(Fault)),
        (&[("aof_last_write_status", "err"), ("aof_enabled", "0")], &[], "saving", None),
        (&[("aof_last_bgrewrite_status", "err")], &[], "saving", Some(Warning)),
        (&[("latest_fork_usec", "25000")], &[], "stalls", None),
        (&[("latest_fork_usec", "25001")], &[], "stalls", Some(Warning)),
        (&[], &[("appendfsync", "always")], "stalls", Some(Warning)),
        (&[("aof_enabled", "0")], &[("appendfsync", "always")], "stalls", None),
        (&[("aof_delayed_fsync", "3")], &[], "stalls", Some(Warning)),
        (&[("aof_enabled", "0")], &[], "restart", Some(Note)),
        (&[("aof_enabled", "0")], &[("save", "60 1")], "restart", Some(Note)),
        (&[], &[("min-replicas-to-write", "2")], "replicas", Some(Unknown)),
        (&[("min_slaves_good_slaves", "1")], &[("min-replicas-to-write", "2")], "replicas", Some(Fault)),
        (&[("min_slaves_good_slaves", "2")], &[("min-replicas-to-write", "2")], "replicas", None),
        (&[("connected_clients", "8000")], &[], "clients", Some(Warning)),
        (&[("connected_clients", "7999")], &[], "clients", None),
        (&[("rejected_connections", "1")], &[], "clients", Some(Note)),
        (&[], &[("timeout", "300")], "idle", Some(Note)),
        (&[], &[("timeout", "?")], "idle", Some(Unknown)),
        (&[], &[("lua-time-limit", "0")], "scripts", Some(Warning)),
        (&[], &[("slowlog-log-slower-than", "12500")], "slow", None),
        (&[], &[("slowlog-log-slower-than", "12501")], "slow", Some(Unknown)),
        (&[], &[("slowlog-log-slower-than", "0")], "slow", None),
        (&[], &[("slowlog-log-slower-than", "-1")], "slow", Some(Unknown)),
        (&[], &[("slowlog-max-len", "1")], "slow", None),
        (&[], &[("slowlog-max-len", "0")], "slow", Some(Unknown)),
    ];
    for (info, config, check, grade) in rows {
        let found = bad(&but(info, config)).into_iter().find(|(name, _)| name == check);
        assert_eq!(found.map(|(_, grade)| grade), *grade, "{check} with {info:?} and {config:?}");
    }
}

#[test]
fn a_replica_names_its_primary_and_of_a_sentinel_nothing_else_is_told() {
    let replica = but(&[("role", "slave"), ("master_host", "10.0.0.7"), ("master_port", "6380")], &[]);
    assert_eq!(cure(&replica, "role"), "name the primary in the address: `redis://10.0.0.7:6380`");
    let writable = but(&[("role", "slave"), ("master_host", "10.0.0.7"), ("slave_read_only", "0")], &[]);
    let role = judge(&writable).into_iter().find(|finding| finding.check == "role").unwrap();
    assert!(role.grade == Grade::Fault && role.found.contains("writable replica"), "{role:?}");
    assert!(!role.found.contains("READONLY"), "{role:?}");
    let sentinel = judge(&but(&[("redis_mode", "sentinel")], &[]));
    let told: Vec<_> = sentinel.iter().map(|finding| (finding.check, finding.grade)).collect();
    assert_eq!(told, [("connection", Grade::Good), ("version", Grade::Good), ("role", Grade::Fault)]);
}

#[test]
fn what_may_not_be_asked_is_not_known_and_never_good() {
    let mut found = good();
    found.config = Err("permission denied".into());
    let config = ["stalls", "restart", "replicas", "idle", "scripts", "slow"];
    assert_eq!(bad(&found), config.map(|check| (check, Grade::Unknown)));
    assert!(cure(&found, "idle").starts_with("`ACL SETUSER gate +config|get`"));
    found.info = Err("permission denied".into());
    found.clock = Err("permission denied".into());
    found.slow = Err("permission denied".into());
    found.events = Err("permission denied".into());
    found.rights = Err("the connection was lost".into());
    found.may_flush = Err("permission denied".into());
    found.latency = Err("no decision was made".into());
    let told = judge(&found);
    let good: Vec<_> =
        told.iter().filter(|finding| finding.grade == Grade::Good).map(|of| of.check).collect();
    assert_eq!(good, ["connection", "secret", "decisions"]);
    assert!(told.iter().all(|finding| matches!(finding.grade, Grade::Good | Grade::Unknown)), "{told:?}");
    assert!(cure(&found, "role").starts_with("`ACL SETUSER gate +info`"));
    // A snapshot that failed, where it is not known what follows from it.
    let mut failed = but(&[("rdb_last_bgsave_status", "err")], &[]);
    failed.config = Err("permission denied".into());
    assert!(bad(&failed).contains(&("saving", Grade::Warning)));
}

#[test]
fn clocks_are_good_or_apart_only_where_the_round_trip_leaves_no_doubt() {
    let rows = [
        (0, 100, None),
        (499_999, 1, None),
        (-499_999, 1, None),
        (500_000, 1, Some(Grade::Unknown)),
        (0, 500_000, None),
        (0, 500_001, Some(Grade::Unknown)),
        (-600_000, 100_000, Some(Grade::Unknown)),
        (600_001, 100_001, Some(Grade::Unknown)),
        (1, i64::MAX, Some(Grade::Unknown)),
        (600_002, 100_000, Some(Grade::Warning)),
        (-600_002, 100_000, Some(Grade::Warning)),
        (i64::MIN, 0, Some(Grade::Warning)),
    ];
    for (ahead, error, grade) in rows {
        let found = Observations { clock: Ok(Clock { ahead, error }), ..good() };
        assert_eq!(bad(&found).first().map(|(_, grade)| *grade), grade, "{ahead} ± {error}");
    }
    let behind = judge(&Observations { clock: Ok(Clock { ahead: -90_000_000, error: 50 }), ..good() });
    let told = behind.iter().find(|finding| finding.check == "clock").map(|finding| finding.found.clone());
    assert!(told.is_some_and(|told| told.contains("90s behind the local clock (± 50µs)")));
}

#[test]
fn rights_are_named_by_the_rules_that_give_them() {
    let with = |rights| Observations { rights: Ok(rights), ..good() };
    let missing =
        with(MissingPermissions { missing: vec!["+setrange", "~tg3:*"], ..MissingPermissions::default() });
    assert_eq!(bad(&missing), [("rights", Grade::Fault)]);
    assert!(cure(&missing, "rights").starts_with("`ACL SETUSER gate +setrange ~tg3:*`"));
    assert_eq!(
        bad(&with(MissingPermissions { gone: vec!["EVAL"], ..MissingPermissions::default() })),
        [("rights", Grade::Fault)]
    );
    assert_eq!(
        bad(&with(MissingPermissions { untold: vec!["SET"], ..MissingPermissions::default() })),
        [("rights", Grade::Unknown)]
    );
    assert_eq!(bad(&Observations { user: None, ..good() }), [("password", Grade::Note)]);
    assert_eq!(bad(&Observations { may_flush: Ok(true), ..good() }), [("password", Grade::Note)]);
    let untold = Observations { may_flush: Err("no such command".into()), ..good() };
    assert_eq!(bad(&untold), [("password", Grade::Unknown)]);
    assert!(cure(&untold, "password").starts_with("`ACL SETUSER gate +acl|dryrun`"));
}

#[test]
fn latency_is_judged_against_the_budget_and_what_was_slow_by_when() {
    let ms = Duration::from_millis;
    for (p99, grade) in [
        (12_500, None),
        (12_501, Some(Grade::Warning)),
        (25_000, Some(Grade::Warning)),
        (25_001, Some(Grade::Fault)),
    ] {
        let p99 = Duration::from_micros(p99);
        let found =
            Observations { latency: Ok(Latency { count: 200, p50: ms(1), p99, worst: p99 }), ..good() };
        assert_eq!(bad(&found).first().map(|(_, grade)| *grade), grade, "{p99:?}");
    }
    let slow = |took, ago| {
        let ago = Duration::from_secs(ago);
        SlowEvent { what: "KEYS".into(), took: ms(took), ago }
    };
    // A full list that goes back a minute has forgotten what held the server before that.
    let full = Observations { slow: Ok(vec![slow(11, 60); 128]), ..good() };
    assert_eq!(bad(&full), [("slow", Grade::Unknown)]);
    let goes_back =
        Observations { slow: Ok([vec![slow(11, 60); 127], vec![slow(11, 3600)]].concat()), ..good() };
    assert_eq!(bad(&goes_back), []);
    for (slow, warned) in
        [(slow(40, 3601), false), (slow(12, 5), false), (slow(13, 5), true), (slow(40, 3600), true)]
    {
        let (commands, events) = (Ok(vec![slow.clone()]), Ok(vec![slow.clone()]));
        for found in [Observations { slow: commands, ..good() }, Observations { events, ..good() }] {
            assert_eq!(bad(&found), if warned { vec![("slow", Grade::Warning)] } else { vec![] }, "{slow:?}");
        }
    }
}

#[test]
fn what_held_the_server_is_not_known_if_half_of_it_may_not_be_asked() {
    let refused = || Err("permission denied".into());
    let held =
        || Ok(vec![SlowEvent { what: "KEYS".into(), took: Duration::from_secs(1), ago: Duration::ZERO }]);
    for (commands, events, rule) in
        [(refused(), Ok(Vec::new()), "+slowlog|get"), (Ok(Vec::new()), refused(), "+latency|latest")]
    {
        let found = Observations { slow: commands, events, ..good() };
        assert_eq!(bad(&found), [("slow", Grade::Unknown)]);
        assert!(cure(&found, "slow").starts_with(&format!("`ACL SETUSER gate {rule}")), "{rule}");
    }
    for (commands, events) in [(refused(), held()), (held(), refused())] {
        let found = Observations { slow: commands, events, ..good() };
        assert_eq!(bad(&found), [("slow", Grade::Warning)], "the other half says enough");
    }
}

#[test]
fn a_secret_that_is_missing_is_a_warning() {
    let found = Observations { has_secret: false, ..good() };
    assert_eq!(bad(&found), [("secret", Grade::Warning)]);
    assert!(cure(&found, "secret").contains("`store.secret` (TOLLGATE_STORE_SECRET)"));
}

#[test]
fn without_a_decision_its_cause_and_its_cure_are_told() {
    let server =
        |cause, message: &str| StoreError::Link(LinkError::Server { cause, message: message.into() });
    let rows = [
        (server(Cause::OutOfMemory, "OOM command not allowed"), "raise `maxmemory`"),
        (server(Cause::ReadOnly, "READONLY You can't write"), "name the primary"),
        (StoreError::Foreign("tg3:x".into()), "another program writes keys"),
        (StoreError::Disagrees("x".into()), "a proxy or an incompatible server"),
    ];
    for (error, beginning) in rows {
        let found = Observations { decided: Err(error.clone()), ..good() };
        assert_eq!(bad(&found), [("decisions", Grade::Fault)]);
        assert!(cure(&found, "decisions").starts_with(beginning), "{error}");
    }
    let error = LinkError::Unreachable { cause: Cause::WrongPass, message: "WRONGPASS".into() };
    let finding = unreachable("redis://gate:***@host:6379/0", &error);
    assert_eq!(finding.grade, Grade::Fault);
    assert!(finding.cure.is_some_and(|cure| cure.starts_with("correct the user and the password")));
}

#[test]
fn bytes_have_a_unit_that_fits() {
    let rows = [
        (0, "0 bytes"),
        (10_239, "10239 bytes"),
        (10_240, "10 KiB"),
        (10 << 20, "10 MiB"),
        (5 << 30, "5120 MiB"),
    ];
    for (count, text) in rows {
        assert_eq!(bytes(count), text);
    }
}
