//! Connections to the upstream, kept and used again: when that is safe, when it is tried once more, and when it is not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use crate::scripted::{Reply, Scripted};
use crate::support::{POLICY, Rig, small, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn post(rig: &Rig) -> String {
    rig.send("POST /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
}

#[test]
fn many_requests_one_after_another_have_one_connection() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    for number in 0..20 {
        assert_eq!(status(&rig.get(&format!("/free/{number}"), "")), 200);
        assert_eq!(status(&post(&rig)), 200);
    }
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn no_more_connections_are_kept_than_may_be() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |settings| settings.upstream.idle_max = 0);
    (0..3).for_each(|_| assert_eq!(status(&rig.get("/free", "")), 200));
    assert_eq!(upstream.settled().len(), 3);
}

#[test]
fn an_upstream_that_closes_after_each_response_is_no_matter() {
    for bytes in [OK, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"] {
        let upstream = Scripted::new(move |_, request| {
            small(request).map(|_| Reply { bytes: bytes.into(), close: true })
        });
        let rig = Rig::new(POLICY, upstream.address, |_| {});
        for _ in 0..5 {
            assert_eq!(status(&rig.get("/free", "")), 200);
        }
        assert_eq!(upstream.settled().concat().matches("GET /free").count(), 5, "nothing is sent twice");
    }
}

/// An upstream that answers the first request of its first connection, and closes that when the second comes, after `last`.
fn dies_at_the_second(last: &'static [u8]) -> Scripted {
    let served = std::sync::atomic::AtomicUsize::new(0);
    Scripted::new(move |connection, request| {
        let fine = small(request)?;
        let first = served.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        Some(match (connection, first) {
            (0, false) => Reply { bytes: last.into(), close: true },
            (_, _) => Reply { bytes: fine, close: false },
        })
    })
}

#[test]
fn a_get_on_a_connection_that_dies_is_sent_once_more() {
    let upstream = dies_at_the_second(b"");
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    });
    assert_eq!(status(&rig.get("/free/1", "")), 200);
    assert_eq!(status(&rig.get("/free/2", "")), 200);
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0].contains("GET /free/2 ") && seen[1].starts_with("GET /free/2 "), "{seen:?}");
    assert_eq!(rig.metric("tollgate_upstream_retries_total"), Some(1));
    assert_eq!(rig.metric("tollgate_upstream_connects_total"), Some(2));
}

#[test]
fn a_post_on_a_connection_that_dies_is_not_sent_twice() {
    let upstream = dies_at_the_second(b"");
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    assert_eq!(status(&rig.get("/free/1", "")), 200);
    let got = post(&rig);
    assert_eq!(status(&got), 502, "{got}");
    assert!(got.contains("may have taken effect"), "{got}");
    assert_eq!(upstream.seen().concat().matches("POST /free").count(), 1);
    assert_eq!(status(&post(&rig)), 200, "the next one has a new connection");
}

#[test]
fn a_response_that_has_begun_is_not_asked_for_again() {
    let upstream = dies_at_the_second(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    assert_eq!(status(&rig.get("/free/1", "")), 200);
    let got = rig.get("/free/2", "");
    // As much of it as there was time for, and no end.
    assert!(got.is_empty() || got.ends_with("\r\n\r\n") || got.ends_with("\r\n\r\nhe"), "{got}");
    assert_eq!(upstream.seen().concat().matches("GET /free/2").count(), 1);
}

#[test]
fn a_new_connection_that_dies_is_not_tried_for_ever() {
    let upstream = Scripted::new(|_, _| Some(Reply { bytes: Vec::new(), close: true }));
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    assert_eq!(status(&rig.get("/free", "")), 502);
    assert_eq!(upstream.settled().len(), 1);
}

#[test]
fn a_response_that_is_not_read_to_its_end_takes_its_connection_with_it() {
    let long =
        [b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n".to_vec(), vec![b'x'; 1 << 20]].concat();
    let upstream = Scripted::new(move |connection, request| {
        small(request).map(|fine| match connection {
            0 => Reply { bytes: long.clone(), close: false },
            _ => Reply { bytes: fine, close: false },
        })
    });
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let mut impatient = rig.connect();
    impatient.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    impatient.read_exact(&mut [0; 1000]).expect("a response begins");
    drop(impatient);
    let got = rig.get("/free", "");
    assert!(got.ends_with("\r\n\r\nok"), "{got}");
    assert_eq!(upstream.seen().len(), 2);
}

/// Serves one connection with as many requests, and goes.
fn serve_once(address: SocketAddr, requests: usize) -> std::thread::JoinHandle<()> {
    let listener = TcpListener::bind(address).expect("the port is free");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the gateway connects");
        for _ in 0..requests {
            assert!(stream.read(&mut [0; 4096]).expect("a request comes") > 0);
            stream.write_all(OK).expect("it is taken");
        }
    })
}

#[test]
fn an_upstream_that_is_started_anew_is_found_again() {
    let address =
        TcpListener::bind("127.0.0.1:0").expect("there is a free port").local_addr().expect("it is bound");
    let rig = Rig::new(POLICY, address, |_| {});
    let first = serve_once(address, 2);
    assert_eq!(status(&rig.get("/free", "")), 200);
    assert_eq!(status(&post(&rig)), 200);
    first.join().expect("it serves two");
    assert_eq!(status(&rig.get("/free", "")), 502, "it is gone");
    let second = serve_once(address, 1);
    assert_eq!(status(&post(&rig)), 200, "nothing was sent over the dead connection");
    second.join().expect("it serves one");
}
