//! Connections that have given their buffers back: what comes while they do, or has come before, is not lost.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use tollgate_testing::patience::until;

use crate::peers::Certificate;
use crate::process::read_one;
use crate::scripted::statuses;
use crate::support::{PATIENCE, POLICY, Recorder, Rig, read_to_end, small, status};
use crate::tls::with;

const REQUEST: &[u8] = b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n";
/// A connection naps after half of this, by what [`rig`] sets.
const NAP: Duration = Duration::from_millis(200);

/// One whose ticks are short, so that its connections nap soon.
fn rig(upstream: &Recorder) -> Rig {
    Rig::new(POLICY, upstream.address, |settings| settings.timeouts.write = NAP)
}

/// Waits until the connection naps, for which there is no sign: nothing comes, and above all not its end.
fn wait_for_nap(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(2 * NAP)).expect("a socket has timeouts");
    let read = stream.read(&mut [0]);
    let kind = read.expect_err("it was closed").kind();
    assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{kind:?}");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
}

/// All of them have sent a request before it is said to stop. Most have not been heard by then.
#[test]
fn a_request_that_has_come_before_the_end_is_answered() {
    let upstream = Recorder::new(small);
    let rig = rig(&upstream);
    let mut all: Vec<_> = (0..100).map(|_| rig.connect()).collect();
    for stream in &mut all {
        stream.write_all(REQUEST).expect("it takes bytes");
        assert_eq!(status(&read_one(stream)), 200);
    }
    wait_for_nap(all.last_mut().expect("there are some"));
    for stream in &mut all {
        stream.write_all(REQUEST).expect("it takes bytes");
    }
    rig.stop();
    let answered = all.iter_mut().map(read_to_end).filter(|got| statuses(got) == [200]).count();
    assert_eq!(answered, all.len());
    assert_eq!(rig.ended(), Ok(()));
}

/// A client that sends ahead may have sent half a head: the rest of it comes when it comes, in the time of a head.
#[test]
fn half_a_head_that_came_with_the_request_before_is_kept() {
    let upstream = Recorder::new(small);
    let rig = rig(&upstream);
    let mut stream = rig.connect();
    let (half, rest) = REQUEST.split_at(10);
    stream.write_all(&[REQUEST, half].concat()).expect("it takes bytes");
    assert_eq!(status(&read_one(&mut stream)), 200);
    wait_for_nap(&mut stream);
    stream.write_all(&[rest, REQUEST].concat()).expect("it takes bytes");
    for _ in 0..2 {
        assert_eq!(status(&read_one(&mut stream)), 200);
    }
    assert_eq!(upstream.requests(), 3);
}

/// The rest of it has no more time than the head of any request.
#[test]
fn half_a_head_without_the_rest_is_closed() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| settings.timeouts.header = NAP);
    let mut stream = rig.connect();
    stream.write_all(&[REQUEST, &REQUEST[..10]].concat()).expect("it takes bytes");
    assert_eq!(status(&read_one(&mut stream)), 200);
    assert_eq!(read_to_end(&mut stream), "");
}

/// Responses are as long as so many of these.
const PIECE: usize = 8 << 10;
/// So many fit nowhere on their way to a client that does not read.
const PIECES_MAX: usize = 2048;

/// Answers with as many pieces as the path says.
fn pieces(seen: &str) -> Option<Vec<u8>> {
    let (head, _) = seen.split_once("\r\n\r\n")?;
    let number = head.strip_prefix("GET /free/")?.split(' ').next()?;
    let length = PIECE * number.parse::<usize>().ok()?;
    let mut response = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    response.resize(response.len() + length, b'x');
    Some(response)
}

/// Asks for so many pieces over TLS, and reads none of them.
fn ask(rig: &Rig, certificate: &Certificate, count: usize) -> impl Read + use<> {
    let name = "localhost".try_into().expect("it is a name");
    let tls = rustls::ClientConnection::new(Arc::new(certificate.trusted(&["http/1.1"])), name);
    let mut stream = rustls::StreamOwned::new(tls.expect("it is a client"), rig.connect());
    let request = format!("GET /free/{count} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it takes bytes");
    stream
}

/// What the client has not taken may be within TLS. The exchange is over then, and nobody else knows of it.
#[test]
fn the_end_of_a_response_over_tls_waits_for_its_client() {
    let certificate = Certificate::new();
    let upstream = Recorder::new(pieces);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        with(&certificate, settings);
        settings.operations = Some(([127, 0, 0, 1], 0).into());
        // No request has a body: it is for short ticks.
        settings.timeouts.body = NAP;
        settings.timeouts.header = PATIENCE;
    });
    let open = || rig.metric("tollgate_requests_open").expect("it is counted");
    let mut silent = rig.connect();
    // The longest response that is taken from the upstream to its end though its client reads nothing: the end of it waits
    // within TLS. Shorter ones wait in the system alone.
    let (mut fits, mut too_long, mut unread) = (0, PIECES_MAX, Vec::new());
    while too_long - fits > 1 {
        let middle = fits.midpoint(too_long);
        let stream = ask(&rig, &certificate, middle);
        wait_for_nap(&mut silent);
        if open() == 0 {
            fits = middle;
            unread.push((middle, stream));
        } else {
            too_long = middle;
            drop(stream);
            until("the gateway has noticed that the client is gone", || open() == 0);
        }
    }
    assert!(!unread.is_empty());
    for (count, mut stream) in unread {
        let mut got = 0;
        let mut room = vec![0; PIECE];
        while got < count * PIECE {
            let read = stream.read(&mut room).unwrap_or_else(|why| panic!("{got} of {count} pieces: {why}"));
            assert!(read > 0, "{got} of {count} pieces");
            // The head is a little more.
            got += read;
        }
    }
}
