//! A layer that bounds how many requests a service works on at once, by what the service can do. For any service; it has no policy.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Request, Response};
use pin_project_lite::pin_project;
use tollgate::AcquireError;
use tollgate::adaptive::{AdaptiveConcurrency, AdaptivePermit, Outcome, Priority};
use tollgate_engine::load_outcome;
use tower_layer::Layer;
use tower_service::Service;

use crate::body::{RequestHold, ResponseBody};
use crate::response::error_response::ErrorResponse;
use crate::response::refusal;

/// How important a request is.
type PriorityFn = dyn Fn(&http::request::Parts) -> Priority + Send + Sync;

/// Bounds how many requests a service works on at once: the limit follows its latency and its failures.
///
/// Requests beyond the limit are answered with 503 (`temporary-reduced-capacity`) and `Retry-After`. A permit lasts to the end of the
/// response's body; the latency that counts ends with its head. 429, 503, 504 and errors of the service say that it is overloaded; other
/// responses from 400 on say nothing.
///
/// ```
/// use tollgate::Limiter;
/// use tollgate::adaptive::{AdaptiveConfig, Priority};
/// use tollgate_tower::AdaptiveLayer;
/// let limit = Limiter::new()?.adaptive("api", AdaptiveConfig::default());
/// let layer = AdaptiveLayer::new(limit).with_priority(|head| match head.uri.path() {
///     "/health" => Priority::Critical,
///     _ => Priority::Normal,
/// });
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AdaptiveLayer {
    limit: AdaptiveConcurrency,
    priority: Option<Arc<PriorityFn>>,
}

/// A service behind an adaptive limit, made by [`AdaptiveLayer`].
#[derive(Clone, Debug)]
pub struct Adaptive<S> {
    inner: S,
    layer: AdaptiveLayer,
}

impl AdaptiveLayer {
    /// A layer with this limit. All services that it is put in front of share it.
    #[must_use]
    pub const fn new(limit: AdaptiveConcurrency) -> Self {
        Self { limit, priority: None }
    }

    /// Sets which requests are refused first. Without it, all are equal.
    #[must_use]
    pub fn with_priority(
        self,
        priority: impl Fn(&http::request::Parts) -> Priority + Send + Sync + 'static,
    ) -> Self {
        Self { priority: Some(Arc::new(priority)), ..self }
    }

    fn acquire(&self, parts: &http::request::Parts) -> Result<AdaptivePermit, AcquireError> {
        match &self.priority {
            None => self.limit.try_acquire(),
            Some(priority) => self.limit.try_acquire_with(priority(parts)),
        }
    }
}

impl<S> Layer<S> for AdaptiveLayer {
    type Service = Adaptive<S>;

    fn layer(&self, inner: S) -> Adaptive<S> {
        Adaptive { inner, layer: self.clone() }
    }
}

impl<S, B, R> Service<Request<B>> for Adaptive<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: http_body::Body,
    R::Data: From<Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = AdaptiveFuture<S::Future>;

    /// Acquires nothing: a permit that waits for a request that never comes would be idle.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        match self.layer.acquire(&parts) {
            Ok(permit) => {
                let future = self.inner.call(Request::from_parts(parts, body));
                AdaptiveFuture { kind: Kind::Admitted { future, permit: Some(permit) } }
            }
            Err(refused) => AdaptiveFuture { kind: Kind::Refused { response: Some(answer(&refused)) } },
        }
    }
}

/// The response to a request beyond the limit.
fn answer(refused: &AcquireError) -> ErrorResponse {
    let wait = match refused {
        AcquireError::Busy(busy) | AcquireError::TimedOut(busy) => busy.estimated_wait(),
        AcquireError::KeyTooLong { .. }
        | AcquireError::Unavailable { .. }
        | AcquireError::WouldBlock { .. } => None,
    };
    let mut response = refusal::unavailable();
    if let Some(wait) = wait {
        let seconds = tollgate::Micros::from_duration(wait).secs_rounded_up().max(1);
        response.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

pin_project! {
    /// The response that is to come, of [`Adaptive`]. Dropped, it releases its permit and teaches nothing.
    pub struct AdaptiveFuture<F> {
        #[pin]
        kind: Kind<F>,
    }
}

pin_project! {
    #[project = Projected]
    enum Kind<F> {
        Admitted { #[pin] future: F, permit: Option<AdaptivePermit> },
        Refused { response: Option<ErrorResponse> },
    }
}

impl<F, R, E> Future for AdaptiveFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<ResponseBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            Projected::Admitted { future, permit } => {
                let result = ready!(future.poll(context));
                let mut permit = permit.take();
                let outcome = result
                    .as_ref()
                    .map_or(Outcome::Dropped, |response| load_outcome(response.status(), response.headers()));
                if let Some(permit) = &mut permit {
                    permit.record(outcome);
                }
                let held = permit.map(RequestHold::Adaptive);
                Poll::Ready(result.map(|response| response.map(|body| ResponseBody::inner(body, held))))
            }
            Projected::Refused { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response.into_response_with(ResponseBody::answer))),
                None => Poll::Pending,
            },
        }
    }
}

impl fmt::Debug for AdaptiveLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdaptiveLayer").field(&self.limit).finish()
    }
}

impl<F> fmt::Debug for AdaptiveFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Admitted { .. } => "AdaptiveFuture(admitted)",
            Kind::Refused { .. } => "AdaptiveFuture(refused)",
        })
    }
}
