//! Permits behind the layer: held to the end of a response's body, by limits of a policy and by adaptive ones.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use tokio::sync::mpsc;
use tollgate::adaptive::{AdaptiveConfig, Priority};
use tollgate_tower::AdaptiveLayer;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::support::{limiter, policy};

/// A body that ends when its sender is dropped.
struct Pieces(mpsc::Receiver<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

const POLICY: &str = "
tollgate: 1
rate_limit: { name: one, algorithm: concurrency, limit: 1, consumer_key: ip }
routes: [{ path: /a }]
";

fn request(path: &str) -> Request<Full<Bytes>> {
    Request::builder().uri(path).body(Full::default()).expect("it is a request")
}

#[tokio::test]
async fn a_permit_of_a_policy_is_held_to_the_end_of_the_body() {
    for tells_handlers in [true, false] {
        let (limiter, _clock) = limiter();
        let layer = policy(&limiter, POLICY);
        let layer = if tells_handlers { layer } else { layer.without_admitted() };
        let (sender, pieces) = mpsc::channel(1);
        let first = Arc::new(Mutex::new(Some(pieces)));
        let mut service = layer.layer(service_fn(move |_: Request<Full<Bytes>>| {
            // Other bodies end at once.
            let pieces = first.lock().expect("nobody panics").take().unwrap_or_else(|| mpsc::channel(1).1);
            async move { Ok::<_, Infallible>(Response::new(Pieces(pieces))) }
        }));
        let ready = service.ready().await.expect("it is ready");
        let first = ready.call(request("/a")).await.expect("it answers");
        assert_eq!(first.status(), StatusCode::OK);
        let second = service.call(request("/a")).await.expect("it answers");
        assert_eq!(second.status(), StatusCode::TOO_MANY_REQUESTS, "the body has not ended");
        drop(sender);
        let mut body = first.into_body();
        assert!(body.frame().await.is_none(), "it ends");
        let third = service.call(request("/a")).await.expect("it answers");
        assert_eq!(third.status(), StatusCode::OK, "the body has ended, though it is still there");
        drop(third);
        let fourth = service.call(request("/a")).await.expect("it answers");
        assert_eq!(fourth.status(), StatusCode::OK, "the body was dropped");
    }
}

#[tokio::test]
async fn an_adaptive_limit_refuses_what_is_too_much_and_lower_priorities_first() {
    let (limiter, _clock) = limiter();
    let limit = limiter.adaptive("api", AdaptiveConfig::default().with_range(3, 3, 3).expect("a range"));
    let layer = AdaptiveLayer::new(limit.clone()).with_priority(|head| match head.uri.path() {
        "/health" => Priority::Critical,
        _ => Priority::Low,
    });
    let echo = |request: Request<Full<Bytes>>| async move {
        Ok::<_, Infallible>(Response::new(request.into_body()))
    };
    let mut service = layer.layer(service_fn(echo));
    let held = service.call(request("/batch")).await.expect("it answers");
    assert_eq!((held.status(), limit.in_flight()), (StatusCode::OK, 1));
    let refused = service.call(request("/batch")).await.expect("it answers");
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    let body = refused.into_body().collect().await.expect("it is whole").to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("temporary-reduced-capacity"));
    let health = [(); 2].map(|()| service.call(request("/health")));
    let [one, other] = health;
    let health = [one.await, other.await].map(|response| response.expect("it answers"));
    assert!(health.iter().all(|response| response.status() == StatusCode::OK));
    assert_eq!(limit.in_flight(), 3);
    drop((held, health));
    assert_eq!(limit.in_flight(), 0);
}
