//! Long requests: the upstream's time begins at their end, and whoever is refused in the middle of one still gets the answer.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::scripted::statuses;
use crate::support::{PATIENCE, POLICY, Recorder, Rig, field, read_to_end, small};

/// Short enough for a test, long enough for a busy machine.
const SHORT: Duration = Duration::from_millis(150);
/// More than the system keeps of two connections.
const LARGE: usize = 24 << 20;

/// Sends the head of an upload and then its body, as fast as it is taken.
fn upload(mut stream: TcpStream, path: &str, length: usize) -> std::io::Result<String> {
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    )?;
    stream.write_all(&vec![b'x'; length])?;
    let mut got = Vec::new();
    stream.read_to_end(&mut got)?;
    Ok(String::from_utf8_lossy(&got).into_owned())
}

/// An upstream that reads slowly, but reads: all of it takes several times as long as it has for its answer.
#[test]
fn the_time_for_an_answer_begins_at_the_end_of_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let upstream = listener.local_addr().expect("it is bound");
    let rig = Rig::new(POLICY, upstream, |settings| settings.timeouts.response = SHORT);
    let (_never, clock) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("the gateway connects");
            let (mut all, mut piece) = (0, vec![0; 256 << 10]);
            while all < LARGE {
                // It has other things to do.
                assert_eq!(clock.recv_timeout(SHORT / 20), Err(RecvTimeoutError::Timeout));
                match stream.read(&mut piece) {
                    Ok(count @ 1..) => all += count,
                    Ok(0) | Err(_) => return,
                }
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("it is taken");
        });
        let got = upload(rig.connect(), "/free", LARGE).expect("it is taken to its end");
        assert_eq!(statuses(&got), [200], "{got}");
    });
}

const UPLOADS: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /limited:
    post:
      x-rate-limit: { name: small, algorithm: token_bucket, capacity: 1, refill_rate: 0.001, consumer_key: ip }
";

/// Most clients write all of a request before they read. What is closed with bytes unread is reset, and the answer with it.
#[test]
fn a_refused_upload_gets_its_answer() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(UPLOADS, upstream.address, |_| {});
    assert_eq!(statuses(&upload(rig.connect(), "/limited", 0).expect("it is granted")), [200]);
    for length in [10 << 20, 100 << 10] {
        for path in ["/limited", "/nowhere"] {
            let got = upload(rig.connect(), path, length).expect("it is not reset");
            let wanted = if path == "/limited" { 429 } else { 404 };
            assert_eq!(statuses(&got), [wanted], "{length}: {got}");
            assert!(got.ends_with('}'), "{got}");
        }
    }
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn one_that_is_too_large_or_ambiguous_gets_its_answer_too() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| settings.bounds.body_bytes = Some(1 << 10));
    let got = upload(rig.connect(), "/free", 10 << 20).expect("it is not reset");
    assert_eq!(statuses(&got), [413], "{got}");
    let mut stream = rig.connect();
    let head = "POST /free HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it takes bytes");
    stream.write_all(&vec![b'x'; 4 << 20]).expect("it takes bytes");
    let got = read_to_end(&mut stream);
    assert_eq!(statuses(&got), [400], "{got}");
}

/// Whoever goes on and on after the answer has so much room and so much time, and then no connection.
#[test]
fn an_upload_without_an_end_is_closed_after_its_answer() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| settings.bounds.connections = 1);
    let mut stream = rig.connect();
    let head = "POST /nowhere HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it takes bytes");
    let piece = [b"10000\r\n".as_slice(), &[b'x'; 0x1_0000], b"\r\n"].concat();
    let endless = (0..4096).any(|_| stream.write_all(&piece).is_err());
    assert!(endless, "it takes 256 MiB that nobody wants");
    // One that sends nothing more is closed by the time; there is one place only, so that the next one has to wait for it.
    let mut silent = rig.connect();
    silent
        .write_all(b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
        .expect("it takes bytes");
    let answer = read_to_end(&mut silent);
    assert_eq!(statuses(&answer), [404], "{answer}");
    assert_eq!(field(&answer, "content-type"), Some("application/problem+json"));
    let mut next = rig.connect();
    next.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    next.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("it takes bytes");
    assert_eq!(statuses(&read_to_end(&mut next)), [200]);
    let _ = silent.shutdown(Shutdown::Both);
}

/// A gateway that drains waits no longer for such a client than for others.
#[test]
fn what_is_thrown_away_does_not_hold_up_the_end() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| settings.timeouts.drain = SHORT);
    let mut silent = rig.connect();
    silent
        .write_all(b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
        .expect("it takes bytes");
    assert_eq!(statuses(&read_to_end(&mut silent)), [404]);
    rig.stop();
    assert_eq!(rig.ended(), Ok(()));
}
