//! Servers that serve, and are set up so that limits can be got round or decisions are late.

use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_twins::server::{Make, Server};

use crate::support::{examine, free_port, own, redis, run, tell, until, url};

#[test]
fn a_server_that_evicts_any_key_is_a_fault() {
    let server = redis(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    examine(&url(&server))
        .assert_fault("eviction", &["the server evicts states", "CONFIG SET maxmemory-policy noeviction"]);
    tell(&server, "CONFIG SET maxmemory-policy volatile-ttl");
    examine(&url(&server)).assert("eviction", "warning", &["nearest to their reset"]);
    tell(&server, "CONFIG SET maxmemory-policy noeviction");
    let report = examine(&url(&server));
    assert_eq!(
        (report.grade("eviction"), report.grade("memory"), report.code),
        ("good", "good", 0),
        "{report:?}"
    );
}

#[test]
fn a_node_of_a_cluster_is_a_fault_unless_the_address_says_so() {
    let (port, bus) = (free_port().to_string(), free_port().to_string());
    let server = redis(&["--port", &port, "--cluster-enabled", "yes", "--cluster-port", &bus]);
    let report = examine(&url(&server));
    report
        .assert_fault("role", &["serves only a part of the keys", "write `redis+cluster://host,host,host`"]);
    report.assert("decisions", "fault", &["redis+cluster://"]);
}

/// Its own slots it serves; and it may not be asked whether it is in a cluster.
#[test]
fn a_node_of_a_cluster_that_serves_half_of_the_slots_is_found_by_what_it_says_of_the_others() {
    let nodes = [(); 2].map(|()| {
        let (port, bus) = (free_port().to_string(), free_port().to_string());
        let server = redis(&["--port", &port, "--cluster-enabled", "yes", "--cluster-port", &bus]);
        (server, port, bus)
    });
    let [(first, ..), (second, port, bus)] = &nodes;
    tell(first, "CLUSTER ADDSLOTSRANGE 0 8191");
    tell(second, "CLUSTER ADDSLOTSRANGE 8192 16383");
    tell(second, "CLUSTER SET-CONFIG-EPOCH 2");
    tell(first, &format!("CLUSTER MEET 127.0.0.1 {port} {bus}"));
    until(first, "CLUSTER INFO", "cluster_state:ok");
    until(first, "CLUSTER INFO", "cluster_slots_assigned:16384");
    tell(first, "ACL SETUSER gate on >hunter2 ~tg3:* +@all -info");
    let report = examine(&format!("{}?user=gate&pass=hunter2", url(first)));
    report.assert("role", "not_known", &[]);
    report.assert_fault("decisions", &["MOVED", "redis+cluster://"]);
}

#[test]
fn a_sentinel_is_a_fault_unless_the_address_says_so_and_nothing_else_is_said_of_it() {
    let port = free_port();
    let _sentinel = own(Make::Redis7, port, |command| {
        let folder = command.get_current_dir().expect("it has a folder").to_owned();
        std::fs::write(folder.join("sentinel.conf"), format!("port {port}\nbind 127.0.0.1\n"))
            .expect("it is written");
        command.args(["sentinel.conf", "--sentinel"]);
    });
    let report = examine(&format!("redis://127.0.0.1:{port}"));
    report.assert_fault("role", &["this is a Sentinel", "write `redis+sentinel://host,host,host/name`"]);
    assert_eq!((report.of("fault").len(), report.of("good").len()), (1, 2), "{report:?}");
}

#[test]
fn keys_of_others_and_idle_connections_that_are_closed_are_notes() {
    let server = redis(&["--timeout", "60"]);
    tell(&server, "SET somebody else");
    let report = examine(&url(&server));
    report.assert("database", "note", &["1 of 1 keys never expire"]);
    report.assert("idle", "note", &["idle for 60 s", "CONFIG SET timeout 0"]);
    assert_eq!(report.code, 0);
    assert_eq!(tell(&server, "DBSIZE"), ":1\r\n", "what others have is left alone");
}

#[test]
fn what_held_the_server_lately_is_told_with_its_name() {
    let server = redis(&[]);
    // Slow enough for the server's own list of what was slow, which begins at 10 ms.
    tell(&server, "EVAL \"local sum = 0 for i = 1, 20000000 do sum = sum + i end return sum\" 0");
    let ran = run(&["--store", &url(&server)], &[("TOLLGATE_STORE_BUDGET", "10ms")]);
    assert!(ran.out.contains("warning    slow: `EVAL` blocked the server for"), "{}", ran.out);
}

#[test]
fn what_a_server_does_not_remember_is_not_known() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap_or_else(|why| panic!("{why}"));
        // Half of the budget is a second.
        let rows = [
            ("slowlog-log-slower-than", "1000000", "good", ""),
            ("slowlog-log-slower-than", "1000001", "not_known", "CONFIG SET slowlog-log-slower-than 1000000"),
            ("slowlog-log-slower-than", "-1", "not_known", "CONFIG SET slowlog-log-slower-than 1000000"),
            ("slowlog-log-slower-than", "10000", "good", ""),
            ("slowlog-max-len", "0", "not_known", "CONFIG SET slowlog-max-len 128"),
        ];
        for (name, value, grade, words) in rows {
            assert_eq!(tell(&server, &format!("CONFIG SET {name} {value}")), "+OK\r\n");
            examine(&url(&server)).assert("slow", grade, &[words]);
        }
    }
}

/// Somebody keeps a server busy, until the flag says enough.
fn keep_busy(server: &Server, enough: &AtomicBool) {
    while !enough.load(Ordering::Relaxed) {
        tell(server, "EVAL \"local sum = 0 for i = 1, 300000 do sum = sum + i end return sum\" 0");
    }
}

#[test]
fn decisions_that_are_late_for_their_budget_are_a_fault() {
    let (server, enough) = (redis(&[]), AtomicBool::new(false));
    let ran = std::thread::scope(|scope| {
        // Several, so that one is always next, for a few milliseconds.
        for _ in 0..3 {
            scope.spawn(|| keep_busy(&server, &enough));
        }
        let ran = run(&["--store", &url(&server)], &[("TOLLGATE_STORE_BUDGET", "1ms")]);
        enough.store(true, Ordering::Relaxed);
        ran
    });
    assert!(
        ran.out.contains("fault      latency: ") && ran.out.contains("the time budget is 1ms: more than 1 %"),
        "{}",
        ran.out
    );
    assert_eq!(ran.code, 1);
}
