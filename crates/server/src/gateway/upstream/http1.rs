//! One HTTP/1.1 connection to the upstream, driven by whoever uses it: no task of its own, so no hand-over between two.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper_util::rt::TokioIo;

use super::connect::Wire;
use super::{Upstream, UpstreamError, sound};
use crate::gateway::body::RequestBody;

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    sender: SendRequest<RequestBody>,
    connection: Connection<TokioIo<Wire>, RequestBody>,
    ended: bool,
    /// When it has been idle for too long.
    pub(crate) idle_until: u64,
}

/// What is left of a response, and the connection that it comes over.
#[derive(Debug)]
pub(crate) struct LinkBody {
    body: Incoming,
    link: Option<Box<Link>>,
    upstream: Arc<Upstream>,
}

/// Why there is no response; and the request, if nothing of it was sent.
pub(crate) type Failed = (UpstreamError, Option<Request<RequestBody>>);

impl Link {
    pub(crate) async fn new(wire: Wire) -> Result<Box<Self>, UpstreamError> {
        let made = handshake(TokioIo::new(wire)).await;
        let (sender, connection) = made.map_err(|error| UpstreamError::broken(&error))?;
        Ok(Box::new(Self { sender, connection, ended: false, idle_until: 0 }))
    }

    /// Sends a request and waits for the head of its response.
    pub(crate) async fn exchange(
        mut self: Box<Self>,
        request: Request<RequestBody>,
        upstream: &Arc<Upstream>,
    ) -> Result<Response<LinkBody>, Failed> {
        let mut response = pin!(self.sender.try_send_request(request));
        let got = poll_fn(|cx| {
            drive(&mut self.connection, &mut self.ended, cx);
            response.as_mut().poll(cx)
        });
        let got = got.await;
        match got {
            Ok(mut response) => {
                // Before it is known as a response: what is wrong takes its connection with it.
                sound(&mut response).map_err(|error| (error, None))?;
                let upstream = Arc::clone(upstream);
                Ok(response.map(|body| LinkBody { body, link: Some(self), upstream }))
            }
            Err(mut failed) => {
                let unsent = failed.take_message();
                Err((UpstreamError::broken(&failed.into_error()), unsent))
            }
        }
    }

    /// Whether it can be used once more, as far as is known: the upstream may have closed it since.
    pub(crate) fn is_alive(&mut self) -> bool {
        drive(&mut self.connection, &mut self.ended, &mut Context::from_waker(Waker::noop()));
        !self.ended && self.sender.is_ready()
    }
}

/// Lets a connection do what it can.
fn drive(connection: &mut Connection<TokioIo<Wire>, RequestBody>, ended: &mut bool, cx: &mut Context<'_>) {
    if !*ended {
        *ended = Pin::new(connection).poll(cx).is_ready();
    }
}

impl Body for LinkBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        // To ask the body is to say that more is wanted; to drive the connection is to get it.
        if let ready @ Poll::Ready(_) = Pin::new(&mut this.body).poll_frame(cx) {
            return ready;
        }
        if let Some(link) = &mut this.link {
            drive(&mut link.connection, &mut link.ended, cx);
        }
        Pin::new(&mut this.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for LinkBody {
    /// A connection whose response was read to its end is used again. Any other is closed: what is left of the response
    /// would be taken for the next one's.
    fn drop(&mut self) {
        let Some(mut link) = self.link.take() else { return };
        if link.is_alive() {
            self.upstream.give_back(link);
        }
    }
}
