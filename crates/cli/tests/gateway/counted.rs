//! The page of metrics of a running gateway, after traffic that is known: every number is somebody's. Its form is tested elsewhere.

use std::io::{Read, Write};
use std::time::Duration;

use tollgate_cli::settings::Protocol;

use crate::peers::patient;
use crate::process::{Process, read_one};
use crate::scripted::{Reply, Scripted};
use crate::support::{PATIENCE, POLICY, Rig, reset, small, status};

/// It answers what it is asked for: properly, with nonsense, not at all, or half.
fn upstream() -> Scripted {
    Scripted::new(|_, request| {
        let fine = small(request)?;
        let (bytes, close): (&[u8], bool) = match request.split(' ').nth(1)? {
            "/free/nonsense" => (b"what do you want?\r\n\r\n", true),
            "/free/ambiguous" => (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", true),
            "/free/closed" => (b"", true),
            "/free/cut" => (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", true),
            "/free/silent" => return None,
            "/free/begun" => (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", false),
            _ => return Some(Reply { bytes: fine, close: false }),
        };
        Some(Reply { bytes: bytes.into(), close })
    })
}

#[test]
fn what_happened_is_on_the_page() {
    let upstream = upstream();
    let process = Process::new(POLICY, upstream.address, &[]);
    let statuses = (0..4).map(|_| status(&process.get("/limited")));
    assert_eq!(statuses.collect::<Vec<_>>(), [200, 200, 200, 429]);
    for (path, wanted) in [
        ("/free/nonsense", 502),
        ("/free/ambiguous", 502),
        ("/free/closed", 502),
        ("/free/cut", 200),
        ("/nowhere", 404),
    ] {
        assert_eq!(status(&process.get(path)), wanted, "{path}");
    }
    // What is over is counted when its connection is closed, which may be a moment after its answer.
    process.wait("tollgate_requests_open", |open| open == 0);
    let small = "policy=\"openapi.yaml\",limit=\"small\"";
    let table = [
        (format!("tollgate_decisions_total{{{small},outcome=\"granted\"}}"), 3),
        (format!("tollgate_decisions_total{{{small},outcome=\"refused\"}}"), 1),
        (format!("tollgate_decisions_overflowed_total{{{small}}}"), 0),
        ("tollgate_answered_total{kind=\"refused\"}".into(), 1),
        ("tollgate_answered_total{kind=\"not_found\"}".into(), 1),
        ("tollgate_answered_total{kind=\"bad_gateway\"}".into(), 3),
        ("tollgate_responses_total{class=\"2xx\"}".into(), 4),
        ("tollgate_responses_total{class=\"4xx\"}".into(), 2),
        ("tollgate_responses_total{class=\"5xx\"}".into(), 3),
        ("tollgate_upstream_errors_total{kind=\"protocol\"}".into(), 2),
        ("tollgate_upstream_errors_total{kind=\"closed\"}".into(), 1),
        ("tollgate_upstream_errors_total{kind=\"cut\"}".into(), 1),
        ("tollgate_connections_total".into(), 9),
        // What was refused or is nowhere was not passed on.
        ("tollgate_proxied_seconds_count".into(), 7),
        ("tollgate_decision_seconds_count".into(), 9),
        ("tollgate_clients_gone_total".into(), 0),
    ];
    for (name, wanted) in table {
        assert_eq!(process.metric(&name), wanted, "{name}");
    }
}

#[test]
fn what_is_open_is_counted_until_it_is_not() {
    let upstream = upstream();
    let process = Process::new(POLICY, upstream.address, &[]);
    let open = |requests, connections| {
        process.wait("tollgate_requests_open", |open| open == requests);
        process.wait("tollgate_upstream_open", |open| open == connections);
    };
    open(0, 0);
    let mut kept = process.connect();
    kept.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    assert_eq!(status(&read_one(&mut kept)), 200);
    // Its connection to the upstream is kept for the next one.
    open(0, 1);
    let mut silent: Vec<_> = (0..3).map(|_| process.connect()).collect();
    for stream in &mut silent {
        stream.write_all(b"GET /free/silent HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    }
    open(3, 3);
    silent.into_iter().for_each(reset);
    // Nobody waits for these any more, so that nothing can be told of what they would still send.
    open(0, 0);
}

#[test]
fn a_client_that_leaves_before_its_response_or_within_it_is_gone() {
    let upstream = upstream();
    let process = Process::new(POLICY, upstream.address, &[]);
    let gone = |count| process.wait("tollgate_clients_gone_total", |gone| gone == count);
    let asked = |method: &str, path: &str| {
        let mut stream = process.connect();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it takes bytes");
        stream
    };
    let silent = asked("GET", "/free/silent");
    process.wait("tollgate_requests_open", |open| open == 1);
    reset(silent);
    gone(1);
    let mut begun = asked("GET", "/free/begun");
    begun.read_exact(&mut [0; 12]).expect("it is answered");
    drop(begun);
    gone(2);
    // These have all that they asked for.
    for (method, path) in [("GET", "/free"), ("HEAD", "/free"), ("HEAD", "/nowhere"), ("GET", "/nowhere")] {
        asked(method, path).read_exact(&mut [0; 12]).expect("it is answered");
    }
    process.wait("tollgate_connections_open", |open| open == 0);
    gone(2);
}

/// The cost is in the body, and the client takes its time for that.
#[test]
fn how_long_a_client_takes_is_not_how_long_a_decision_takes() {
    const PAUSE: Duration = Duration::from_millis(300);
    let policy = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /batch:
    post:
      x-rate-limit:
        { name: batch, algorithm: token_bucket, capacity: 9, refill_rate: 0.001, consumer_key: ip,
          cost: { operations: json_array, max: 5, max_body: 1 KiB } }
";
    let upstream = upstream();
    let process = Process::new(policy, upstream.address, &[]);
    let mut stream = process.connect();
    let head = "POST /batch HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it takes bytes");
    stream.set_read_timeout(Some(PAUSE)).expect("a socket has timeouts");
    assert!(stream.read(&mut [0]).is_err(), "it is not answered before it is whole");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    stream.write_all(b"[1,2]").expect("it takes bytes");
    assert_eq!(status(&read_one(&mut stream)), 200);
    let page = process.operator("/metrics");
    let sum = page.lines().find_map(|line| line.strip_prefix("tollgate_decision_seconds_sum "));
    let sum: f64 = sum.and_then(|sum| sum.parse().ok()).expect("it is a number");
    assert!(sum < PAUSE.as_secs_f64(), "{sum}");
}

/// Over HTTP/2 the upstream's stream is reset for it, which is not the upstream's doing.
#[test]
fn a_body_that_its_client_breaks_off_is_no_failure_of_the_upstream() {
    let one = upstream();
    for (protocol, address) in [(Protocol::Http1, one.address), (Protocol::Http2, patient())] {
        let rig = Rig::new(POLICY, address, |settings| {
            settings.upstream.protocol = protocol;
            settings.bounds.body_bytes = Some(8);
            settings.operations = Some(([127, 0, 0, 1], 0).into());
        });
        let head =
            "POST /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (body, wanted) in [
            ("4\r\n1234\r\n0\r\n\r\n", 200),
            ("4\r\n1234\r\nzz\r\n", 400),
            ("4\r\n1234\r\n5\r\n56789\r\n0\r\n\r\n", 413),
        ] {
            let got = rig.send(format!("{head}{body}"));
            assert_eq!(status(&got), wanted, "{protocol:?}: {got}");
        }
        let table = [
            ("answered_total{kind=\"bad_request\"}", 1),
            ("answered_total{kind=\"body_too_large\"}", 1),
            ("answered_total{kind=\"bad_gateway\"}", 0),
            ("upstream_errors_total{kind=\"closed\"}", 0),
        ];
        for (name, wanted) in table {
            assert_eq!(rig.metric(&format!("tollgate_{name}")), Some(wanted), "{protocol:?}: {name}");
        }
    }
}
