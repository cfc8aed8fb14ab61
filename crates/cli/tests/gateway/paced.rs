//! A Tollgate client of a Tollgate gateway, over real sockets: it is never refused, and uses what it may.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use tollgate::Limiter;
use tollgate_tower::PacerLayer;
use tower::{Layer, Service, ServiceExt};

use crate::in_progress::Upstream;
use crate::peers::{AnyBody, client_http2, nothing, request};
use crate::support::Rig;

/// A window of the calendar, and a bucket.
const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /window:
    get:
      x-rate-limit: { name: window, algorithm: sliding_window_log, limit: 40, window: 2s, scope: local, consumer_key: ip }
  /bucket:
    get:
      x-rate-limit: { name: bucket, algorithm: token_bucket, capacity: 40, refill_rate: 20, scope: local, consumer_key: ip }
";

/// A connection as a service.
#[derive(Clone)]
struct Sending(SendRequest<AnyBody>);

impl Service<Request<AnyBody>> for Sending {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<AnyBody>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Sends requests from eight tasks at once for some seconds. Returns how many were admitted, how many refused, and when the last one was admitted.
#[expect(clippy::disallowed_methods, reason = "real requests take real time")]
async fn paced(rig: &Rig, path: &'static str, length: Duration) -> (u64, u64, Duration) {
    let pacer = PacerLayer::new(Limiter::new().expect("it has memory").pacer());
    let client = client_http2(rig.address).await;
    let (admitted, refused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (start, last) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            let (service, last) = (pacer.layer(Sending(client.clone())), Arc::clone(&last));
            let (admitted, refused) = (Arc::clone(&admitted), Arc::clone(&refused));
            tokio::task::spawn_local(async move {
                loop {
                    let sent = service.clone().oneshot(request(Method::GET, path, nothing()));
                    let response = sent.await.expect("it is answered");
                    if response.status() == 429 {
                        refused.fetch_add(1, Ordering::Relaxed);
                    } else {
                        admitted.fetch_add(1, Ordering::Relaxed);
                        let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                        last.fetch_max(millis, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    tokio::time::sleep(length).await;
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    let last = Duration::from_millis(last.load(Ordering::Relaxed));
    (admitted.load(Ordering::Relaxed), refused.load(Ordering::Relaxed), last)
}

#[test]
fn a_paced_client_of_a_gateway_is_never_refused() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system gives a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        // The first burst or window, and what has come back by the last request.
        let window = |last: Duration| 40 + 40 * (last.as_secs() / 2);
        let bucket = |last: Duration| 40 + 20 * u64::try_from(last.as_millis()).unwrap_or(0) / 1_000;
        let (admitted, refused, last) = paced(&rig, "/window?probe", Duration::from_millis(6_500)).await;
        assert_eq!(refused, 0, "of {admitted}");
        assert!(admitted > 40 && 10 * admitted >= 9 * window(last), "{admitted} of {}", window(last));
        let (admitted, refused, last) = paced(&rig, "/bucket?probe", Duration::from_millis(6_500)).await;
        assert_eq!(refused, 0, "of {admitted}");
        assert!(admitted > 40 && 10 * admitted >= 9 * bucket(last), "{admitted} of {}", bucket(last));
    });
}
