//! The operations listener over real sockets: its responses, and that nobody can block it.

mod prometheus;

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tollgate::{Clock, Limiter};
use tollgate_engine::PolicyLimits;
use tollgate_policy::Policy;

use super::*;
use crate::active_policy::{ActivePolicy, PolicyHandle};
use crate::doors::gateway::GatewayContext;
use crate::doors::gateway::upstream::Addresses;
use crate::settings::{Protocol, Settings, Upstream, UpstreamLimit};
use crate::telemetry::logs::Logs;
use crate::telemetry::metrics::Metrics;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Running {
    address: SocketAddr,
    operations: Arc<AdminState>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

async fn running(metrics: Arc<Metrics>) -> Running {
    started(operations(metrics)).await
}

/// The operations of a gateway that checks nothing but its policy.
fn operations(metrics: Arc<Metrics>) -> AdminState {
    let upstream = Upstream {
        tls: false,
        host: "127.0.0.1".into(),
        port: 9,
        protocol: Protocol::Http1,
        ca: None,
        idle_max: 1,
        lookup: None,
        adaptive: UpstreamLimit::default(),
    };
    let settings = Settings::new("t.yaml", upstream);
    let policy = Policy::parse("t.yaml", "tollgate: 1\nroutes: []\n").unwrap();
    let limits = PolicyLimits::new(Limiter::new().unwrap(), Arc::new(policy), None);
    let live = ActivePolicy::new(limits, settings.answers, &Metrics::new(), 1);
    let logs = Logs::start(&settings.log, &metrics, Clock::monotonic(), std::io::sink()).unwrap();
    let common = GatewayContext {
        upstream: Arc::new(Addresses::new(&settings.upstream)),
        guards: Arc::default(),
        settings: Arc::new(settings),
        live: Arc::new(PolicyHandle::new(live, &metrics)),
        metrics,
        logs: Arc::new(logs),
        certificate: None,
    };
    AdminState::new(ReadinessChecks::new(&common).unwrap())
}

async fn started(operations: AdminState) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let operations = Arc::new(operations);
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async { drop(stopped.await) };
    let ended = tokio::spawn(run(listener, Arc::clone(&operations), shutdown));
    Running { address, operations, stop, ended }
}

/// Sends bytes, and gives all that comes back until the other side closes.
async fn exchange(address: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("it closes").unwrap();
    answer
}

async fn get(address: SocketAddr, path: &str) -> String {
    exchange(address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await
}

#[tokio::test]
async fn every_path_and_phase_has_its_answer() {
    let running = running(Metrics::new()).await;
    let starting = "not ready: no policy is loaded yet\n";
    let table = [
        (Phase::Starting, "/healthz", "200 OK", "alive\n"),
        (Phase::Starting, "/readyz", "503 Service Unavailable", starting),
        (Phase::Ready, "/readyz?verbose", "200 OK", "ready\n"),
        (Phase::Draining, "/readyz", "503 Service Unavailable", "not ready: stopping\n"),
        (Phase::Draining, "/healthz", "200 OK", "alive\n"),
        (Phase::Ready, "/", "404 Not Found", "see /healthz, /readyz or /metrics\n"),
        (Phase::Ready, "/metrics/", "404 Not Found", "see /healthz, /readyz or /metrics\n"),
    ];
    for (phase, path, status, body) in table {
        running.operations.enter(phase);
        let answer = get(running.address, path).await;
        let right = answer.starts_with(&format!("HTTP/1.1 {status}\r\n"))
            && answer.ends_with(&format!("\r\n\r\n{body}"));
        assert!(right, "{path} {phase:?}: {answer}");
        assert!(answer.contains("cache-control: no-store\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn metrics_are_the_page_and_only_reading_is_allowed() {
    let metrics = Metrics::new();
    metrics.reloads.ok.inc();
    let running = running(metrics).await;
    let page = get(running.address, "/metrics").await;
    assert!(page.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{page}");
    assert!(page.contains("\ntollgate_reloads_total{result=\"ok\"} 1\n"), "{page}");
    let head = exchange(running.address, "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let post =
        exchange(running.address, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await;
    assert!(post.starts_with("HTTP/1.1 405 ") && post.contains("\r\nallow: GET, HEAD\r\n"), "{post}");
}

#[tokio::test]
async fn what_is_not_http_or_too_much_of_it_is_turned_away() {
    let running = running(Metrics::new()).await;
    let answer = exchange(running.address, "not http at all\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let long = "x".repeat(HEAD_BYTES_MAX * 2);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    // It may be closed before all of it was sent.
    let _ = stream.write_all(format!("GET /{long} HTTP/1.1\r\n").as_bytes()).await;
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("it closes");
    assert!(!String::from_utf8_lossy(&answer).contains(" 200 "), "{answer:?}");
    assert!(get(running.address, "/healthz").await.contains("alive"));
}

#[tokio::test]
async fn connections_that_send_nothing_keep_nobody_from_an_answer() {
    // Far longer than this test may take: no place becomes free by itself.
    let connection_time = PATIENCE * 10;
    let running = started(AdminState { connection_time, ..operations(Metrics::new()) }).await;
    running.operations.enter(Phase::Ready);
    let mut silent = Vec::new();
    for number in 0..2 * CONNECTIONS_MAX {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        if number % 2 == 1 {
            stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        }
        silent.push(stream);
    }
    for (path, answered) in
        [("/healthz", "alive\n"), ("/readyz", "ready\n"), ("/metrics", "tollgate_build_info")]
    {
        assert!(get(running.address, path).await.contains(answered), "{path}");
    }
}

#[tokio::test]
async fn more_requests_at_once_than_places_are_all_answered() {
    let running = running(Metrics::new()).await;
    let all: Vec<_> =
        (0..4 * CONNECTIONS_MAX).map(|_| tokio::spawn(get(running.address, "/healthz"))).collect();
    for answer in all {
        assert!(answer.await.unwrap().ends_with("alive\n"));
    }
}

#[tokio::test]
async fn connections_that_send_nothing_are_closed_in_time() {
    let connection_time = Duration::from_millis(300);
    let running = started(AdminState { connection_time, ..operations(Metrics::new()) }).await;
    let mut silent = TcpStream::connect(running.address).await.unwrap();
    let mut answer = Vec::new();
    // It is closed, perhaps after a status.
    let closed = timeout(PATIENCE, silent.read_to_end(&mut answer)).await;
    assert!(closed.is_ok() && !String::from_utf8_lossy(&answer).contains(" 200 "), "{answer:?}");
}

#[tokio::test]
async fn it_ends_when_it_is_told_to() {
    let running = running(Metrics::new()).await;
    running.stop.send(()).unwrap();
    timeout(PATIENCE, running.ended).await.expect("it ends").unwrap();
    assert!(TcpStream::connect(running.address).await.is_err());
}
