//! The service behind the layer: admits a request, or responds with an error.

use std::cell::RefCell;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use tollgate_engine::{Admission, CheckError, Degradation, Outcome, RequestHead, Scratch};
use tower_service::Service;

use crate::admitted::Admitted;
use crate::body::ResponseBody;
use crate::future::ResponseFuture;
use crate::layer::LayerState;
use crate::live::ActiveLimits;
use crate::outcome::RateLimitOutcome;
use crate::peer::PeerSource;
use crate::response::error_response::ErrorResponse;
use crate::response::{grpc, problem};

/// A service with rate limits in front of it, created by [`TollgateLayer`](crate::TollgateLayer).
#[derive(Clone, Debug)]
pub struct Tollgate<S> {
    inner: S,
    layer: Arc<LayerState>,
}

impl<S> Tollgate<S> {
    pub(crate) const fn new(inner: S, layer: Arc<LayerState>) -> Self {
        Self { inner, layer }
    }
}

thread_local! {
    /// One for each thread, so that clones of a service need none of their own.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl<S, B, R> Service<Request<B>> for Tollgate<S>
where
    // Cloned only where a shared store is asked before it is called.
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: http_body::Body,
    R::Data: From<Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B>;

    /// Reserves no quota. `call` charges the request, and the charge stays whether the request is
    /// answered, cancelled or upgraded.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let limits = self.layer.live.load();
        if limits.enforcer.waits() {
            // The service that is ready is called, and the next request makes another one ready.
            let next = self.inner.clone();
            let ready = std::mem::replace(&mut self.inner, next);
            let layer = Arc::clone(&self.layer);
            let checking = async move {
                // Other requests are checked meanwhile, so the thread's scratch is not free.
                let head = head(&parts, &layer.peer);
                let checked = limits.enforcer.check(&head, &mut Scratch::default()).await;
                ((limits, layer), parts, checked)
            };
            return ResponseFuture::checking(checking, ready, body);
        }
        let checked = SCRATCH.with(|scratch| {
            let head = head(&parts, &self.layer.peer);
            match scratch.try_borrow_mut() {
                Ok(mut scratch) => limits.enforcer.try_check(&head, &mut scratch),
                // A rule's closure called another service in turn.
                Err(_) => limits.enforcer.try_check(&head, &mut Scratch::default()),
            }
        });
        proceed(&mut self.inner, (limits, &self.layer), (parts, body), checked)
    }
}

fn head<'a>(parts: &'a Parts, peer: &PeerSource) -> RequestHead<'a> {
    let mut head = RequestHead::of_uri(&parts.method, &parts.uri, &parts.headers);
    head.extensions = Some(&parts.extensions);
    head.peer = peer.find(&parts.extensions);
    head
}

/// Calls the service with an admitted request, or responds to a request that was not admitted.
#[inline]
pub(crate) fn proceed<S, B>(
    service: &mut S,
    (limits, layer): (Arc<ActiveLimits>, &LayerState),
    (mut parts, body): (Parts, B),
    checked: Result<Outcome, CheckError>,
) -> ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    let admission = match checked {
        Ok(Outcome::Admitted(admission)) => admission,
        rejected => return ResponseFuture::answered(reject(&limits, layer, &parts, rejected)),
    };
    if let Some(path) = admission.path() {
        match with_path(&parts.uri, path) {
            Some(uri) => parts.uri = uri,
            None => return ResponseFuture::answered(no_path().into_response_with(|body| body)),
        }
    }
    let outer = parts.extensions.get::<Admitted>();
    if !layer.tells_handlers {
        if let Some(outer) = outer {
            outer.note_inside(false, admission.degradation());
        }
        let future = service.call(Request::from_parts(parts, body));
        return ResponseFuture::untold(future, limits, admission);
    }
    let admitted = Admitted::new(admission, outer.cloned());
    parts.extensions.insert(admitted.clone());
    ResponseFuture::admitted(service.call(Request::from_parts(parts, body)), limits, admitted)
}

/// The response to a request that was not admitted. The layers around this one learn whether they have to refund it.
fn reject(
    limits: &ActiveLimits,
    layer: &LayerState,
    parts: &Parts,
    checked: Result<Outcome, CheckError>,
) -> Response<Bytes> {
    let mut response = limits.responses.rejection(&checked, &parts.headers);
    let is_call = grpc::is_call(&parts.headers);
    if is_call {
        grpc::answer_call(&mut response);
    }
    let mut response = response.into_response_with(|body| body);
    let outcome = match checked {
        Ok(Outcome::Refused(refusal)) => {
            if let Some(hook) = layer.on_refusal.as_ref().filter(|_| !is_call) {
                response = hook.write(&refusal, response);
            }
            RateLimitOutcome::Refused(Arc::new(refusal))
        }
        Ok(Outcome::Undetermined(undetermined)) => RateLimitOutcome::Undetermined(undetermined),
        Err(error) => RateLimitOutcome::NotChecked(error),
        // The former was taken before, and the latter is only for those who can read bodies.
        Ok(Outcome::Admitted(_)) => return response,
        #[cfg(feature = "policy")]
        Ok(Outcome::NeedsBody { .. }) => return response,
    };
    if let Some(outer) = parts.extensions.get::<Admitted>() {
        outer.note_inside(outcome.is_refused(), outcome.degradation());
    }
    response.extensions_mut().insert(outcome);
    response
}

/// Completes the response to an admitted request. `admitted` is what its handler got, if it got it.
pub(crate) fn finish<R>(
    limits: &ActiveLimits,
    (admission, admitted): (&Admission, Option<&Admitted>),
    response: &mut Response<R>,
) {
    let status = response.status();
    admission.settle_by_response(status, response.headers());
    let outcome = response.extensions().get::<RateLimitOutcome>();
    let mut inside = admitted.map(Admitted::inside).unwrap_or_default();
    inside.degradation =
        inside.degradation.max(outcome.map_or(Degradation::None, RateLimitOutcome::degradation));
    // Middleware may have replaced a refusal by an error page, or may have got along without what was refused.
    inside.is_refused &= !status.is_success();
    inside.is_refused |= outcome.is_some_and(RateLimitOutcome::is_refused);
    // What a layer inside refuses says nothing about the service.
    admission.record(if inside.is_refused {
        tollgate::adaptive::Outcome::Ignored
    } else {
        tollgate_engine::load_outcome(status, response.headers())
    });
    let is_told = outcome.is_some();
    if inside.is_refused {
        admission.refund();
    }
    limits.responses.write_around(admission, inside, status, response.headers_mut());
    if let Some(admitted) = admitted.filter(|_| !is_told) {
        response.extensions_mut().insert(RateLimitOutcome::Admitted(admitted.clone()));
    }
}

/// The same target with the normalised path, so that the service sees the path that was matched.
fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let target = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(target).ok()?);
    Uri::from_parts(parts).ok()
}

/// A normalised path is always a path; but what was matched must never be another one than what goes on.
fn no_path() -> ErrorResponse {
    problem::bad_request("the path cannot be forwarded as it was matched")
}
