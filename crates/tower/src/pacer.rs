//! A layer for clients: requests wait until the server that they go to will take them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::HOST;
use http::{Request, Response};
use tollgate::Pacer;
use tower_layer::Layer;
use tower_service::Service;

use crate::body::{RequestHold, ResponseBody};

/// Lets each request wait until its server will take it, by what earlier responses said: see [`Pacer`]. For clients, such as those of hyper.
///
/// A server is identified by the scheme and the authority of a request's URI, or else by its `Host`; with
/// [`for_origin`](Self::for_origin), all requests go to one. What a server learns of a request is not changed.
///
/// ```
/// use tollgate::Limiter;
/// use tollgate_tower::PacerLayer;
/// let layer = PacerLayer::new(Limiter::new()?.pacer());
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PacerLayer {
    pacer: Pacer,
    origin: Option<Arc<str>>,
}

/// A client whose requests wait until their server will take them, made by [`PacerLayer`].
#[derive(Clone, Debug)]
pub struct Paced<S> {
    inner: S,
    layer: PacerLayer,
}

impl PacerLayer {
    /// A layer with this pacer. All clients that it is put in front of share what it knows.
    #[must_use]
    pub const fn new(pacer: Pacer) -> Self {
        Self { pacer, origin: None }
    }

    /// Counts all requests as going to one server.
    #[must_use]
    pub fn for_origin(self, origin: &str) -> Self {
        Self { origin: Some(origin.into()), ..self }
    }

    fn origin_of<B>(&self, request: &Request<B>) -> Arc<str> {
        if let Some(origin) = &self.origin {
            return Arc::clone(origin);
        }
        let uri = request.uri();
        let host = || request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let authority = uri.authority().map(http::uri::Authority::as_str).or_else(host).unwrap_or("");
        format!("{}://{authority}", uri.scheme_str().unwrap_or("")).to_ascii_lowercase().into()
    }
}

impl<S> Layer<S> for PacerLayer {
    type Service = Paced<S>;

    fn layer(&self, inner: S) -> Paced<S> {
        Paced { inner, layer: self.clone() }
    }
}

impl<S, B, R> Service<Request<B>> for Paced<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Send + 'static,
    R: http_body::Body + 'static,
    R::Data: From<Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that is ready is called, and the next request makes another one ready.
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        let (pacer, origin) = (self.layer.pacer.clone(), self.layer.origin_of(&request));
        Box::pin(async move {
            let mut pass = pacer.ready(&origin).await;
            let response = ready.call(request).await?;
            let fields = response.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
            pass.observe(response.status().as_u16(), fields);
            Ok(response.map(|body| ResponseBody::inner(body, Some(RequestHold::Pass(pass)))))
        })
    }
}
