//! One connection of Envoy: HTTP/2 until it ends, is idle for too long, or is told to stop.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::header::AUTHORIZATION;
use http::{HeaderMap, Request};
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::time::{MissedTickBehavior, interval};
use tollgate_envoy::unauthenticated;

use super::Endpoint;
use crate::doors::access::{Access, Denied};
use crate::doors::listener::{Connection, stopping};

/// Bytes of a call's headers: more end the stream.
const HEAD_BYTES_MAX: u32 = 16 << 10;
/// Calls at once on one connection; Envoy opens another connection for further ones.
const STREAMS_MAX: u32 = 1_000;
/// Streams that a client resets before they are answered, in a row; then the connection is closed. Envoy resets those that take longer
/// than its timeout.
const RESETS_MAX: usize = 1_000;

/// Counts what happens on a connection, to find out when it is idle.
#[derive(Debug, Default)]
struct Activity {
    in_flight: AtomicUsize,
    calls: AtomicUsize,
}

/// A call in flight.
struct InFlight(Arc<Activity>);

impl InFlight {
    fn new(activity: &Arc<Activity>) -> Self {
        activity.in_flight.fetch_add(1, Ordering::Relaxed);
        activity.calls.fetch_add(1, Ordering::Relaxed);
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
    let Connection { stream, mut stop, place, .. } = connection;
    let rate_limits = endpoint.service.clone();
    let timeouts = endpoint.context.common.settings.timeouts;
    let activity = Arc::<Activity>::default();
    let service = {
        let (activity, routes) = (Arc::clone(&activity), TowerToHyperService::new(endpoint.routes.clone()));
        service_fn(move |request: Request<Incoming>| {
            let in_flight = InFlight::new(&activity);
            let denied = check_token(&endpoint.context.access, request.headers());
            let answered = match denied {
                None => Ok(routes.call(request)),
                Some(why) => {
                    endpoint.context.metrics.denied.inc();
                    Err(unauthenticated(why))
                }
            };
            async move {
                let response = match answered {
                    Ok(answered) => answered.await,
                    Err(denied) => Ok::<_, Infallible>(denied),
                };
                drop(in_flight);
                response
            }
        })
    };
    let mut http = Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES_MAX)
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
            // A client that does not speak HTTP/2 gets no further explanation.
            _ = serving.as_mut() => break,
            () = stopping(&mut stop), if !is_ending => {
                rate_limits.set_serving(false).await;
                serving.as_mut().graceful_shutdown();
                is_ending = true;
            }
            _ = ticks.tick() => {
                let now = Some(activity.calls.load(Ordering::Relaxed));
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

/// Why a client may not use the endpoint; `None` if it may. The token is in the metadata: `authorization: Bearer …`.
fn check_token(access: &Access, headers: &HeaderMap) -> Option<&'static str> {
    if !access.asks_for_token() {
        return None;
    }
    let mut all = headers.get_all(AUTHORIZATION).into_iter();
    let one = all.next().filter(|_| all.next().is_none());
    let bearer = one.and_then(|value| {
        let (scheme, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
    });
    access.check(bearer).err().map(|denied| match denied {
        Denied::NoToken => "send a token in the metadata: `authorization: Bearer TOKEN`",
        Denied::WrongToken => "the token is not one of this endpoint",
    })
}
