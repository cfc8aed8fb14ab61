//! Connections that have given their buffers back: what comes while they do, or has come before, is not lost.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::process::read_one;
use crate::scripted::statuses;
use crate::support::{PATIENCE, POLICY, Recorder, Rig, read_to_end, small, status};

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
