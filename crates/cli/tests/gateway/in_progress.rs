//! Concurrency limits over real sockets: a permit is held to the end of a response, however it ends, and then it is free.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use tollgate_cli::settings::Settings;
use tollgate_testing::patience::until;

use crate::peers::{client_http2, nothing, request};
use crate::support::{PATIENCE, Rig, field, read_to_end, reset, status};

/// One request of an address at a time, with some variants.
pub(crate) const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /one:
    get:
      x-rate-limit: { name: one, algorithm: concurrency, limit: 1, scope: local, consumer_key: ip }
  /short:
    get:
      x-rate-limit: { name: short, algorithm: concurrency, limit: 1, max_hold: 100ms, scope: local, consumer_key: ip }
  /unavailable:
    get:
      x-rate-limit: { name: few, algorithm: concurrency, limit: 1, busy_status: 503, scope: local, consumer_key: ip }
  /shadow:
    get:
      x-rate-limit: { name: seen, algorithm: concurrency, limit: 1, mode: shadow, scope: local, consumer_key: ip }
  /patient:
    get:
      x-rate-limit: { name: patient, algorithm: concurrency, limit: 1, wait: 20s, scope: local, consumer_key: ip }
  /upload:
    post:
      x-rate-limit: { name: upload, algorithm: concurrency, limit: 1, wait: 20s, scope: local, consumer_key: ip }
  /fair:
    get:
      x-rate-limit: { name: fair, algorithm: leaky_bucket_queue, capacity: 8, refill_rate: 5, scope: local, consumer_key: everyone, fair_by: 'header:x-user' }
  /queue:
    get:
      x-rate-limit: { name: queue, algorithm: leaky_bucket_queue, capacity: 3, refill_rate: 20, scope: local, consumer_key: ip }
  /hasty:
    get:
      x-rate-limit: { name: hasty, algorithm: leaky_bucket_queue, capacity: 3, refill_rate: 0.1, max_wait: 5s, scope: local, consumer_key: ip }
  /rate:
    get:
      x-rate-limit:
        - { name: three at once, algorithm: concurrency, limit: 3, scope: local, consumer_key: ip }
        - { name: rate, algorithm: gcra, capacity: 1, refill_rate: 20, wait: 20s, scope: local, consumer_key: ip }
  /both:
    get:
      x-rate-limit:
        - { name: at once, algorithm: concurrency, limit: 1, scope: local, consumer_key: ip }
        - { name: in all, algorithm: token_bucket, capacity: 3, refill_rate: 0.001, consumer_key: ip }
";

/// An upstream that answers probes at once, and hands every other connection to the test when a whole head has come.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    pub(crate) accepted: mpsc::Receiver<TcpStream>,
}

impl Upstream {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let (sender, accepted) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let sender = sender.clone();
                std::thread::spawn(move || serve(stream, &sender));
            }
        });
        Self { address, accepted }
    }

    pub(crate) fn next(&self) -> TcpStream {
        self.accepted.recv_timeout(PATIENCE).expect("a request reaches the upstream")
    }
}

fn serve(mut stream: TcpStream, sender: &mpsc::Sender<TcpStream>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    loop {
        while !head.ends_with(b"\r\n\r\n") {
            if !matches!(stream.read(&mut byte), Ok(1)) {
                return;
            }
            head.extend_from_slice(&byte);
        }
        if !String::from_utf8_lossy(&head).contains("?probe") {
            // The test may have ended.
            let _ = sender.send(stream);
            return;
        }
        head.clear();
        write(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
}

pub(crate) fn write(stream: &mut TcpStream, bytes: &str) {
    stream.write_all(bytes.as_bytes()).expect("it takes bytes");
}

pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("a whole head comes");
        head.extend_from_slice(&byte);
    }
    String::from_utf8(head).expect("it is text")
}

/// A gateway, its upstream, and one request that the upstream has got and not answered.
pub(crate) struct Held {
    // Dropped before the gateway, which would wait for the request.
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
    pub(crate) rig: Rig,
    pub(crate) upstream: Upstream,
    path: &'static str,
}

impl Held {
    pub(crate) fn new(path: &'static str, change: impl FnOnce(&mut Settings)) -> Self {
        let upstream = Upstream::new();
        let rig = Rig::new(POLICY, upstream.address, change);
        let mut client = rig.connect();
        write(&mut client, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let server = upstream.next();
        let held = Self { client, server, rig, upstream, path };
        held.is_held("the request is in progress");
        held
    }

    /// As [`new`](Self::new), with the head and the first bytes of a response whose body goes on.
    fn with_response(path: &'static str) -> Self {
        let mut held = Self::new(path, |_| ());
        write(&mut held.server, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhello");
        assert_eq!(status(&read_head(&mut held.client)), 200);
        held.is_held("the body has not ended");
        held
    }

    fn probe(&self) -> String {
        probe(&self.rig, self.path)
    }

    #[track_caller]
    fn is_held(&self, why: &str) {
        if self.path.ends_with('?') {
            // It waits instead of being refused.
            return;
        }
        let refused = if self.path == "/unavailable" { 503 } else { 429 };
        assert_eq!(status(&self.probe()), refused, "{why}");
    }

    #[track_caller]
    fn comes_back(&self) {
        until("the permit is free", || status(&self.probe()) == 200);
        // Once: two requests at a time are still one too many.
        let mut client = self.rig.connect();
        write(&mut client, &format!("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", self.path));
        let _server = self.upstream.next();
        self.is_held("one permit is free, and not two");
    }
}

pub(crate) fn probe(rig: &Rig, path: &str) -> String {
    rig.get(&format!("{path}?probe"), "")
}

#[test]
fn a_permit_is_held_until_the_body_ends() {
    let mut held = Held::with_response("/one");
    write(&mut held.server, "world");
    let mut body = [0; 10];
    held.client.read_exact(&mut body).expect("the body comes");
    held.comes_back();
}

#[test]
fn a_refusal_says_that_its_wait_is_an_estimate() {
    let held = Held::new("/one", |_| ());
    let refused = held.probe();
    assert_eq!(field(&refused, "retry-after"), Some("1"), "{refused}");
    assert_eq!(field(&refused, "ratelimit-policy"), Some(r#""one";q=1;qu="concurrent-requests""#));
    assert_eq!(field(&refused, "ratelimit"), Some(r#""one";r=0;t=1"#));
    assert!(refused.contains("in progress") && refused.contains("(an estimate)"), "{refused}");
    let refused = Held::new("/unavailable", |_| ()).probe();
    assert_eq!(status(&refused), 503);
    assert_eq!(field(&refused, "retry-after"), Some("1"), "{refused}");
    assert!(refused.contains("temporary-reduced-capacity"), "{refused}");
}

#[test]
fn an_admitted_request_shows_what_is_left() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    let admitted = probe(&rig, "/one");
    assert_eq!(field(&admitted, "ratelimit-policy"), Some(r#""one";q=1;qu="concurrent-requests""#));
    assert!(field(&admitted, "ratelimit").is_some_and(|state| state.starts_with(r#""one";r=0;"#)));
}

#[test]
fn a_permit_comes_back_when_the_upstream_fails() {
    let mut held = Held::new("/one", |_| ());
    drop(std::mem::replace(&mut held.server, TcpStream::connect(held.upstream.address).expect("it listens")));
    assert_eq!(status(&read_head(&mut held.client)), 502);
    held.comes_back();
}

#[test]
fn a_permit_comes_back_when_the_upstream_is_late() {
    let mut held = Held::new("/one", |settings| settings.timeouts.response = Duration::from_millis(100));
    assert_eq!(status(&read_head(&mut held.client)), 504);
    held.comes_back();
}

#[test]
fn a_permit_comes_back_when_the_client_goes_before_the_response() {
    let mut held = Held::new("/one", |_| ());
    reset(std::mem::replace(&mut held.client, held.rig.connect()));
    held.comes_back();
}

#[test]
fn a_permit_comes_back_when_the_client_goes_during_the_response() {
    let mut held = Held::with_response("/one");
    reset(std::mem::replace(&mut held.client, held.rig.connect()));
    held.comes_back();
}

#[test]
fn a_permit_comes_back_when_the_upstream_goes_during_the_response() {
    let mut held = Held::with_response("/one");
    drop(std::mem::replace(&mut held.server, TcpStream::connect(held.upstream.address).expect("it listens")));
    read_to_end(&mut held.client);
    held.comes_back();
}

#[test]
fn a_permit_comes_back_when_a_stream_is_reset() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    // The connection goes on while this thread waits for the upstream.
    runtime.expect("the system gives a runtime").block_on(async {
        let mut client = client_http2(rig.address).await;
        // Before the response's head, and then during its body. The connection stays.
        let waiting = tokio::spawn(client.send_request(request(Method::GET, "/one", nothing())));
        let _server = upstream.next();
        assert_eq!(status(&probe(&rig, "/one")), 429);
        waiting.abort();
        until("the permit is free", || status(&probe(&rig, "/one")) == 200);

        let mut sent = client.clone();
        let waiting =
            tokio::spawn(async move { sent.send_request(request(Method::GET, "/one", nothing())).await });
        let mut server = upstream.next();
        write(&mut server, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
        let mut body = waiting.await.expect("it is not aborted").expect("it is answered").into_body();
        assert!(body.frame().await.is_some(), "the first event comes");
        assert_eq!(status(&probe(&rig, "/one")), 429, "the stream goes on");
        drop(body);
        until("the permit is free", || status(&probe(&rig, "/one")) == 200);
    });
}

#[test]
fn a_permit_is_held_to_the_end_of_a_stream_of_events() {
    let mut held = Held::new("/one", |_| ());
    write(&mut held.server, "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_eq!(status(&read_head(&mut held.client)), 200);
    for _ in 0..3 {
        write(&mut held.server, "9\r\ndata: 1\n\n\r\n");
        let mut event = [0; 14];
        held.client.read_exact(&mut event).expect("the event comes");
        held.is_held("the stream goes on");
    }
    write(&mut held.server, "0\r\n\r\n");
    held.comes_back();
}

#[test]
fn a_permit_is_held_to_the_end_of_a_websocket() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    let mut client = rig.connect();
    write(
        &mut client,
        "GET /one HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    );
    let mut server = upstream.next();
    write(
        &mut server,
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    );
    assert_eq!(status(&read_head(&mut client)), 101);
    write(&mut client, "a frame");
    let mut frame = [0; 7];
    server.read_exact(&mut frame).expect("it passes");
    assert_eq!(status(&probe(&rig, "/one")), 429, "the tunnel is open");
    drop((client, server));
    until("the permit is free", || status(&probe(&rig, "/one")) == 200);
}

#[test]
fn a_response_is_cut_off_when_it_is_held_for_too_long() {
    let mut held = Held::new("/short", |_| ());
    assert_eq!(status(&read_head(&mut held.client)), 504, "before the response");
    held.comes_back();
    let mut held = Held::new("/short", |_| ());
    write(&mut held.server, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhello");
    let response = read_to_end(&mut held.client);
    assert!(response.ends_with("hello"), "during its body: {response}");
    held.comes_back();
}

#[test]
fn permits_and_charges_are_all_or_none() {
    let held = Held::new("/both", |_| ());
    // The request in progress has one of three tokens. Those that are refused here take none.
    for _ in 0..5 {
        let refused = held.probe();
        assert_eq!(field(&refused, "ratelimit-policy"), Some(r#""at once";q=1;qu="concurrent-requests""#));
    }
    drop((held.client, held.server));
    let (rig, path) = (held.rig, held.path);
    until("the permit is free", || status(&probe(&rig, path)) == 200);
    assert_eq!(status(&probe(&rig, path)), 200, "the third token");
    // And those that the bucket refuses hold no permit.
    for _ in 0..3 {
        let refused = probe(&rig, path);
        assert_eq!(field(&refused, "ratelimit-policy"), Some(r#""in all";q=3;w=3000"#), "{refused}");
    }
}

#[test]
fn a_limit_in_shadow_mode_refuses_nobody() {
    let upstream = Upstream::new();
    let rig =
        Rig::new(POLICY, upstream.address, |settings| settings.operations = Some(([127, 0, 0, 1], 0).into()));
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = rig.connect();
        write(&mut client, "GET /shadow HTTP/1.1\r\nHost: a\r\n\r\n");
        clients.push((client, upstream.next()));
    }
    let seen = probe(&rig, "/shadow");
    assert_eq!((status(&seen), field(&seen, "ratelimit")), (200, None));
}
