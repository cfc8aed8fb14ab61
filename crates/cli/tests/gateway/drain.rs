//! The end: what was begun is finished, what has not begun is told to go, and nothing takes for ever. The real program, by signals.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc::Sender;
use tollgate_testing::patience::{ended, until};

use crate::peers::{Handler, Service, block_on, client_http1, client_http2, data, nothing, pieces, request};
use crate::process::{Process, read_one};
use crate::support::{POLICY, Recorder, folder, read_to_end, small, status};

/// An upstream whose first so many answers are given piece by piece; further ones are empty.
fn answering(count: usize) -> (Service, Vec<Sender<Frame<Bytes>>>) {
    let (senders, bodies): (Vec<_>, VecDeque<_>) = (0..count).map(|_| pieces()).unzip();
    let bodies = Mutex::new(bodies);
    let handler: Handler = Arc::new(move |_| {
        Response::new(bodies.lock().expect("nobody panics").pop_front().unwrap_or_else(nothing))
    });
    (Service::new(handler, None), senders)
}

/// It has heard that it has to stop.
fn is_draining(process: &Process) {
    until("it says that it is draining", || process.operator("/readyz").starts_with("HTTP/1.1 503"));
}

#[test]
fn requests_in_flight_are_answered_whole() {
    let (upstream, senders) = answering(2);
    let mut process = Process::new(POLICY, upstream.address, &[]);
    block_on(async {
        let mut one = client_http1(process.address).await;
        let first = one.send_request(request(Method::GET, "/free", nothing())).await.expect("it is answered");
        let mut two = client_http2(process.address).await;
        let second =
            two.send_request(request(Method::GET, "/free", nothing())).await.expect("it is answered");
        let mut idle = process.connect();
        idle.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
        assert_eq!(status(&read_one(&mut idle)), 200);
        for sender in &senders {
            sender.send(data("begun, ")).await.expect("it is wanted");
        }
        process.signal(Signal::TERM);
        assert_eq!(read_to_end(&mut idle), "", "it has nothing to wait for");
        is_draining(&process);
        // As soon as every worker has heard of it.
        until("it takes no connections", || TcpStream::connect(process.address).is_err());
        for sender in senders {
            sender.send(data("finished")).await.expect("it is wanted");
        }
        for response in [first, second] {
            let body = response.into_body().collect().await.expect("it comes whole");
            assert_eq!(body.to_bytes(), "begun, finished");
        }
    });
    assert_eq!(process.ended().code(), Some(0));
}

#[test]
fn those_who_wait_for_a_place_are_served() {
    let (upstream, senders) = answering(1);
    let mut process = Process::new(POLICY, upstream.address, &[("BOUNDS_CONNECTIONS", "1")]);
    block_on(async {
        let mut one = client_http1(process.address).await;
        let first = one.send_request(request(Method::GET, "/free", nothing())).await.expect("it is answered");
        let mut waiting: Vec<_> = (0..5).map(|_| process.connect()).collect();
        for stream in &mut waiting {
            stream.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("the system takes bytes");
        }
        process.signal(Signal::TERM);
        is_draining(&process);
        drop(senders);
        assert_eq!(first.into_body().collect().await.expect("it comes whole").to_bytes(), "");
        drop(one);
        for stream in &mut waiting {
            assert_eq!(status(&read_to_end(stream)), 200);
        }
    });
    assert_eq!(process.ended().code(), Some(0));
}

/// Requests that come while it stops: each is answered, or its connection was never taken.
#[test]
fn whoever_was_let_in_is_answered() {
    for round in 0..5 {
        let upstream = Recorder::new(small);
        let mut process = Process::new(POLICY, upstream.address, &[("WORKERS", "2")]);
        let mut all: Vec<_> = (0..40).map(|_| process.connect()).collect();
        for (number, stream) in all.iter_mut().enumerate() {
            stream.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("the system takes bytes");
            if number == 8 * round {
                process.signal(Signal::TERM);
            }
        }
        let answered = all.iter_mut().map(read_to_end).filter(|got| got.starts_with("HTTP/1.1 200")).count();
        // Those that had sent nothing when it was said to stop may have been closed.
        assert!(answered > 8 * round, "{answered} of those before the signal");
        assert_eq!(process.ended().code(), Some(0));
    }
}

#[test]
fn a_request_whose_head_has_half_come_is_answered() {
    const REQUEST: &[u8] = b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n";
    let upstream = Recorder::new(small);
    let mut process = Process::new(POLICY, upstream.address, &[]);
    let mut stream = process.connect();
    stream.write_all(REQUEST).expect("it takes bytes");
    assert_eq!(status(&read_one(&mut stream)), 200);
    let (half, rest) = REQUEST.split_at(20);
    stream.write_all(half).expect("it takes bytes");
    // There is one worker: when it has answered this, it has read the half.
    assert_eq!(status(&process.get("/free")), 200);
    process.signal(Signal::TERM);
    is_draining(&process);
    until("it takes no connections", || TcpStream::connect(process.address).is_err());
    stream.write_all(rest).expect("it takes bytes");
    assert_eq!(status(&read_to_end(&mut stream)), 200);
    assert_eq!(process.ended().code(), Some(0));
}

/// It lets clients in a while before it has said where it listens.
#[test]
fn a_signal_that_comes_while_it_starts_is_not_its_death() {
    let policy = folder().join("openapi.yaml");
    std::fs::write(&policy, POLICY).expect("a temporary folder can be written");
    for _ in 0..10 {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("there is a free port").to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args([
            "serve",
            "--config",
            "none",
            "--upstream",
            "http://127.0.0.1:9",
            "--listen",
            &*address,
        ]);
        command.arg("--policy").arg(&policy).env_clear().env("TOLLGATE_OPERATIONS_LISTEN", "127.0.0.1:0");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it runs");
        until("it takes connections", || {
            assert_eq!(child.try_wait().expect("it is a child"), None, "it did not start");
            TcpStream::connect(&address).is_ok()
        });
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
        assert_eq!(ended(&mut child).code(), Some(0));
    }
    let _ = std::fs::remove_dir_all(policy.parent().expect("it is in a folder"));
}

#[test]
fn one_that_is_stuck_is_cut_when_the_time_is_over() {
    let (upstream, senders) = answering(1);
    let mut process = Process::new(POLICY, upstream.address, &[("TIMEOUTS_DRAIN", "200ms")]);
    block_on(async {
        let mut one = client_http1(process.address).await;
        let stuck = one.send_request(request(Method::GET, "/free", nothing())).await.expect("it is answered");
        process.signal(Signal::TERM);
        assert!(stuck.into_body().collect().await.is_err(), "it was cut");
    });
    assert_eq!(process.ended().code(), Some(0));
    assert!(process.log().contains("the drain timeout passed"), "{}", process.log());
    drop(senders);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    for second in [Signal::TERM, Signal::INT] {
        let (upstream, senders) = answering(1);
        let mut process = Process::new(POLICY, upstream.address, &[("TIMEOUTS_DRAIN", "10m")]);
        block_on(async {
            let mut one = client_http1(process.address).await;
            let stuck = one.send_request(request(Method::GET, "/free", nothing())).await;
            let stuck = stuck.expect("it is answered");
            process.signal(Signal::TERM);
            is_draining(&process);
            process.signal(second);
            assert!(stuck.into_body().collect().await.is_err(), "it was cut");
        });
        assert_eq!(process.ended().code(), Some(1));
        drop(senders);
    }
}
