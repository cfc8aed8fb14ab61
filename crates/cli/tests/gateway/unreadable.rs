//! Bytes that are no request: their answer is a problem like any other, with a request ID, and it is counted and logged.

use std::io::Write;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::lines::Lines;
use crate::peers::{Certificate, block_on};
use crate::process::read_one;
use crate::scripted::{Scripted, statuses};
use crate::support::{POLICY, Rig, field, read_to_end, status};
use crate::tls::with;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A gateway that counts, and writes a line for every request.
fn rig(lines: &Lines) -> (Rig, Scripted) {
    let upstream = Scripted::always(OK);
    let change = |settings: &mut tollgate_cli::settings::Settings| {
        settings.operations = Some(([127, 0, 0, 1], 0).into());
        settings.bounds.head_bytes = 16 << 10;
        settings.bounds.header_fields = 20;
        settings.log.requests = true;
    };
    (Rig::logged(POLICY, upstream.address, change, lines.clone()), upstream)
}

/// Checks an answer of the gateway's own, and gives its request ID.
fn is_a_problem(got: &str, wanted: u16, words: &str) -> String {
    assert_eq!(statuses(got), [wanted], "{got}");
    for (name, value) in
        [("content-type", "application/problem+json"), ("cache-control", "no-store"), ("connection", "close")]
    {
        assert_eq!(field(got, name), Some(value), "{name}: {got}");
    }
    assert!(field(got, "date").is_some_and(|date| date.ends_with(" GMT")), "{got}");
    let body = got.split("\r\n\r\n").nth(1).unwrap_or_default();
    assert_eq!(field(got, "content-length"), Some(body.len().to_string().as_str()), "{got}");
    assert!(body.starts_with("{\"type\":\"about:blank\"") && body.ends_with('}'), "{got}");
    assert!(body.contains(&format!("\"status\":{wanted}")) && body.contains(words), "{words}: {got}");
    let id = field(got, "x-request-id").expect("it has a request ID");
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    id.to_owned()
}

#[test]
fn what_the_parser_refuses_is_answered_like_everything_else() {
    let lines = Lines::default();
    let (rig, upstream) = rig(&lines);
    let many: String = (0..30).map(|number| format!("X-{number}: y\r\n")).collect();
    let get = "GET /free HTTP/1.1\r\nHost: a\r\n";
    let table = [
        ("no request at all\r\n\r\n".to_owned(), 400, "not valid HTTP/1.1"),
        ("GET /free HTTP/9.9\r\nHost: a\r\n\r\n".into(), 400, "not valid HTTP/1.1"),
        ("GET /fr ee HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400, "not valid HTTP/1.1"),
        (format!("{get}Content-Length: 1x\r\n\r\n"), 400, "not valid HTTP/1.1"),
        (format!("{get}X : y\r\n\r\n"), 400, "not valid HTTP/1.1"),
        (format!("{get}X: evil\u{0}\r\n\r\n"), 400, "not valid HTTP/1.1"),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}".into(), 400, "not valid HTTP/1.1"),
        (format!("{get}{many}\r\n"), 431, "20 header fields"),
        (format!("{get}X: {}\r\n\r\n", "y".repeat(17 << 10)), 431, "16384 bytes"),
    ];
    let mut ids = Vec::new();
    for (sent, wanted, words) in &table {
        ids.push(is_a_problem(&rig.send(sent), *wanted, words));
    }
    let metric = |name: &str| rig.metric(&format!("tollgate_{name}"));
    assert_eq!(metric("answered_total{kind=\"bad_request\"}"), Some(7));
    assert_eq!(metric("answered_total{kind=\"head_too_large\"}"), Some(2));
    assert_eq!(metric("responses_total{class=\"4xx\"}"), Some(9));
    assert_eq!(metric("clients_gone_total"), Some(0));
    assert_eq!(metric("requests_open"), Some(0));
    rig.stop();
    rig.ended().expect("it ends well");
    for (id, (sent, wanted, _)) in ids.iter().zip(&table) {
        let served = lines.with(id);
        assert_eq!(served.len(), 1, "{sent:?}: {}", lines.all());
        assert!(served[0].contains(&format!("\"status\":{wanted}")), "{}", served[0]);
        assert!(served[0].contains("\"client\":\"127.0.0.1\""), "{}", served[0]);
    }
    assert!(!lines.all().contains("evil"), "{}", lines.all());
    assert!(upstream.seen().is_empty(), "{:?}", upstream.seen());
}

#[test]
fn responses_before_it_are_sent_as_they_are() {
    let lines = Lines::default();
    let (rig, _upstream) = rig(&lines);
    let good = "GET /free HTTP/1.1\r\nHost: a\r\n\r\n";
    // The last is answered here, and the garbage is in the same piece.
    for (before, count) in [(good.to_owned(), 1), (good.repeat(3), 3)] {
        let got = rig.send(format!("{before}garbage\r\n\r\n"));
        let wanted: Vec<_> = std::iter::repeat_n(200, count).chain([400]).collect();
        assert_eq!(statuses(&got), wanted, "{got}");
        let last = &got[got.rfind("HTTP/1.1 ").expect("there are responses")..];
        is_a_problem(last, 400, "not valid HTTP/1.1");
    }
    let mut kept = rig.connect();
    kept.write_all(b"HEAD /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    kept.write_all(b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    kept.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("it takes bytes");
    let got = read_to_end(&mut kept);
    assert_eq!(statuses(&got), [200, 404, 400], "{got}");
    let last = &got[got.rfind("HTTP/1.1 ").expect("there are responses")..];
    assert!(field(last, "x-request-id").is_some() && last.contains("not valid HTTP/1.1"), "{last}");
}

/// Text of the upstream's that looks like hyper's own answer is not taken for it.
#[test]
fn a_body_that_looks_like_such_an_answer_is_passed_on() {
    const LIKE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 66\r\n\r\n\
        HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let upstream = Scripted::always(LIKE);
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let mut kept = rig.connect();
    for _ in 0..3 {
        kept.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
        let got = read_one(&mut kept);
        assert!(status(&got) == 200 && got.ends_with("content-length: 0\r\n\r\n"), "{got}");
    }
}

#[test]
fn over_tls_it_is_the_same() {
    let (certificate, upstream) = (Certificate::new(), Scripted::always(OK));
    let rig = Rig::new(POLICY, upstream.address, |settings| with(&certificate, settings));
    let got = block_on(async {
        let mut tls = certificate.connect(rig.address, &["http/1.1"]).await.expect("they agree");
        tls.write_all(b"garbage\r\n\r\n").await.expect("it takes bytes");
        let mut got = String::new();
        tls.read_to_string(&mut got).await.expect("it is answered, and closed");
        got
    });
    is_a_problem(&got, 400, "not valid HTTP/1.1");
}
