//! The future of a response: ready at once for most refusals, boxed for everything that waits.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Response;

use crate::doors::gateway::body::ResponseBody;

/// A request that is being answered. Most refusals are ready at once, and nothing is allocated for waiting.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a response in a box would be an allocation for every refusal")]
pub(crate) enum Exchange {
    /// It is answered.
    Ready(Option<Response<ResponseBody>>),
    /// The upstream, or the rest of its body, is waited for.
    Waiting(Waiting),
}

/// In a box, so that a connection without a request has no room for one.
pub(crate) struct Waiting(pub(super) Pin<Box<dyn Future<Output = Response<ResponseBody>> + Send>>);

impl Future for Exchange {
    type Output = Result<Response<ResponseBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Ready(response) => match response.take() {
                Some(response) => Poll::Ready(Ok(response)),
                None => Poll::Pending,
            },
            Self::Waiting(waiting) => waiting.0.as_mut().poll(cx).map(Ok),
        }
    }
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waiting")
    }
}
