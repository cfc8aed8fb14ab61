//! What `/readyz` checks: the shared store and the upstream where the settings say so; and that nobody keeps operators from an answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use tollgate_cli::settings::{Readiness, Settings};
use tollgate_twins::server::{Make, Server};

use crate::process::Process;
use crate::support::{PATIENCE, POLICY, Recorder, Rig, read_to_end, small, status};

fn readyz(operations: SocketAddr) -> String {
    let mut stream = TcpStream::connect(operations).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    read_to_end(&mut stream)
}

/// Asks until the answer has this status.
fn until(rig: &Rig, wanted: u16) -> String {
    #[expect(clippy::disallowed_methods, reason = "patience has an end")]
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        let answer = readyz(rig.operations.expect("it has one"));
        if status(&answer) == wanted {
            return answer;
        }
        #[expect(clippy::disallowed_methods, reason = "patience has an end")]
        let now = std::time::Instant::now();
        assert!(now < end, "{answer}");
    }
}

fn checking(settings: &mut Settings, readiness: Readiness) {
    settings.readiness = readiness;
    settings.operations = Some(([127, 0, 0, 1], 0).into());
}

#[test]
fn a_store_that_is_checked_and_gone_makes_a_gateway_unready_and_one_that_is_not_checked_does_not() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let url = format!("unix://{}", server.socket().display());
    let upstream = Recorder::new(small);
    let rigs = [true, false].map(|store| {
        Rig::new(POLICY, upstream.address, |settings| {
            checking(settings, Readiness { store, ..Readiness::default() });
            settings.store.url = Some(url.clone());
        })
    });
    let [checked, unchecked] = &rigs;
    until(checked, 200);
    drop(server);
    let answer = until(checked, 503);
    assert!(answer.contains("not ready: the shared store makes no decisions: "), "{answer}");
    assert_eq!(status(&readyz(unchecked.operations.expect("it has one"))), 200);
}

#[test]
fn an_upstream_that_is_checked_and_gone_makes_a_gateway_unready() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let rig = Rig::new(POLICY, address, |settings| {
        checking(settings, Readiness { upstream: true, ..Readiness::default() })
    });
    until(&rig, 200);
    drop(listener);
    let answer = until(&rig, 503);
    assert!(answer.contains("not ready: cannot connect to the upstream: "), "{answer}");
    let _listener = TcpListener::bind(address).expect("the port is still free");
    until(&rig, 200);
}

#[test]
fn hundreds_of_idle_connections_keep_no_operator_from_an_answer() {
    let upstream = Recorder::new(small);
    let process = Process::new(POLICY, upstream.address, &[]);
    let idle: Vec<_> =
        (0..300).map(|_| TcpStream::connect(process.operations).expect("it listens")).collect();
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(status(&process.operator(path)), 200, "{path}");
    }
    let closed = idle
        .iter()
        .filter(|stream| stream.set_nonblocking(true).is_ok() && matches!((&**stream).read(&mut [0]), Ok(0)));
    assert!(closed.count() >= 200, "they were closed to make room");
}
