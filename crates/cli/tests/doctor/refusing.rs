//! Servers that refuse every write: the reason is found by how they are set up, and by a decision that fails.

use std::fs;

use crate::support::{examine, redis, tell, until, url};

#[test]
fn a_replica_is_a_fault_and_names_its_primary() {
    let server = redis(&["--replicaof", "127.0.0.1 1"]);
    let report = examine(&url(&server));
    report.assert_fault("role", &["this is a read-only replica", "redis://127.0.0.1:1"]);
    report.assert("decisions", "fault", &["READONLY", "name the primary"]);
    report.assert("rights", "not_known", &["could not test"]);
    report.assert("latency", "not_known", &["no decision was made"]);
}

#[test]
fn a_replica_that_takes_writes_is_a_fault_although_it_decides() {
    let server = redis(&["--replicaof", "127.0.0.1 1", "--replica-read-only", "no"]);
    let report = examine(&url(&server));
    report.assert_fault("role", &["a writable replica", "redis://127.0.0.1:1"]);
    report.assert("decisions", "good", &[]);
}

#[test]
fn too_few_replicas_are_a_fault() {
    let server = redis(&["--min-replicas-to-write", "1"]);
    let report = examine(&url(&server));
    report.assert_fault("replicas", &["NOREPLICAS", "CONFIG SET min-replicas-to-write 0"]);
    report.assert("decisions", "fault", &["NOREPLICAS"]);
}

#[test]
fn a_server_that_cannot_save_is_a_fault() {
    let server = redis(&[]);
    tell(&server, "CONFIG SET save \"3600 1\"");
    tell(&server, "SET a 1");
    // A folder is in the way of the snapshot.
    let folder = server.socket().parent().expect("it is in a folder").join("dump.rdb");
    fs::create_dir(folder).expect("it can be made");
    tell(&server, "BGSAVE");
    until(&server, "INFO persistence", "rdb_last_bgsave_status:err");
    let report = examine(&url(&server));
    report.assert_fault("saving", &["(MISCONF)", "CONFIG SET stop-writes-on-bgsave-error no"]);
    report.assert("decisions", "fault", &["MISCONF"]);
    tell(&server, "CONFIG SET stop-writes-on-bgsave-error no");
    let report = examine(&url(&server));
    assert_eq!((report.grade("saving"), report.grade("decisions")), ("warning", "good"), "{report:?}");
}

#[test]
fn a_server_without_room_is_a_fault() {
    let server = redis(&["--maxmemory", "1"]);
    let report = examine(&url(&server));
    report.assert_fault("memory", &["no room for a new state", "CONFIG SET maxmemory 1gb"]);
    report.assert("decisions", "fault", &["OOM", "raise `maxmemory`"]);
}

#[test]
fn a_key_of_ours_that_holds_something_else_does_not_keep_the_doctor_from_its_own() {
    let server = redis(&[]);
    tell(&server, "HSET tg3:d{somebody}else a 1");
    let report = examine(&url(&server));
    assert_eq!((report.grade("decisions"), report.grade("database")), ("good", "note"), "{report:?}");
}
