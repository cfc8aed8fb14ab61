//! The operations listener: health, readiness and metrics. Read-only.

mod checks;
mod connection_slots;

use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::yield_now;

use crate::finding::printable;
use crate::telemetry::metrics::page;
pub use checks::ReadinessChecks;
use connection_slots::{ConnectionSlots, RequestSeen};

/// The maximum number of open connections. When it is reached, a new connection replaces an old one; see [`run`].
pub const CONNECTIONS_MAX: usize = 32;
/// The time a connection has for its one request and the answer; then it is closed.
pub const CONNECTION_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of a request's head: more are 431.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// After a connection that could not be accepted (no file descriptors, say) the next is tried so much later.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// How far the gateway is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Phase {
    /// No policy is in force yet.
    #[default]
    Starting,
    /// It serves.
    Ready,
    /// It was told to stop, and finishes what it has begun.
    Draining,
}

/// What the operations listener tells about.
#[derive(Debug)]
pub struct AdminState {
    checks: ReadinessChecks,
    phase: Mutex<Phase>,
    /// [`CONNECTION_TIME_MAX`], but for a test that does not want to wait so long.
    connection_time: Duration,
}

impl AdminState {
    /// Starting, with what readiness depends on.
    #[must_use]
    pub fn new(checks: ReadinessChecks) -> Self {
        Self { checks, phase: Mutex::new(Phase::Starting), connection_time: CONNECTION_TIME_MAX }
    }

    /// From now on the gateway is so far.
    pub fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// How far the gateway is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, method: &Method, path: &str) -> Response<String> {
        if !matches!(path, "/healthz" | "/readyz" | "/metrics") {
            let help = "see /healthz, /readyz or /metrics\n";
            return response(StatusCode::NOT_FOUND, PLAIN, help.into());
        }
        if method != Method::GET && method != Method::HEAD {
            let mut response = response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "GET or HEAD\n".into());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/healthz" => response(StatusCode::OK, PLAIN, "alive\n".into()),
            "/metrics" => response(StatusCode::OK, page::CONTENT_TYPE, self.checks.encode()),
            _ => self.readiness().await,
        }
    }

    async fn readiness(&self) -> Response<String> {
        let unready =
            |why: &str| response(StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("not ready: {why}\n"));
        match self.phase() {
            Phase::Draining => return unready("stopping"),
            Phase::Starting if self.checks.want_policy() => return unready("no policy is loaded yet"),
            Phase::Starting | Phase::Ready => {}
        }
        let failed = self.checks.failed().await;
        if failed.is_empty() {
            return response(StatusCode::OK, PLAIN, "ready\n".into());
        }
        unready(&printable(&failed.join("; ")))
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers on a listener until `shutdown`, then returns at once. Separate tasks finish the answers that have begun.
///
/// A new connection is always accepted. If there are [`CONNECTIONS_MAX`] already, it replaces the oldest one that has not sent a
/// whole request, or, if all have, the oldest one. So clients that send nothing cannot keep others from an answer.
///
/// The caller binds: to this machine only, unless an operator says otherwise.
pub async fn run(listener: TcpListener, operations: Arc<AdminState>, shutdown: impl Future<Output = ()>) {
    tokio::select! {
        () = shutdown => {}
        () = accept(listener, operations) => {}
    }
}

async fn accept(listener: TcpListener, operations: Arc<AdminState>) {
    let mut places = ConnectionSlots::new(CONNECTIONS_MAX);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let operations = Arc::clone(&operations);
                places.take(|asked| tokio::spawn(serve(stream, operations, asked)));
                // The runtime reads what has arrived before the next connection can replace this one.
                yield_now().await;
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
        }
    }
}

async fn serve(stream: TcpStream, operations: Arc<AdminState>, asked: RequestSeen) {
    let time = operations.connection_time;
    let answer = |request: Request<Incoming>| {
        asked.set();
        let operations = &operations;
        async move { Ok::<_, Infallible>(operations.answer(request.method(), request.uri().path()).await) }
    };
    let mut http = http1::Builder::new();
    // One request per connection: a scraper that comes every few seconds gains nothing from a connection that stays open.
    http.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(time);
    http.max_buf_size(HEAD_BYTES_MAX);
    let connection = http.serve_connection(TokioIo::new(stream), service_fn(answer));
    // A client that is too slow, or does not speak HTTP, gets no further explanation.
    let _ = tokio::time::timeout(time, connection).await;
}

#[cfg(test)]
mod tests;
