//! WebSocket through the gateway: a real client and server, raw bytes around the 101, deadlines, and what is counted.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream as Socket;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_async, client_async};
use tollgate_testing::patience::until;

use crate::lines::Lines;
use crate::scripted::statuses;
use crate::support::{PATIENCE, POLICY, Rig, field, read_to_end, status};

const HANDSHAKE: &str = "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const SWITCHES: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// An upstream of one connection that is driven by the test: its socket comes when a whole head has.
struct Upstream {
    address: SocketAddr,
    accepted: mpsc::Receiver<(TcpStream, String)>,
}

impl Upstream {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let (sender, accepted) = mpsc::channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
                let head = read_head(&mut stream);
                if sender.send((stream, head)).is_err() {
                    return;
                }
            }
        });
        Self { address, accepted }
    }

    fn next(&self) -> (TcpStream, String) {
        self.accepted.recv_timeout(PATIENCE).expect("a request reaches the upstream")
    }
}

/// A head, byte by byte, so that nothing behind it is read.
fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("a whole head comes");
        head.extend_from_slice(&byte);
    }
    String::from_utf8(head).expect("it is text")
}

fn read_exactly(stream: &mut TcpStream, count: usize) -> String {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).expect("so much comes");
    String::from_utf8(bytes).expect("it is text")
}

fn write(stream: &mut TcpStream, bytes: &str) {
    stream.write_all(bytes.as_bytes()).expect("it takes bytes");
}

/// A client and an upstream with a tunnel between them.
fn tunnel(rig: &Rig, upstream: &Upstream, path: &str) -> (TcpStream, TcpStream) {
    let mut client = rig.connect();
    write(&mut client, &format!("GET {path} HTTP/1.1\r\n{HANDSHAKE}"));
    let (mut server, _) = upstream.next();
    write(&mut server, SWITCHES);
    let head = read_head(&mut client);
    assert_eq!(status(&head), 101, "{head}");
    (client, server)
}

fn with_metrics(settings: &mut tollgate_cli::settings::Settings) {
    settings.operations = Some(([127, 0, 0, 1], 0).into());
}

#[test]
fn a_real_client_talks_to_a_real_server_and_both_close() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("the system gives a runtime");
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("there is a port");
    let rig = Rig::new(POLICY, listener.local_addr().expect("it is bound"), with_metrics);
    runtime.spawn(async move {
        let (socket, _) = listener.accept().await.expect("the gateway connects");
        let mut socket = accept_async(socket).await.expect("the handshake is whole");
        while let Some(Ok(message)) = socket.next().await {
            if message.is_close() {
                break;
            }
            socket.send(message).await.expect("it takes messages");
        }
    });
    let large = "x".repeat(300_000);
    runtime.block_on(async {
        let socket = Socket::connect(rig.address).await.expect("the gateway listens");
        let (mut socket, response) =
            client_async("ws://api.example.org/limited", socket).await.expect("it switches");
        assert_eq!(response.status(), 101);
        assert!(response.headers().contains_key("ratelimit"), "the client is told what is left");
        for text in ["hello", &large, "bye"] {
            socket.send(Message::text(text)).await.expect("it takes messages");
            let echoed = socket.next().await.expect("it is open").expect("it is well");
            assert_eq!(echoed.to_text().expect("it is text"), text);
        }
        assert_eq!(rig.metric("tollgate_tunnels_open"), Some(1));
        assert_eq!(rig.metric("tollgate_requests_open"), Some(1), "the exchange lasts as long as its tunnel");
        socket.close(None).await.expect("it can be closed");
        while let Some(Ok(_)) = socket.next().await {}
    });
    until("the tunnel has ended", || rig.metric("tollgate_tunnels_open") == Some(0));
    assert_eq!(rig.metric("tollgate_tunnels_ended_total{reason=\"closed\"}"), Some(1));
    assert_eq!(rig.metric("tollgate_tunnels_total"), Some(1));
    assert_eq!(rig.metric("tollgate_requests_open"), Some(0));
    assert!(rig.metric("tollgate_tunnel_bytes_total{to=\"client\"}") > Some(300_000));
    assert!(rig.metric("tollgate_tunnel_bytes_total{to=\"upstream\"}") > Some(300_000));
}

#[test]
fn limits_refuse_a_handshake_before_the_upstream_hears_of_it() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let tunnels: Vec<_> = (0..3).map(|_| tunnel(&rig, &upstream, "/limited")).collect();
    let got = rig.send(format!("GET /limited HTTP/1.1\r\n{HANDSHAKE}{SMUGGLED}"));
    assert_eq!(statuses(&got), [429], "{got}");
    assert!(field(&got, "retry-after").is_some(), "{got}");
    assert!(upstream.accepted.try_recv().is_err(), "the upstream got it");
    drop(tunnels);
}

#[test]
fn only_the_handshake_goes_on_and_hop_by_hop_fields_are_written_anew() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let mut client = rig.connect();
    let handshake = HANDSHAKE.replace(
        "Connection: Upgrade\r\nUpgrade: websocket\r\n",
        "Connection: keep-alive, upgrade, X-Mine\r\nUpgrade: h2c, WebSocket\r\nX-Mine: 1\r\nTE: trailers\r\n",
    );
    write(&mut client, &format!("GET /free HTTP/1.1\r\n{handshake}"));
    let (mut server, head) = upstream.next();
    assert!(head.starts_with("GET /free HTTP/1.1\r\n"), "{head}");
    assert_eq!(field(&head, "connection"), Some("Upgrade"), "{head}");
    assert_eq!(field(&head, "upgrade"), Some("websocket"), "{head}");
    assert_eq!(field(&head, "sec-websocket-key"), Some("dGhlIHNhbXBsZSBub25jZQ=="), "{head}");
    for gone in ["x-mine", "te", "content-length", "transfer-encoding"] {
        assert_eq!(field(&head, gone), None, "{head}");
    }
    // Frames may come right behind the 101.
    write(
        &mut server,
        &format!("{}first", SWITCHES.replace("\r\n\r\n", "\r\nKeep-Alive: x\r\nX-Theirs: 1\r\n\r\n")),
    );
    let head = read_head(&mut client);
    assert_eq!(status(&head), 101, "{head}");
    assert_eq!(field(&head, "connection"), Some("Upgrade"), "{head}");
    assert_eq!(field(&head, "upgrade"), Some("websocket"), "{head}");
    assert_eq!(field(&head, "x-theirs"), Some("1"), "{head}");
    for gone in ["keep-alive", "content-length", "transfer-encoding"] {
        assert_eq!(field(&head, gone), None, "{head}");
    }
    assert_eq!(read_exactly(&mut client, 5), "first");
    write(&mut client, "there");
    assert_eq!(read_exactly(&mut server, 5), "there");
    // Half a close is passed on, and what is still on its way arrives.
    client.shutdown(std::net::Shutdown::Write).expect("it is open");
    assert_eq!(read_to_end(&mut server), "");
    write(&mut server, "last");
    drop(server);
    assert_eq!(read_to_end(&mut client), "last");
}

/// CVE-2026-2833: what a client sends behind its handshake must not reach an upstream that has not switched.
#[test]
fn nothing_that_a_client_sends_before_the_101_reaches_the_upstream() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let refuses = "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno";
    for (answer, wanted) in [(refuses, Some(426)), (SWITCHES, None)] {
        // In one piece with the handshake.
        let mut client = rig.connect();
        write(&mut client, &format!("GET /free HTTP/1.1\r\n{HANDSHAKE}{SMUGGLED}"));
        let (mut server, _) = upstream.next();
        write(&mut server, answer);
        let got = read_to_end(&mut client);
        assert_eq!(statuses(&got), [wanted.unwrap_or(101)], "{got}");
        assert_eq!(read_to_end(&mut server), "", "{answer}");
        // In another piece, which has come before the upstream answers.
        let mut client = rig.connect();
        write(&mut client, &format!("GET /free HTTP/1.1\r\n{HANDSHAKE}"));
        let (mut server, _) = upstream.next();
        write(&mut client, SMUGGLED);
        // What is asked on another connection later is served after the gateway has seen these bytes.
        assert_eq!(status(&rig.get("/nowhere", "")), 404);
        write(&mut server, answer);
        let got = read_to_end(&mut client);
        assert_eq!(statuses(&got), [wanted.unwrap_or(400)], "{got}");
        assert_eq!(field(&got, "connection"), Some("close"), "{got}");
        assert_eq!(read_to_end(&mut server), "", "{answer}");
    }
}

#[test]
fn an_upstream_that_switches_to_something_else_is_a_bad_gateway() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    for wrong in [
        SWITCHES.replace("websocket", "h2c"),
        SWITCHES.replace("Connection: Upgrade\r\n", ""),
        SWITCHES.replace("Sec-WebSocket-Accept", "X-Accept"),
        SWITCHES.replace("\r\n\r\n", "\r\nContent-Length: 5\r\n\r\nhello"),
    ] {
        let mut client = rig.connect();
        write(&mut client, &format!("GET /free HTTP/1.1\r\n{HANDSHAKE}"));
        let (mut server, _) = upstream.next();
        write(&mut server, &wrong);
        let got = read_to_end(&mut client);
        assert_eq!(statuses(&got), [502], "{wrong}: {got}");
        assert_eq!(read_to_end(&mut server), "", "{wrong}");
    }
}

#[test]
fn a_handshake_that_is_refused_leaves_its_response_and_closes_both_connections() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let mut client = rig.connect();
    write(&mut client, &format!("GET /free HTTP/1.1\r\n{HANDSHAKE}"));
    let (mut server, _) = upstream.next();
    write(&mut server, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    let got = read_to_end(&mut client);
    assert_eq!(statuses(&got), [403], "{got}");
    assert!(got.ends_with("\r\n\r\nno"), "{got}");
    assert_eq!(field(&got, "connection"), Some("close"), "{got}");
    assert_eq!(read_to_end(&mut server), "");
}

#[test]
fn a_silent_tunnel_ends_after_the_idle_time_of_streams() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        with_metrics(settings);
        settings.timeouts.response_body = Duration::from_millis(200);
    });
    let (mut client, mut server) = tunnel(&rig, &upstream, "/free");
    assert_eq!(read_to_end(&mut client), "");
    assert_eq!(read_to_end(&mut server), "");
    until("the tunnel has ended", || rig.metric("tollgate_tunnels_open") == Some(0));
    assert_eq!(rig.metric("tollgate_tunnels_ended_total{reason=\"late\"}"), Some(1));
}

#[test]
fn a_tunnel_ends_with_either_side() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, with_metrics);
    let (mut client, server) = tunnel(&rig, &upstream, "/free");
    drop(server);
    assert_eq!(read_to_end(&mut client), "");
    drop(client);
    until("the first has ended", || rig.metric("tollgate_tunnels_open") == Some(0));
    let (client, mut server) = tunnel(&rig, &upstream, "/free");
    crate::support::reset(client);
    assert_eq!(read_to_end(&mut server), "");
    until("the second has ended", || rig.metric("tollgate_tunnels_open") == Some(0));
    assert_eq!(rig.metric("tollgate_requests_open"), Some(0));
}

#[test]
fn a_tunnel_has_a_line_of_its_own_when_it_ends() {
    let (upstream, lines) = (Upstream::new(), Lines::default());
    let log = |settings: &mut tollgate_cli::settings::Settings| {
        (settings.log.json, settings.log.requests) = (true, true);
    };
    let rig = Rig::logged(POLICY, upstream.address, log, lines.clone());
    drop(tunnel(&rig, &upstream, "/free"));
    until("it has a line", || !lines.with("\"/free\"").is_empty());
    let line = lines.with("\"/free\"").concat();
    assert!(line.contains("\"status\":101"), "{line}");
}
