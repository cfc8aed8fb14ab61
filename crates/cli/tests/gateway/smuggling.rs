//! Requests that are meant to be read in two ways (letter G4): the client's answer, and the very bytes that the upstream got.

use crate::scripted::{Reply, Scripted, essence, statuses};
use crate::support::{POLICY, Rig, field, small, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// What must never reach the upstream. The gateway itself answers 404 to it.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// A gateway that keeps no connection to the upstream, so that each request has its own.
fn rig(upstream: &Scripted) -> Rig {
    Rig::new(POLICY, upstream.address, |settings| settings.upstream.idle_max = 0)
}

/// Sends bytes, and gives what came back and what of them reached the upstream.
fn send(rig: &Rig, upstream: &Scripted, bytes: &[u8]) -> (String, Vec<String>) {
    let before = upstream.settled().len();
    let got = rig.send(bytes);
    // Connections are taken in turn: when this one has come, all before it have.
    assert_eq!(status(&rig.get("/free/last", "")), 200);
    let mut seen = upstream.settled().split_off(before);
    let last = seen.pop().expect("the last one reaches the upstream");
    assert!(last.starts_with("GET /free/last "), "{last}");
    (got, seen)
}

/// A request with these fields and this body, and one more in its wake.
fn post(fields: &str, body: &str) -> Vec<u8> {
    format!("POST /free HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}{SMUGGLED}").into()
}

#[test]
fn what_frames_a_body_in_two_ways_is_refused_and_reaches_nobody() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let chunks = "5\r\nhello\r\n0\r\n\r\n";
    let table = [
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked,\r\n",
        "Transfer-Encoding: ,chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunkedx\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: chunked;q=1\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding:\r\n",
        "Transfer-Encoding: chunked\x0b\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding: chunked\0\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\t: chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "X: y\r\rTransfer-Encoding: chunked\r\n",
        "Transfer\0-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5,5\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: 5 5\r\n",
        "Content-Length:\r\n",
        "Content-Length: 5\x0b\r\n",
        "Content-Length: 5;\r\n",
        "Content-Length: 5.0\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Content-Length: 99999999999999999999999999999999999999\r\n",
        "Content-Length : 5\r\n",
        "Content-Length: 5\r\n 6\r\n",
        "Content-Length\r\n",
        ": 5\r\n",
    ];
    for fields in table {
        let (got, seen) = send(&rig, &upstream, &post(fields, chunks));
        assert_eq!(statuses(&got), [400], "{fields:?}: {got}");
        assert_eq!(seen, Vec::<String>::new(), "{fields:?}");
    }
}

#[test]
fn a_length_that_no_body_has_is_refused_and_reaches_nobody() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let (got, seen) = send(&rig, &upstream, &post("Content-Length: 18446744073709551615\r\n", "hello"));
    assert_eq!(statuses(&got), [431], "{got}");
    assert_eq!(seen, Vec::<String>::new());
}

#[test]
fn a_first_line_that_is_not_of_http_1_is_refused_and_reaches_nobody() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let table = [
        "GET /free\r\n",
        "GET /free HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET /free HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET /free HTTP/0.9\r\nHost: a\r\n\r\n",
        "GET /free HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET /free  HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  /free HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET\t/free HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /free\x0bHTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /free http/1.1\r\nHost: a\r\n\r\n",
        "GET /free HTTP/1.1\rHost: a\r\n\r\n",
        "GET /free HTTP/1.1\r\n Host: a\r\n\r\n",
        " GET /free HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /free HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ];
    for head in table {
        let (got, seen) = send(&rig, &upstream, format!("{head}{SMUGGLED}").as_bytes());
        assert_eq!(statuses(&got), [400], "{head:?}: {got}");
        assert_eq!(seen, Vec::<String>::new(), "{head:?}");
    }
}

#[test]
fn hosts_that_are_missing_double_or_odd_are_refused_and_reach_nobody() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let table = [
        ("/free", ""),
        ("/free", "Host:\r\n"),
        ("/free", "Host: a\r\nHost: a\r\n"),
        ("/free", "Host: a\r\nHost: b\r\n"),
        ("/free", "Host: a\r\nhOST: b\r\n"),
        ("/free", "Host: user@a\r\n"),
        ("/free", "Host: user:word@a:80\r\n"),
        ("/free", "Host: a b\r\n"),
        ("/free", "Host: a, b\r\n"),
        ("/free", "Host: a/x\r\n"),
        ("/free", "Host: a\"b\r\n"),
        ("/free", "Host: a\\b\r\n"),
        ("/free", "Host: a:80:81\r\n"),
        ("/free", "Host: a:port\r\n"),
        ("/free", "Host: \u{e4}\r\n"),
        ("/free", "Host: 127.1\r\n"),
        ("http://a/free", "Host: b\r\n"),
        ("http://a/free", ""),
        ("http://user@a/free", "Host: a\r\n"),
        ("http:///free", "Host: a\r\n"),
        ("ftp://a/free", "Host: a\r\n"),
        ("a/free", "Host: a\r\n"),
    ];
    for (target, fields) in table {
        let bytes = format!("GET {target} HTTP/1.1\r\n{fields}\r\n{SMUGGLED}");
        let (got, seen) = send(&rig, &upstream, bytes.as_bytes());
        assert_eq!(statuses(&got), [400], "{target} {fields:?}: {got}");
        assert_eq!(seen, Vec::<String>::new(), "{target} {fields:?}");
    }
}

#[test]
fn chunks_that_are_framed_wrongly_never_become_a_whole_request() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let table = [
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "5 5\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffff5\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\rhello\r\n0\r\n\r\n",
        "5;a\nhello\r\n0\r\n\r\n",
        "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n",
        "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r0\r\n\r\n",
        "5\r\nhelloo\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nX\r\n\r\n",
        "5\r\nhello\r\n0\r\nX : y\r\n\r\n",
        "5\r\nhello\r\n0\r\n X: y\r\n\r\n",
        "5\r\nhello\r\n0\n\r\n",
    ];
    for body in table {
        let (got, seen) = send(&rig, &upstream, &post("Transfer-Encoding: chunked\r\n", body));
        assert_eq!(statuses(&got), [400], "{body:?}: {got}");
        let seen = seen.concat();
        assert!(small(&seen).is_none() && !seen.contains("smuggled"), "{body:?}: {seen:?}");
    }
}

#[test]
fn what_has_one_meaning_is_written_anew_with_that_one() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let chunks = "5\r\nhello\r\n0\r\n\r\n";
    let chunked = "POST /free HTTP/1.1|transfer-encoding: chunked|5\r\nhello\r\n0\r\n\r\n";
    let known = "POST /free HTTP/1.1|content-length: 5|hello";
    // The second status is that of the request in its wake, which is a request of its own here; or there is none.
    let table: &[(&str, &str, &str, &[u16])] = &[
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks, chunked, &[200]),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", chunks, chunked, &[200]),
        ("Transfer-Encoding: chunked\r\nContent-Length: x\r\n", chunks, chunked, &[200]),
        ("Transfer-Encoding:  chunked \r\n", chunks, chunked, &[200, 404]),
        ("Transfer-Encoding: Chunked\r\n", chunks, chunked, &[200, 404]),
        ("tRANSFER-eNCODING: chunked\r\n", chunks, chunked, &[200, 404]),
        ("Transfer-Encoding: chunked\r\n", "5;a=b;c\r\nhello\r\n0;d\r\n\r\n", chunked, &[200, 404]),
        ("Transfer-Encoding: chunked\r\n", "5 \r\nhello\r\n0\r\n\r\n", chunked, &[200, 404]),
        ("Transfer-Encoding: chunked\r\n", "000005\r\nhello\r\n000\r\n\r\n", chunked, &[200, 404]),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", "hello", known, &[200, 404]),
        ("Content-Length: 005\r\n", "hello", "POST /free HTTP/1.1|content-length: 5|hello", &[200, 404]),
        ("Connection: content-length\r\nContent-Length: 5\r\n", "hello", known, &[200, 404]),
        (
            "Connection: transfer-encoding, host\r\nTransfer-Encoding: chunked\r\n",
            chunks,
            chunked,
            &[200, 404],
        ),
        ("Connection: close, content-length\r\nContent-Length: 5\r\n", "hello", known, &[200]),
        ("Content-Length: 5\nX: y\n", "hello", known, &[200, 404]),
        // All that follows is read as trailers which are not named, and go nowhere.
        ("Connection: close\r\nTransfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\n", chunked, &[200]),
        ("Content-Length: 0\r\n", "", "POST /free HTTP/1.1|content-length: 0|", &[200, 404]),
        ("Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 5\r\n", "hello", known, &[200, 404]),
        (
            "Upgrade: TLS/1.2\r\nConnection: Upgrade\r\nTransfer-Encoding: chunked\r\n",
            chunks,
            chunked,
            &[200, 404],
        ),
    ];
    for (fields, body, wanted, answers) in table {
        let (got, seen) = send(&rig, &upstream, &post(fields, body));
        assert_eq!(statuses(&got), *answers, "{fields:?}: {got}");
        let seen: Vec<_> = seen.iter().map(|request| essence(request)).collect();
        assert_eq!(seen, [*wanted], "{fields:?}");
    }
}

#[test]
fn a_body_where_none_is_usual_goes_on_with_its_request() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let table = [
        ("Content-Length: 5\r\n", "hello", "GET /free HTTP/1.1|content-length: 5|hello"),
        (
            "Transfer-Encoding: chunked\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "GET /free HTTP/1.1|transfer-encoding: chunked|5\r\nhello\r\n0\r\n\r\n",
        ),
    ];
    for (fields, body, wanted) in table {
        let bytes = format!("GET /free HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}{SMUGGLED}");
        let (got, seen) = send(&rig, &upstream, bytes.as_bytes());
        assert_eq!(statuses(&got), [200, 404], "{got}");
        let seen: Vec<_> = seen.iter().map(|request| essence(request)).collect();
        assert_eq!(seen, [wanted]);
    }
}

#[test]
fn trailers_do_not_say_what_only_heads_may() {
    let upstream = Scripted::new(|_, request| {
        let whole = request.starts_with("GET") || request.matches("\r\n\r\n").count() == 2;
        whole.then(|| Reply { bytes: OK.into(), close: false })
    });
    let rig = rig(&upstream);
    let names =
        "Content-Length, Transfer-Encoding, Host, X-Forwarded-For, Connection, X-Http-Method, Cookie, Sum";
    let fields = format!("Trailer: {names}\r\nTransfer-Encoding: chunked\r\n");
    let trailers = "Content-Length: 3\r\nTransfer-Encoding: gzip\r\nHost: b\r\nX-Forwarded-For: 1.2.3.4\r\n\
                    Connection: close\r\nX-Http-Method: DELETE\r\nCookie: a=b\r\nSum: 1\r\nOther: 2\r\n";
    let body = format!("5\r\nhello\r\n0\r\n{trailers}\r\n");
    let (got, seen) = send(&rig, &upstream, &post(&fields, &body));
    assert_eq!(statuses(&got), [200, 404], "{got}");
    let seen = seen.concat();
    let (_, body) = seen.split_once("\r\n\r\n").expect("a head ends");
    assert_eq!(body, "5\r\nhello\r\n0\r\nother: 2\r\nsum: 1\r\n\r\n");
}

#[test]
fn a_request_for_a_tunnel_or_a_broken_handshake_is_answered_and_ends_the_connection() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    let table = [
        format!("GET /free HTTP/1.1\r\nHost: a\r\n{fields}\r\n"),
        format!("POST /free HTTP/1.1\r\nHost: a\r\n{fields}{key}\r\n"),
        format!("GET /free HTTP/1.1\r\nHost: a\r\n{fields}{key}Content-Length: 5\r\n\r\nhello"),
        format!("GET /free HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n{key}\r\n"),
        "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n".to_owned(),
        "CONNECT /free HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
    ];
    for head in table {
        let (got, seen) = send(&rig, &upstream, format!("{head}{SMUGGLED}").as_bytes());
        let answer = statuses(&got);
        let is_tunnel = head.starts_with("CONNECT");
        assert!(answer == [400] || (answer == [501] && is_tunnel), "{head:?}: {got}");
        assert_eq!(field(&got, "connection"), Some("close"), "{got}");
        assert_eq!(seen, Vec::<String>::new(), "{head:?}");
    }
}
