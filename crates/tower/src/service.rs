//! A service with limits in front of it: one request in, admitted or answered. It decides nothing itself.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use tower_service::Service;

use crate::admitted::Admitted;
use crate::asked::Answer;
use crate::body::ResponseBody;
use crate::front::{Admission, Front};
use crate::future::ResponseFuture;
use crate::grpc;
use crate::layer::Settings;

/// A service with limits in front of it, made by [`TollgateLayer`](crate::TollgateLayer).
#[derive(Clone, Debug)]
pub struct Tollgate<S> {
    inner: S,
    front: Front,
    settings: Settings,
}

impl<S> Tollgate<S> {
    pub(crate) const fn new(inner: S, front: Front, settings: Settings) -> Self {
        Self { inner, front, settings }
    }
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

    /// Reserves nothing of a limit: a request is charged when it is there, and has then spent what it cost, whether it is
    /// answered, cancelled or upgraded.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        if self.front.waits() {
            // The one that is ready is called, and the next request makes another one ready.
            let next = self.inner.clone();
            let ready = std::mem::replace(&mut self.inner, next);
            let (front, settings) = (self.front.clone(), self.settings);
            let asking = async move {
                let asked = front.ask_async(&parts, settings.peer).await;
                ((front, settings), parts, asked)
            };
            return ResponseFuture::asking(asking, ready, body);
        }
        let asked = self.front.ask(&parts, self.settings.peer);
        went_on(&mut self.inner, (&self.front, self.settings), (parts, body), asked)
    }
}

/// What becomes of a request that was asked about: it goes on to the service, or is answered.
#[inline]
pub(crate) fn went_on<S, B>(
    service: &mut S,
    (front, settings): (&Front, Settings),
    (mut parts, body): (Parts, B),
    asked: Result<Admission, Box<Answer>>,
) -> ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    let mut admission = match asked {
        Ok(admission) => admission,
        Err(mut answer) => {
            if grpc::is_call(&parts.headers) {
                grpc::answer_call(&mut answer);
            }
            return ResponseFuture::answered(answer);
        }
    };
    if let Some(path) = admission.path.take() {
        match with_path(&parts.uri, &path) {
            Some(uri) => parts.uri = uri,
            None => return ResponseFuture::answered(Box::new(no_path())),
        }
    }
    if !settings.tells_handlers {
        let future = service.call(Request::from_parts(parts, body));
        return ResponseFuture::untold(future, front.clone(), admission);
    }
    let admitted = Admitted::new(front, admission);
    parts.extensions.insert(admitted.clone());
    ResponseFuture::admitted(service.call(Request::from_parts(parts, body)), admitted)
}

/// The same target with another path. What was matched is what goes on.
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
fn no_path() -> Answer {
    crate::problem::bad_request("the path cannot be forwarded as it was matched")
}
