//! Where operators look: alive, ready, metrics. Clients are not served here, and nothing can be changed from here.

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
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::metrics::{Metrics, page};

/// So many connections at once; further ones wait in the listener's queue. Each has one request.
pub const CONNECTIONS_MAX: usize = 16;
/// A connection has so long for its request and the answer; then it is closed.
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
pub struct Operations {
    metrics: Arc<Metrics>,
    phase: Mutex<Phase>,
    /// [`CONNECTION_TIME_MAX`], but for a test that does not want to wait so long.
    connection_time: Duration,
}

impl Operations {
    /// Starting.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, phase: Mutex::new(Phase::Starting), connection_time: CONNECTION_TIME_MAX }
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

    fn answer(&self, method: &Method, path: &str) -> Response<String> {
        if !matches!(path, "/healthz" | "/readyz" | "/metrics") {
            let help = "look at /healthz, /readyz or /metrics\n";
            return response(StatusCode::NOT_FOUND, PLAIN, help.into());
        }
        if method != Method::GET && method != Method::HEAD {
            let mut response = response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "GET or HEAD\n".into());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match (path, self.phase()) {
            ("/healthz", _) => response(StatusCode::OK, PLAIN, "alive\n".into()),
            ("/metrics", _) => response(StatusCode::OK, page::CONTENT_TYPE, self.metrics.encode()),
            (_, Phase::Ready) => response(StatusCode::OK, PLAIN, "ready\n".into()),
            (_, Phase::Starting) => response(UNREADY, PLAIN, "not ready: no policy is loaded yet\n".into()),
            (_, Phase::Draining) => response(UNREADY, PLAIN, "not ready: stopping\n".into()),
        }
    }
}

const UNREADY: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
const PLAIN: &str = "text/plain; charset=utf-8";

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers on a listener until `shutdown`. Then it returns at once: what is being answered is finished by tasks of their own.
///
/// The caller binds: to this machine only, unless an operator says otherwise.
pub async fn run(listener: TcpListener, operations: Arc<Operations>, shutdown: impl Future<Output = ()>) {
    tokio::select! {
        () = shutdown => {}
        () = accept(listener, operations) => {}
    }
}

async fn accept(listener: TcpListener, operations: Arc<Operations>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, Arc::clone(&operations), place));
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
        }
    }
}

async fn serve(stream: TcpStream, operations: Arc<Operations>, _place: OwnedSemaphorePermit) {
    let time = operations.connection_time;
    let answer = |request: Request<Incoming>| {
        let response = operations.answer(request.method(), request.uri().path());
        async move { Ok::<_, Infallible>(response) }
    };
    let mut http = http1::Builder::new();
    // One request a connection: whoever scrapes every few seconds gains nothing by keeping one, and none is kept for nothing.
    http.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(time);
    http.max_buf_size(HEAD_BYTES_MAX);
    let connection = http.serve_connection(TokioIo::new(stream), service_fn(answer));
    // Whoever is too slow, or does not speak HTTP, is not told more.
    let _ = tokio::time::timeout(time, connection).await;
}

#[cfg(test)]
mod tests;
