//! One connection of a client: HTTP/1.1 or HTTP/2, until it ends, is idle for too long, or is told to stop.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::time::{MissedTickBehavior, interval};

use super::Endpoint;
use super::routes::answer;
use crate::doors::listener::{Connection, stopping};

/// Bytes of a request's head: more are 431.
pub(super) const HEAD_BYTES_MAX: usize = 16 << 10;
/// Header fields of a request: more are 431.
pub(super) const HEADER_FIELDS_MAX: usize = 100;
/// Requests at once on one connection of HTTP/2; further ones are refused as HTTP/2 does it.
const STREAMS_MAX: u32 = 100;
/// Streams that a client resets before they are answered, in a row; then the connection is closed.
const RESETS_MAX: usize = 100;

/// What happens on a connection.
#[derive(Debug, Default)]
struct Activity {
    in_flight: AtomicUsize,
    requests: AtomicU64,
}

/// A request in flight.
struct InFlight(Arc<Activity>);

impl InFlight {
    fn new(activity: &Arc<Activity>) -> Self {
        activity.in_flight.fetch_add(1, Ordering::Relaxed);
        activity.requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(activity))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves a connection.
pub(super) async fn serve(endpoint: Arc<Endpoint>, connection: Connection) {
    let Connection { stream, peer, mut stop, place } = connection;
    let timeouts = endpoint.context.common.settings.timeouts;
    let activity = Arc::<Activity>::default();
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |request: Request<Incoming>| {
            let in_flight = InFlight::new(&activity);
            let endpoint = Arc::clone(&endpoint);
            async move {
                let response = answer(&endpoint, peer.ip(), request).await;
                drop(in_flight);
                Ok::<_, Infallible>(response)
            }
        })
    };
    let mut http = Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.header)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADER_FIELDS_MAX);
    http.http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX))
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_local_error_reset_streams(RESETS_MAX);
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    // A connection is idle for at least this long, and for at most twice as long.
    let mut ticks = interval(timeouts.idle);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut seen, mut is_ending) = (None, false);
    loop {
        tokio::select! {
            // A client that does not speak HTTP gets no further explanation.
            _ = serving.as_mut() => break,
            () = stopping(&mut stop), if !is_ending => {
                serving.as_mut().graceful_shutdown();
                is_ending = true;
            }
            _ = ticks.tick() => {
                let now = Some(activity.requests.load(Ordering::Relaxed));
                if now == seen && activity.in_flight.load(Ordering::Relaxed) == 0 {
                    if is_ending {
                        break;
                    }
                    serving.as_mut().graceful_shutdown();
                    is_ending = true;
                }
                seen = now;
            }
        }
    }
    drop(place);
}
