//! The page of metrics of a running gateway, after traffic that is known: every number is somebody's. Its form is tested elsewhere.

use std::io::Write;

use tollgate_server::settings::Protocol;

use crate::peers::patient;
use crate::process::{Process, read_one};
use crate::scripted::{Reply, Scripted};
use crate::support::{POLICY, Rig, small, status};

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
    drop(silent);
    // Nobody waits for these any more, so that nothing can be told of what they would still send.
    open(0, 0);
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
