//! One HTTP/1.1 connection to the upstream, driven by its user, without a task of its own.
//!
//! A request's head is written once, from the parsed form, and kept until a response begins: so it can be sent once more on
//! another connection without a copy of its fields. A response is read in one way only ([`framing`](crate::doors::gateway::framing)).

mod chunks;
mod head;
mod receive;
mod request;
mod send;

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, ReadBuf};

use self::receive::ResponseReader;
pub(super) use self::request::PreparedRequest;
use self::send::RequestWriter;
use super::connect::UpstreamIo;
use super::{Upstream, UpstreamError};

/// A connection.
#[derive(Debug)]
pub(crate) struct Http1Connection {
    wire: UpstreamIo,
    receiving: ResponseReader,
    /// When it has been idle for too long.
    pub(super) idle_until: u64,
}

/// What is left of a response, and the connection that it comes over.
#[derive(Debug)]
pub(crate) struct Http1Body {
    link: Option<Box<Http1Connection>>,
    /// What is left of the request, where the response came before its end.
    sending: Option<Box<RequestWriter>>,
    upstream: Arc<Upstream>,
}

/// Why there is no response; and the request, if it may be sent once more.
pub(super) type SendFailure = (UpstreamError, Option<PreparedRequest>);

impl Http1Connection {
    pub(super) fn new(wire: UpstreamIo) -> Box<Self> {
        Box::new(Self { wire, receiving: ResponseReader::default(), idle_until: 0 })
    }

    /// Sends a request and waits for the head of its response.
    ///
    /// If that fails the request comes back where it may be sent once more: nothing of it was sent; or it has no body, its
    /// method is idempotent, and no byte of a response came.
    pub(super) async fn exchange(
        mut self: Box<Self>,
        request: PreparedRequest,
        upstream: &Arc<Upstream>,
    ) -> Result<Response<Http1Body>, SendFailure> {
        self.receiving.expect(&request);
        let mut sending = RequestWriter::new(request);
        let got = poll_fn(|cx| self.poll_response(&mut sending, cx)).await;
        match got {
            Ok(head) => {
                let sending = (!sending.is_done()).then(|| Box::new(sending));
                let body = Http1Body { link: Some(self), sending, upstream: Arc::clone(upstream) };
                Ok(Response::from_parts(head, body))
            }
            Err(error) => {
                let again = sending.again(&error, self.receiving.is_untouched());
                Err((error, again))
            }
        }
    }

    fn poll_response(
        &mut self,
        sending: &mut RequestWriter,
        cx: &mut Context<'_>,
    ) -> Poll<Result<http::response::Parts, UpstreamError>> {
        // An upstream may answer before it has read all, and close: what it said counts before what could not be sent.
        let sent = match sending.poll(&mut self.wire, cx) {
            Poll::Ready(Err(UpstreamError::Client)) => return Poll::Ready(Err(UpstreamError::Client)),
            sent @ (Poll::Pending | Poll::Ready(_)) => sent,
        };
        match (self.receiving.poll_head(&mut self.wire, cx), sent) {
            (Poll::Pending, Poll::Ready(Err(error))) | (Poll::Ready(Err(_)), Poll::Ready(Err(error))) => {
                Poll::Ready(Err(error))
            }
            (received, _) => received,
        }
    }

    /// The address that it leads to.
    pub(super) const fn peer(&self) -> SocketAddr {
        self.wire.peer()
    }

    /// Whether it can be used once more, as far as is known. A byte that nobody asked for makes it useless, like its end.
    pub(super) fn is_alive(&mut self) -> bool {
        let mut byte = [0; 1];
        let mut into = ReadBuf::new(&mut byte);
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(&mut self.wire).poll_read(&mut cx, &mut into).is_pending()
    }
}

impl Http1Body {
    /// The connection itself, which has switched to another protocol, and what came behind the response that says so. `None` if
    /// not all of the request was sent before.
    pub(crate) fn into_wire(mut self) -> Option<(UpstreamIo, bytes::BytesMut)> {
        let link = self.link.take().filter(|_| self.sending.is_none())?;
        let Http1Connection { wire, receiving, .. } = *link;
        Some((wire, receiving.into_rest()))
    }
}

impl Body for Http1Body {
    type Data = Bytes;
    type Error = UpstreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamError>>> {
        let this = &mut *self;
        let Some(link) = &mut this.link else { return Poll::Ready(None) };
        // What is left of the request goes on beside it. If it fails, the connection is not used again, and that is all.
        if let Some(sending) = &mut this.sending {
            let _ = sending.poll(&mut link.wire, cx);
        }
        link.receiving.poll_body(&mut link.wire, cx)
    }

    fn is_end_stream(&self) -> bool {
        self.link.as_ref().is_none_or(|link| link.receiving.is_done())
    }

    fn size_hint(&self) -> SizeHint {
        match self.link.as_ref().and_then(|link| link.receiving.left()) {
            Some(left) => SizeHint::with_exact(left),
            None => SizeHint::new(),
        }
    }
}

impl Drop for Http1Body {
    /// A connection is used again if the request was sent to its end, the response was read to its end, and both sides
    /// would have it so. Any other is closed: what is left of the response would be taken for the next one's.
    fn drop(&mut self) {
        let Some(mut link) = self.link.take() else { return };
        if self.sending.as_ref().is_none_or(|sending| sending.is_done()) && link.receiving.is_reusable() {
            link.receiving.rest();
            self.upstream.give_back(link);
        }
    }
}

/// Reads more, at least something.
///
/// # Errors
/// When the connection is broken; [`io::ErrorKind::UnexpectedEof`] if it has ended.
fn poll_more(
    wire: &mut UpstreamIo,
    into: &mut bytes::BytesMut,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let mut read = std::pin::pin!(tokio::io::AsyncReadExt::read_buf(wire, into));
    match read.as_mut().poll(cx) {
        Poll::Pending => Poll::Pending,
        Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        Poll::Ready(Ok(_)) => Poll::Ready(Ok(())),
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
    }
}
