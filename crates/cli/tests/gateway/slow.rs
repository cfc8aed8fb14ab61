//! Requests whose bodies come slowly: drip by drip is a 408, as fast as the settings say is not, and gRPC may be silent for long.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tollgate_cli::settings::Protocol;

use crate::support::{PATIENCE, Recorder, Rig, read_to_end, small, status};

const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /free: { post: {} }
  /batch:
    post:
      x-rate-limit:
        { name: batch, algorithm: token_bucket, capacity: 9, refill_rate: 1, consumer_key: ip,
          cost: { operations: json_array, max: 5, max_body: 1 KiB } }
";

/// The stretch over which the pace is averaged.
const STRETCH: Duration = Duration::from_millis(400);
/// Between two pieces: far less than a body may stand still.
const PAUSE: Duration = Duration::from_millis(20);
/// So many pieces take several stretches.
const PIECES: usize = 80;

fn rig(rate: Option<u64>) -> Rig {
    Rig::new(POLICY, Recorder::new(small).address, |settings| {
        settings.timeouts.body = STRETCH;
        settings.bounds.body_rate = rate;
    })
}

/// Sends a body in pieces with a pause after each, until it is answered. Gives the answer, and how many were sent.
fn drip(rig: &Rig, head: &str, piece: &str) -> (String, usize) {
    let mut stream = rig.connect();
    let length = PIECES * piece.len();
    write!(stream, "{head}Host: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")
        .expect("it takes bytes");
    for count in 1..=PIECES {
        stream.write_all(piece.as_bytes()).expect("it takes bytes");
        if let Some(begun) = within(&mut stream, PAUSE) {
            return (begun + &read_to_end(&mut stream), count);
        }
    }
    (read_to_end(&mut stream), PIECES)
}

/// What comes within a time, if anything does.
fn within(stream: &mut TcpStream, time: Duration) -> Option<String> {
    let mut piece = [0; 4096];
    stream.set_read_timeout(Some(time)).expect("a socket has timeouts");
    let read = stream.read(&mut piece);
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    match read {
        Ok(count) => Some(String::from_utf8_lossy(&piece[..count]).into_owned()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
        Err(_) => Some(String::new()),
    }
}

#[test]
fn a_body_that_drips_is_a_408() {
    let rig = rig(Some(10_000));
    for path in ["/free", "/batch"] {
        let (got, pieces) = drip(&rig, &format!("POST {path} HTTP/1.1\r\n"), "x");
        assert_eq!(status(&got), 408, "{path}: {got}");
        assert!(got.contains("arrived too slowly"), "{path}: {got}");
        assert!(pieces < PIECES, "{path}: it was late after {pieces}");
    }
}

#[test]
fn a_body_that_keeps_the_pace_is_passed_on() {
    // 100 bytes in 20 ms are 5,000 a second, less what a busy machine takes.
    let (got, pieces) = drip(&rig(Some(100)), "POST /free HTTP/1.1\r\n", &"x".repeat(100));
    assert_eq!((status(&got), pieces), (200, PIECES), "{got}");
}

#[test]
fn without_a_pace_and_for_grpc_only_a_standstill_is_too_slow() {
    let (got, pieces) = drip(&rig(None), "POST /free HTTP/1.1\r\n", "x");
    assert_eq!((status(&got), pieces), (200, PIECES), "{got}");
    let grpc = "POST /free HTTP/1.1\r\nContent-Type: application/grpc\r\n";
    let http1 = Rig::new(POLICY, Recorder::new(small).address, |settings| {
        settings.timeouts.body = STRETCH;
        settings.bounds.body_rate = Some(10_000);
        settings.upstream.protocol = Protocol::Http1;
    });
    let (got, pieces) = drip(&http1, grpc, "x");
    assert_eq!((status(&got), pieces), (200, PIECES), "{got}");
}
