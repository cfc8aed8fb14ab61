//! Many connections at once: as many as there may be are served, the others wait, and the system's own bounds are borne.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tollgate_testing::patience::until;

use crate::process::{Process, read_one};
use crate::support::{PATIENCE, POLICY, Recorder, Rig, read_to_end, small, status};

const REQUEST: &[u8] = b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n";

fn ask(stream: &mut TcpStream) -> u16 {
    stream.write_all(REQUEST).expect("it takes bytes");
    status(&read_one(stream))
}

#[test]
fn connections_beyond_the_bound_wait_and_are_served_later() {
    let upstream = Recorder::new(small);
    // Also where there are more listeners than places.
    for (connections, listeners) in [(2, 1), (2, 3), (1, 2)] {
        let rig = Rig::new(POLICY, upstream.address, |settings| {
            settings.bounds.connections = connections;
            settings.listen = vec![([127, 0, 0, 1], 0).into(); listeners];
        });
        let mut held: Vec<_> = (0..connections).map(|_| rig.connect()).collect();
        held.iter_mut().for_each(|stream| assert_eq!(ask(stream), 200));
        let mut waits = rig.connect();
        waits.write_all(REQUEST).expect("the system takes bytes");
        waits.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket has timeouts");
        let early = waits.read(&mut [0]).expect_err("nobody has read its request");
        assert_eq!(early.kind(), ErrorKind::WouldBlock);
        held.iter_mut().for_each(|stream| assert_eq!(ask(stream), 200, "those who are in go on"));
        held.pop();
        waits.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        assert_eq!(status(&read_one(&mut waits)), 200);
    }
}

#[test]
fn an_address_has_so_many_connections_and_no_more() {
    let rig = Rig::new(POLICY, Recorder::new(small).address, |settings| {
        settings.bounds.connections_per_address = Some(2);
    });
    let mut held: Vec<_> = (0..2).map(|_| rig.connect()).collect();
    held.iter_mut().for_each(|stream| assert_eq!(ask(stream), 200));
    assert_eq!(read_to_end(&mut rig.connect()), "", "it is closed at once");
    // From another address there are others.
    let other = std::net::SocketAddr::from(([127, 0, 0, 2], 0));
    let socket = crate::peers::block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().expect("there are sockets");
        socket.bind(other).expect("this machine has it");
        socket.connect(rig.address).await.expect("it listens").into_std().expect("it is a socket")
    });
    let mut socket = socket;
    socket.set_nonblocking(false).expect("a socket has modes");
    assert_eq!(ask(&mut socket), 200);
    held.pop();
    // As soon as the gateway has heard of it, there is a place.
    until("there is a place", || rig.get("/free", "").starts_with("HTTP/1.1 200"));
}

#[test]
fn without_descriptors_clients_wait_and_are_served_when_there_are_some() {
    let upstream = Recorder::new(small);
    let process = Process::new(POLICY, upstream.address, &[]);
    // A connection to the upstream is kept from now on.
    assert_eq!(status(&process.get("/free")), 200);
    process.allow_descriptors(4);
    let held: Vec<_> = (0..20).map(|_| process.connect()).collect();
    let mut waits = process.connect();
    waits.write_all(REQUEST).expect("the system takes bytes");
    waits.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket has timeouts");
    let early = waits.read(&mut [0]).expect_err("nobody has read its request");
    assert_eq!(early.kind(), ErrorKind::WouldBlock);
    process.wait_log("cannot accept connections");
    let log = process.log();
    // Not for every attempt. A descriptor that was counted may be given back a moment later, and taken: then it is said once more.
    assert!(log.matches("cannot accept connections for now").count() <= 2, "{log}");
    drop(held);
    waits.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    assert_eq!(status(&read_one(&mut waits)), 200, "it has resumed by itself");
    assert_eq!(status(&process.get("/free")), 200);
}

#[test]
fn a_program_with_few_descriptors_takes_no_more_than_it_can_serve() {
    let upstream = Recorder::new(small);
    let process = Process::within("ulimit -n 70", POLICY, upstream.address);
    process.wait_log("is too low for `bounds.connections`");
    let mut all: Vec<_> = (0..20).map(|_| process.connect()).collect();
    for stream in &mut all {
        stream
            .write_all(b"GET /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .expect("the system takes bytes");
    }
    for stream in &mut all {
        assert_eq!(status(&read_to_end(stream)), 200, "each has its turn");
    }
}

#[test]
fn a_thousand_idle_connections_take_little_and_others_are_served() {
    const CONNECTIONS: u64 = 1_000;
    /// Half of it is hyper's two buffers. What it is exactly is for `cargo xtask bench gateway` to say.
    const IDLE_BYTES_MAX: u64 = 20 << 10;
    let upstream = Recorder::new(small);
    let patient = [("TIMEOUTS_HEADER", "10m"), ("TIMEOUTS_IDLE", "10m")];
    let process = Process::new(POLICY, upstream.address, &patient);
    for _ in 0..50 {
        assert_eq!(status(&process.get("/free")), 200);
    }
    let before = process.kilobytes("VmRSS");
    let mut held: Vec<_> = (0..CONNECTIONS).map(|_| process.connect()).collect();
    held.iter_mut().for_each(|stream| assert_eq!(ask(stream), 200));
    let bytes = (process.kilobytes("VmRSS").saturating_sub(before)) * 1_024 / CONNECTIONS;
    println!("{bytes} resident bytes for each of {CONNECTIONS} idle connections");
    assert!(bytes <= IDLE_BYTES_MAX, "{bytes} resident bytes a connection");
    assert_eq!(process.metric("tollgate_connections_open"), CONNECTIONS);
    for _ in 0..50 {
        assert_eq!(status(&process.get("/free")), 200);
    }
    held.iter_mut().for_each(|stream| assert_eq!(ask(stream), 200, "none was closed meanwhile"));
}
