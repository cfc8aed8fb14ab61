//! Responses of the upstream that could be read in two ways, and what is left of them: none of it is taken for the next one's.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use crate::scripted::{Reply, Scripted, statuses};
use crate::support::{PATIENCE, POLICY, Rig, field, small, status};

/// An upstream that answers this on its first connection, and properly on every other.
fn once(bytes: &'static [u8], close: bool) -> Scripted {
    Scripted::new(move |connection, request| {
        small(request).map(|fine| match connection {
            0 => Reply { bytes: bytes.into(), close },
            _ => Reply { bytes: fine, close: false },
        })
    })
}

/// A first request, and a second one that must get a proper answer over another connection.
fn first_of_two(upstream: &Scripted) -> String {
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let first = rig.get("/free", "");
    let second = rig.get("/free/2", "");
    assert!(status(&second) == 200 && second.ends_with("\r\n\r\nok"), "{second}");
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2, "the first connection was used again: {seen:?}");
    first
}

#[test]
fn a_response_that_could_be_read_in_two_ways_is_a_502() {
    let table: [&[u8]; 13] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nX: y\r\n z\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"no HTTP at all\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
    ];
    for bytes in table {
        let first = first_of_two(&once(bytes, false));
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(statuses(&first), [502], "{text}: {first}");
        assert_eq!(field(&first, "content-type"), Some("application/problem+json"), "{text}");
        assert!(!first.contains("hello") && !first.contains("127.0.0.1"), "{text}: {first}");
    }
}

#[test]
fn a_length_that_is_said_twice_alike_is_passed_on_once() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
    ] {
        let upstream = Scripted::new(move |_, request| {
            small(request).map(|_| Reply { bytes: bytes.into(), close: false })
        });
        let rig = Rig::new(POLICY, upstream.address, |_| {});
        let got = rig.get("/free", "");
        assert_eq!(got.to_lowercase().matches("content-length: 5\r\n").count(), 1, "{got}");
        assert!(got.ends_with("\r\n\r\nhello"), "{got}");
    }
}

#[test]
fn what_comes_after_a_response_is_not_taken_for_the_next_one() {
    let table: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nevil",
    ];
    for bytes in table {
        let first = first_of_two(&once(bytes, false));
        assert!(!first.contains("evil"), "{first}");
        assert!([200, 204].contains(&status(&first)), "{first}");
    }
}

#[test]
fn what_comes_between_two_requests_is_not_taken_for_a_response() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let rig = Rig::new(POLICY, listener.local_addr().expect("it is bound"), |_| {});
    let (go, wait) = mpsc::channel::<()>();
    let (done, written) = mpsc::channel::<()>();
    let serving = std::thread::spawn(move || {
        let answer = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{body}");
        let (mut one, _) = listener.accept().expect("the gateway connects");
        assert!(one.read(&mut [0; 4096]).expect("a request comes") > 0);
        one.write_all(answer("good").as_bytes()).expect("it is taken");
        wait.recv_timeout(PATIENCE).expect("the test goes on");
        one.write_all(answer("evil").as_bytes()).expect("the connection is kept");
        done.send(()).expect("the test waits");
        let (mut two, _) = listener.accept().expect("the gateway connects once more");
        assert!(two.read(&mut [0; 4096]).expect("a request comes") > 0);
        two.write_all(answer("fine").as_bytes()).expect("it is taken");
    });
    assert!(rig.get("/free", "").ends_with("good"));
    go.send(()).expect("the upstream waits");
    written.recv_timeout(PATIENCE).expect("the upstream writes");
    assert!(rig.get("/free", "").ends_with("fine"));
    serving.join().expect("the upstream does not panic");
}

#[test]
fn a_body_that_breaks_off_is_not_made_to_look_whole() {
    let table: [&[u8]; 5] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    ];
    for bytes in table {
        let first = first_of_two(&once(bytes, true));
        let length = field(&first, "content-length");
        let whole = length.map_or(first.ends_with("0\r\n\r\n"), |_| first.ends_with("hellohello"));
        assert!(!whole, "{first}");
    }
}

#[test]
fn heads_that_announce_another_are_passed_over() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n".repeat(50);
    let bytes = format!("HTTP/1.1 100 Continue\r\n\r\n{early}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let upstream = Scripted::new(move |_, request| {
        small(request).map(|_| Reply { bytes: bytes.clone().into(), close: false })
    });
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    for _ in 0..2 {
        let got = rig.get("/free", "");
        assert_eq!(statuses(&got), [200], "{got}");
        assert!(got.ends_with("\r\n\r\nok"), "{got}");
    }
    assert_eq!(upstream.seen().len(), 1, "the connection is fine");
    // Whoever announces for ever does not answer.
    let endless = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100);
    let upstream = Scripted::new(move |_, _| Some(Reply { bytes: endless.clone().into(), close: false }));
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    assert_eq!(statuses(&rig.get("/free", "")), [502]);
}

#[test]
fn a_body_that_ends_with_its_connection_is_passed_on_with_an_end_of_its_own() {
    let upstream = once(b"HTTP/1.0 200 OK\r\nX: y\r\n\r\nhello", true);
    let first = first_of_two(&upstream);
    assert!(first.ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "{first}");
    assert_eq!(field(&first, "transfer-encoding"), Some("chunked"));
    assert_eq!(field(&first, "via"), Some("1.0 tollgate"));
}

#[test]
fn a_response_to_head_has_its_length_and_no_body() {
    let upstream = Scripted::always(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    for _ in 0..2 {
        let got = rig.send("HEAD /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_eq!(field(&got, "content-length"), Some("5"), "{got}");
        assert!(got.ends_with("\r\n\r\n"), "{got}");
    }
    assert_eq!(upstream.seen().len(), 1, "the connection is fine");
}
