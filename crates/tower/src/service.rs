//! The service behind the layer: admits a request, or responds with an error.

use std::cell::RefCell;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use tollgate_engine::{CheckError, Outcome, RequestHead, Scratch};
use tower_service::Service;

use crate::admitted::Admitted;
use crate::body::ResponseBody;
use crate::future::ResponseFuture;
use crate::layer::Settings;
use crate::live::{ActiveLimits, LiveLimits};
use crate::peer;
use crate::response::error_response::ErrorResponse;
use crate::response::writer::Reply;
use crate::response::{grpc, problem};

/// A service with rate limits in front of it, created by [`TollgateLayer`](crate::TollgateLayer).
#[derive(Clone, Debug)]
pub struct Tollgate<S> {
    inner: S,
    live: Arc<LiveLimits>,
    settings: Settings,
}

impl<S> Tollgate<S> {
    pub(crate) const fn new(inner: S, live: Arc<LiveLimits>, settings: Settings) -> Self {
        Self { inner, live, settings }
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
        let (limits, settings) = (self.live.load(), self.settings);
        if limits.enforcer.waits() {
            // The service that is ready is called, and the next request makes another one ready.
            let next = self.inner.clone();
            let ready = std::mem::replace(&mut self.inner, next);
            let checking = async move {
                // Other requests are checked meanwhile, so the thread's scratch is not free.
                let checked = limits.enforcer.check(&head(&parts, settings), &mut Scratch::default()).await;
                ((limits, settings), parts, checked)
            };
            return ResponseFuture::checking(checking, ready, body);
        }
        let checked = SCRATCH.with(|scratch| {
            let head = head(&parts, settings);
            match scratch.try_borrow_mut() {
                Ok(mut scratch) => limits.enforcer.try_check(&head, &mut scratch),
                // A rule's closure called another service in turn.
                Err(_) => limits.enforcer.try_check(&head, &mut Scratch::default()),
            }
        });
        proceed(&mut self.inner, (limits, settings), (parts, body), checked)
    }
}

fn head(parts: &Parts, settings: Settings) -> RequestHead<'_> {
    let mut head = RequestHead::of_uri(&parts.method, &parts.uri, &parts.headers);
    head.extensions = Some(&parts.extensions);
    head.peer = settings.peer.or_else(|| peer::find(parts));
    head
}

/// Calls the service with an admitted request, or responds to a request that was not admitted.
#[inline]
pub(crate) fn proceed<S, B>(
    service: &mut S,
    (limits, settings): (Arc<ActiveLimits>, Settings),
    (mut parts, body): (Parts, B),
    checked: Result<Outcome, CheckError>,
) -> ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    let admission = match limits.responses.reply(checked, &parts.headers) {
        Reply::Admitted(admission) => admission,
        Reply::Rejected(mut response) => {
            if grpc::is_call(&parts.headers) {
                grpc::answer_call(&mut response);
            }
            return ResponseFuture::answered(response);
        }
    };
    if let Some(path) = admission.path() {
        match with_path(&parts.uri, path) {
            Some(uri) => parts.uri = uri,
            None => return ResponseFuture::answered(no_path()),
        }
    }
    if !settings.tells_handlers {
        let future = service.call(Request::from_parts(parts, body));
        return ResponseFuture::untold(future, limits, admission);
    }
    let admitted = Admitted::new(admission);
    parts.extensions.insert(admitted.clone());
    ResponseFuture::admitted(service.call(Request::from_parts(parts, body)), limits, admitted)
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
