//! What clients are told of their limits, by whichever answer they get in the end. What the fields mean is the layer's.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use crate::process::read_one;
use crate::support::{Recorder, Rig, field, status};

const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /a:
    x-rate-limit: { name: small, algorithm: token_bucket, capacity: 9, refill_rate: 0.001, consumer_key: ip }
    get: {}
    post: {}
";

/// Short enough for a test, long enough for a busy machine.
const SHORT: Duration = Duration::from_millis(150);

/// What a client is told: how much is left, in both generations.
fn left(response: &str) -> [Option<&str>; 2] {
    ["ratelimit", "x-ratelimit-remaining"].map(|name| field(response, name))
}

/// It was charged, so that it is told, whoever answers it in the end.
#[test]
fn a_request_that_was_charged_is_told_so_whatever_becomes_of_it() {
    let silent = Recorder::new(|_| None);
    let closed = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let nobody = closed.local_addr().expect("it is bound");
    drop(closed);
    let (get, post) = ("GET /a HTTP/1.1\r\nHost: a\r\n", "POST /a HTTP/1.1\r\nHost: a\r\n");
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\n";
    let table = [
        (502, nobody, format!("{get}\r\n")),
        (504, silent.address, format!("{get}\r\n")),
        (501, silent.address, format!("{get}{upgrade}\r\n")),
        (408, silent.address, format!("{post}Content-Length: 9\r\n\r\nhalf")),
        (
            413,
            silent.address,
            format!("{post}Transfer-Encoding: chunked\r\n\r\n14\r\n{}\r\n", "x".repeat(20)),
        ),
    ];
    for (wanted, upstream, sent) in table {
        let rig = Rig::new(POLICY, upstream, |settings| {
            (settings.timeouts.body, settings.timeouts.response) = (SHORT, SHORT);
            settings.bounds.body_bytes = Some(10);
        });
        let mut stream = rig.connect();
        stream.write_all(sent.as_bytes()).expect("it takes bytes");
        let got = read_one(&mut stream);
        assert_eq!(status(&got), wanted, "{got}");
        assert_eq!(left(&got), [Some("\"small\";r=8;t=1000"), Some("8")], "{got}");
    }
}
