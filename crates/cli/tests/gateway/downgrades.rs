//! Requests over HTTP/2 that would be two, or another one, as HTTP/1.1: the very bytes that the upstream got. HTTP/1.1 is `smuggling`'s.

use crate::frames::{
    DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, RST_STREAM, field as hpack, frame,
};
use crate::scripted::{Scripted, essence};
use crate::support::{POLICY, Rig, small, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// A request that says it has no body, as the upstream reads it before anybody sees that data come all the same.
const EMPTY: &str = "POST /free HTTP/1.1|content-length: 0|";
/// What must never be read as a request.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// A request: its pseudo-fields and fields as they are sent, and its body.
struct Sent<'a> {
    fields: Vec<(&'a str, &'a str)>,
    body: &'a str,
}

/// `POST` of a path, with these fields.
fn post<'a>(path: &'a str, fields: &[(&'a str, &'a str)], body: &'a str) -> Sent<'a> {
    let mut all = vec![(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "a")];
    all.extend_from_slice(fields);
    Sent { fields: all, body }
}

/// Sends it over a connection of its own, and waits until its stream or the connection is over.
fn send(rig: &Rig, sent: &Sent<'_>) {
    let mut frames = Frames::new(rig);
    let head: Vec<u8> = sent.fields.iter().flat_map(|(name, value)| hpack(name, value)).collect();
    frames.write(&frame(HEADERS, END_HEADERS, 1, &head));
    // In two pieces, so that no length can be told from the first.
    let (first, second) = sent.body.split_at(sent.body.len() / 2);
    frames.write(&frame(DATA, 0, 1, first.as_bytes()));
    frames.write(&frame(DATA, END_STREAM, 1, second.as_bytes()));
    while let Some((kind, flags, stream, _)) = frames.next() {
        let ends = matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0;
        if kind == GOAWAY || (stream == 1 && (ends || kind == RST_STREAM)) {
            return;
        }
    }
}

/// What of it reached the upstream, connection by connection.
fn reached(rig: &Rig, upstream: &Scripted, sent: &Sent<'_>) -> Vec<String> {
    let before = upstream.settled().len();
    send(rig, sent);
    // Connections are taken in turn: when this one has come, all before it have.
    assert_eq!(status(&rig.get("/free/last", "")), 200);
    let mut seen = upstream.settled().split_off(before);
    let last = seen.pop().expect("the last one reaches the upstream");
    assert!(last.starts_with("GET /free/last "), "{last}");
    seen
}

/// A gateway that keeps no connection to the upstream, so that each request has its own.
fn rig(upstream: &Scripted) -> Rig {
    Rig::new(POLICY, upstream.address, |settings| settings.upstream.idle_max = 0)
}

/// The lines of a head with this name.
fn lines<'a>(request: &'a str, name: &str) -> Vec<&'a str> {
    let head = request.split("\r\n\r\n").next().unwrap_or_default();
    let named = |line: &&str| line.split(':').next().is_some_and(|found| found.eq_ignore_ascii_case(name));
    head.lines().skip(1).filter(named).collect()
}

#[test]
fn what_would_be_another_request_over_http1_reaches_nobody() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let injected = format!("/free HTTP/1.1\r\nHost: a\r\n\r\n{SMUGGLED}");
    let value = format!("y\r\n\r\n{SMUGGLED}");
    let table = [
        // What belongs to HTTP/1.1's framing has no place in HTTP/2 (RFC 9113 8.2.2).
        post("/free", &[("transfer-encoding", "chunked")], "0\r\n\r\n"),
        post("/free", &[("transfer-encoding", "identity")], SMUGGLED),
        post("/free", &[("connection", "close")], "hello"),
        post("/free", &[("connection", "content-length"), ("content-length", "5")], "hello"),
        post("/free", &[("upgrade", "h2c")], "hello"),
        post("/free", &[("te", "chunked")], "hello"),
        // A length that the data contradict, or that is said in two ways.
        post("/free", &[("content-length", "0")], SMUGGLED),
        post("/free", &[("content-length", "4")], "hello"),
        post("/free", &[("content-length", "6")], "hello"),
        post("/free", &[("content-length", "5"), ("content-length", "6")], "hello"),
        post("/free", &[("content-length", "+5")], "hello"),
        post("/free", &[("content-length", "5 ")], "hello"),
        post("/free", &[("content-length", "0x5")], "hello"),
        post("/free", &[("content-length", "99999999999999999999")], "hello"),
        // Fields that would end their line.
        post("/free", &[("x", &value)], "hello"),
        post("/free", &[("x\r\ntransfer-encoding", "chunked")], "0\r\n\r\n"),
        post("/free", &[("x: y", "z")], "hello"),
        post("/free", &[("Transfer-Encoding", "chunked")], "0\r\n\r\n"),
        post("/free", &[("x", "y\0")], "hello"),
        post("/free", &[(":path", "/free/2")], "hello"),
        // Paths that would end the first line, or are none.
        post(&injected, &[], "hello"),
        post("/free HTTP/1.1", &[], "hello"),
        post("/free /smuggled", &[], "hello"),
        post("/free\t", &[], "hello"),
        post("free", &[], "hello"),
        post("", &[], "hello"),
        post("*", &[], "hello"),
        post("http://b/free", &[], "hello"),
        post("/free/%2e%2e/smuggled", &[], "hello"),
        post("/../smuggled", &[], "hello"),
        // Two hosts, or one that is none.
        post("/free", &[("host", "b")], "hello"),
        post("/free", &[("host", "a"), ("host", "b")], "hello"),
        Sent { fields: vec![(":method", "POST"), (":scheme", "http"), (":path", "/free")], body: "hello" },
        Sent {
            fields: vec![
                (":method", "POST"),
                (":scheme", "http"),
                (":path", "/free"),
                (":authority", "a\r\nx: y"),
            ],
            body: "hello",
        },
        Sent {
            fields: vec![
                (":method", "POST /smuggled"),
                (":scheme", "http"),
                (":path", "/free"),
                (":authority", "a"),
            ],
            body: "hello",
        },
    ];
    // It may have begun when the data turn out to be too few or too many; then it never ends, and nothing comes after it.
    let begun =
        |request: &String| request.is_empty() || small(request).is_none() || essence(request) == EMPTY;
    let mut wrong = Vec::new();
    for sent in &table {
        let seen = reached(&rig, &upstream, sent);
        if seen.len() > 1 || !seen.iter().all(begun) {
            wrong.push((&sent.fields, seen));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_goes_on_is_one_request_that_is_read_in_one_way() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let chunked = format!("POST /free HTTP/1.1|transfer-encoding: chunked|{:x}\r\n", SMUGGLED.len() / 2);
    let table = [
        (post("/free", &[("content-length", "5")], "hello"), "POST /free HTTP/1.1|content-length: 5|hello"),
        (post("/free", &[("host", "a")], "hello"), "POST /free HTTP/1.1|transfer-encoding: chunked|2\r\nhe"),
        (
            post("/free?a=/../b", &[], "hello"),
            "POST /free?a=/../b HTTP/1.1|transfer-encoding: chunked|2\r\nhe",
        ),
        // What a client keeps for itself goes no further, as over HTTP/1.1.
        (post("/free#x", &[], "hello"), "POST /free HTTP/1.1|transfer-encoding: chunked|2\r\nhe"),
        // A body may be what it likes: it is framed, and nothing in it is a request.
        (post("/free", &[], SMUGGLED), chunked.as_str()),
    ];
    for (sent, wanted) in &table {
        let seen = reached(&rig, &upstream, sent);
        let [seen] = seen.as_slice() else { panic!("{:?} is {seen:?}", sent.fields) };
        assert!(essence(seen).starts_with(wanted), "{seen}");
        assert_eq!(lines(seen, "host"), ["host: a"], "{seen}");
        let framed = lines(seen, "content-length").len() + lines(seen, "transfer-encoding").len();
        assert_eq!(framed, 1, "{seen}");
    }
}
