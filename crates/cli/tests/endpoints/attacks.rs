//! Odd clients: large heads, large and slow bodies, silence, many connections, and framing that means two things.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use tollgate_testing::patience::until;

use crate::support::{Served, read};

const QUICK: &str = "tollgate: 1
serve:
  api: { listen: '127.0.0.1:0', connections: 3 }
  operations: { listen: none }
  timeouts: { header: 300 ms, idle: 300 ms, body: 300 ms, write: 300 ms }
";
const BODY: &str = r#"{"hits":[{"rate":"1 per second, burst 100","key":"a"}]}"#;

fn sent(served: &Served, bytes: &str) -> u16 {
    let mut stream = served.connect();
    let _ = stream.write_all(bytes.as_bytes());
    read(&mut stream).status
}

#[test]
fn what_is_too_large_or_too_slow_is_refused() {
    let served = Served::new(QUICK);
    let post = "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    // Bodies: 64 KiB are the maximum, with and without a length.
    let fits = format!("{{\"hits\":[{}],\"x\":\"\"}}", "x".repeat(10));
    assert_eq!(
        sent(&served, &format!("{post}Content-Length: {}\r\nConnection: close\r\n\r\n{fits}", fits.len())),
        400
    );
    assert_eq!(sent(&served, &format!("{post}Content-Length: 65537\r\n\r\n{}", " ".repeat(65_537))), 413);
    let chunk = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
    assert_eq!(sent(&served, &format!("{post}Transfer-Encoding: chunked\r\n\r\n{chunk}{chunk}{chunk}")), 413);
    // A body that does not arrive.
    assert_eq!(sent(&served, &format!("{post}Content-Length: 9\r\n\r\n{{")), 408);
    // A head that is too large, has too many fields, or does not arrive.
    assert_eq!(
        sent(&served, &format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(20_000))),
        431
    );
    assert_eq!(sent(&served, &format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: 1\r\n".repeat(101))), 431);
    let mut silent = served.connect();
    assert_eq!(silent.read(&mut [0; 9]).unwrap_or(0), 0, "it is closed without a byte");
    let mut slow = served.connect();
    slow.write_all(b"GET / HT").expect("it takes bytes");
    assert!(!read(&mut slow).head.contains("200"));
    // Other types of content.
    assert_eq!(
        sent(
            &served,
            &format!(
                "POST /v1/check HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{BODY}",
                BODY.len()
            )
        ),
        415
    );
    for (method, target) in
        [("GET", "/v1/check"), ("POST", "/openapi.json"), ("DELETE", "/"), ("PUT", "/v1/auth/nginx")]
    {
        let response = served.ask(method, target, "", "");
        assert_eq!(response.status, 405, "{method} {target}");
        assert!(response.header("allow").is_some());
    }
    assert_eq!(served.post("/v1/check", BODY).status, 200, "and it goes on");
}

#[test]
fn framing_that_means_two_things_is_no_second_request() {
    let served = Served::new(QUICK);
    let post = "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    for fields in [
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: 0x2\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Content-Length : 2\r\n",
        "X: a\r\n b: c\r\nContent-Length: 2\r\n",
    ] {
        let status = sent(&served, &format!("{post}{fields}\r\n{{}}GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(status == 400, "{fields}: {status}");
    }
}

#[test]
fn more_connections_wait_and_idle_ones_make_room() {
    let served = Served::new(QUICK);
    // As many as may be, which say nothing; and then one more that is answered in its turn.
    let held: Vec<TcpStream> = (0..12).map(|_| served.connect()).collect();
    assert_eq!(served.post("/v1/check", BODY).status, 200);
    drop(held);
    // A connection that is kept, and idle, is closed.
    let mut kept = served.connect();
    kept.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    let mut all = Vec::new();
    kept.read_to_end(&mut all).expect("it is closed, and not reset");
    assert!(all.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn a_client_that_does_not_read_is_closed() {
    let served = Served::new(QUICK);
    let mut deaf = served.connect();
    let request = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(64);
    // Its responses fill every buffer on the way, and then it is closed.
    until("it is closed", || deaf.write_all(&request).is_err());
    let _ = deaf.shutdown(Shutdown::Both);
    assert_eq!(served.post("/v1/check", BODY).status, 200);
}
