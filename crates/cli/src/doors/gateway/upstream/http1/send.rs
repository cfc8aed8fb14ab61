//! Sends a request: its head, then its body in pieces, with back-pressure.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body;
use tokio::io::AsyncWrite;

use super::request::{BodyFraming, PreparedRequest};
use crate::doors::gateway::upstream::UpstreamError;
use crate::doors::gateway::upstream::connect::UpstreamIo;

/// Pieces up to this size are copied behind what waits already, so that one write sends both.
const COPIED_MAX: usize = 4 << 10;

/// A request on its way.
#[derive(Debug)]
pub(super) struct RequestWriter {
    request: PreparedRequest,
    /// How much of the head was sent. Nothing else is before all of it is.
    sent: usize,
    taken: UnsentBody,
    phase: Phase,
}

/// What was taken of the body and is not sent yet.
#[derive(Debug)]
pub(super) struct UnsentBody {
    /// What is sent next: ends of chunks, and small pieces.
    small: BytesMut,
    /// What is sent after that: a large piece.
    large: Bytes,
    /// How much of the body may still come, if its length was said.
    left: u64,
    /// Whether that was all.
    is_all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The body is not at its end.
    Body,
    /// All was taken from the client, and not all is sent.
    Rest,
    /// All is sent.
    Done,
    /// It cannot be sent.
    Failed,
}

impl RequestWriter {
    pub(super) fn new(request: PreparedRequest) -> Self {
        let mut request = request;
        let (left, is_all) = match request.coding {
            BodyFraming::None => (0, true),
            BodyFraming::Length(length) => (length, false),
            BodyFraming::Chunked => (u64::MAX, false),
        };
        let before = request.taken.take();
        let none = UnsentBody { small: BytesMut::new(), large: Bytes::new(), left, is_all };
        let taken = before.map_or(none, |before| *before);
        let phase = if taken.is_all { Phase::Rest } else { Phase::Body };
        Self { request, sent: 0, taken, phase }
    }

    /// Whether all was sent.
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// The request, if it may be sent once more after this error: nothing of it was sent, or (if the response is `untouched`) it is
    /// repeatable. Not if it was the client that failed: what is left of its body would be taken for all of it.
    pub(super) fn again(self, error: &UpstreamError, untouched: bool) -> Option<PreparedRequest> {
        if let UpstreamError::Client = error {
            return None;
        }
        let Self { mut request, sent, taken, .. } = self;
        if sent == 0 && request.body.is_begun() {
            request.taken = Some(Box::new(taken));
        }
        (sent == 0 || (untouched && request.is_repeatable())).then_some(request)
    }

    /// Sends what can be sent now. Ready when all is.
    pub(super) fn poll(
        &mut self,
        wire: &mut UpstreamIo,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), UpstreamError>> {
        let polled = self.poll_inner(wire, cx);
        if let Poll::Ready(Err(_)) = &polled {
            self.phase = Phase::Failed;
        }
        polled
    }

    fn poll_inner(&mut self, wire: &mut UpstreamIo, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamError>> {
        loop {
            match self.phase {
                Phase::Done => return Poll::Ready(Ok(())),
                Phase::Failed => return Poll::Ready(Err(UpstreamError::Ended)),
                Phase::Body | Phase::Rest => {}
            }
            let taken = self.take(cx);
            if let Poll::Ready(Err(error)) = taken {
                return Poll::Ready(Err(error));
            }
            match self.write(wire, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(UpstreamError::io(&error))),
                Poll::Ready(Ok(())) => {}
            }
            if self.phase == Phase::Body && taken.is_ready() {
                continue;
            }
            // Before the client is waited for, too: what TLS has taken is not on its way yet.
            match Pin::new(&mut *wire).poll_flush(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(UpstreamError::io(&error))),
                Poll::Ready(Ok(())) if self.phase == Phase::Body => return Poll::Pending,
                Poll::Ready(Ok(())) => self.phase = Phase::Done,
            }
        }
    }

    /// Takes a piece from the client, if there is room for one.
    fn take(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamError>> {
        while self.phase == Phase::Body && self.taken.large.is_empty() && self.taken.small.len() < COPIED_MAX
        {
            let frame = match Pin::new(&mut self.request.body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(UpstreamError::Client)),
                Poll::Ready(None) => {
                    self.end(None)?;
                    break;
                }
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            match frame.into_data() {
                Ok(data) => self.piece(data)?,
                Err(other) => {
                    if let Ok(trailers) = other.into_trailers() {
                        self.end(Some(&trailers))?;
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn piece(&mut self, data: Bytes) -> Result<(), UpstreamError> {
        if data.is_empty() {
            return Ok(());
        }
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        match self.request.coding {
            // More than was said: it would be taken for the next request.
            BodyFraming::None => return Err(UpstreamError::Client),
            BodyFraming::Length(_) => {
                self.taken.left = self.taken.left.checked_sub(length).ok_or(UpstreamError::Client)?
            }
            BodyFraming::Chunked => {
                self.taken.small.put_slice(format!("{length:x}\r\n").as_bytes());
            }
        }
        if data.len() <= COPIED_MAX {
            self.taken.small.put_slice(&data);
            if self.request.coding == BodyFraming::Chunked {
                self.taken.small.put_slice(b"\r\n");
            }
        } else {
            self.taken.large = data;
        }
        Ok(())
    }

    /// The client has sent all.
    fn end(&mut self, trailers: Option<&http::HeaderMap>) -> Result<(), UpstreamError> {
        match self.request.coding {
            // Less than was said: the upstream would wait for the rest, or take the next request for it.
            BodyFraming::Length(_) if self.taken.left > 0 => return Err(UpstreamError::Client),
            BodyFraming::None | BodyFraming::Length(_) => {}
            BodyFraming::Chunked => {
                self.taken.small.put_slice(b"0\r\n");
                for (name, value) in trailers.into_iter().flatten() {
                    self.taken.small.put_slice(name.as_str().as_bytes());
                    self.taken.small.put_slice(b": ");
                    self.taken.small.put_slice(value.as_bytes());
                    self.taken.small.put_slice(b"\r\n");
                }
                self.taken.small.put_slice(b"\r\n");
            }
        }
        self.taken.is_all = true;
        self.phase = Phase::Rest;
        Ok(())
    }

    /// Writes what waits.
    fn write(&mut self, wire: &mut UpstreamIo, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let head = self.request.head.get(self.sent..).unwrap_or_default();
            let slices = [
                io::IoSlice::new(head),
                io::IoSlice::new(&self.taken.small),
                io::IoSlice::new(&self.taken.large),
            ];
            if slices.iter().all(|slice| slice.is_empty()) {
                return Poll::Ready(Ok(()));
            }
            let written = match Pin::new(&mut *wire).poll_write_vectored(cx, &slices) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => written,
            };
            let of_head = written.min(head.len());
            self.sent = self.sent.saturating_add(of_head);
            let written = written.saturating_sub(of_head);
            let of_small = written.min(self.taken.small.len());
            self.taken.small.advance(of_small);
            let of_large = written.saturating_sub(of_small);
            if of_large > 0 {
                self.taken.large.advance(of_large.min(self.taken.large.len()));
                if self.taken.large.is_empty() && self.request.coding == BodyFraming::Chunked {
                    self.taken.small.put_slice(b"\r\n");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;
    use http::{Method, Request};
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::{COPIED_MAX, RequestWriter, UpstreamError};
    use crate::doors::gateway::body::RequestBody;
    use crate::doors::gateway::upstream::connect::UpstreamIo;
    use crate::doors::gateway::upstream::http1::request::PreparedRequest;

    async fn connected() -> (UpstreamIo, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
        let ours = TcpStream::connect(listener.local_addr().expect("it has one")).await.expect("it listens");
        let (theirs, _) = listener.accept().await.expect("we have connected");
        (UpstreamIo::plain(ours), theirs)
    }

    fn post(body: &Bytes) -> PreparedRequest {
        let mut request = Request::new(RequestBody::whole(body.clone()));
        *request.method_mut() = Method::POST;
        PreparedRequest::new(request)
    }

    /// On a connection that has died, nothing is sent; and what was taken from the client for it is there for the next connection.
    #[tokio::test]
    async fn what_could_not_be_sent_at_all_is_sent_whole_on_another_connection() {
        for bytes in [5, COPIED_MAX, 3 * COPIED_MAX] {
            let body = Bytes::from(vec![b'x'; bytes]);
            let (mut dead, theirs) = connected().await;
            theirs.set_zero_linger().expect("it can be reset");
            drop(theirs);
            let mut sending = RequestWriter::new(post(&body));
            let error = poll_fn(|cx| sending.poll(&mut dead, cx)).await.expect_err("it was reset");
            let again = sending.again(&error, true).expect("nothing was sent");

            let (mut alive, mut theirs) = connected().await;
            let mut sending = RequestWriter::new(again);
            poll_fn(|cx| sending.poll(&mut alive, cx)).await.expect("it is alive");
            assert!(sending.is_done());
            assert!(sending.again(&error, true).is_none(), "it was sent, and is not repeatable");
            drop(alive);
            let mut come = Vec::new();
            theirs.read_to_end(&mut come).await.expect("it was closed");
            let head = format!("POST / HTTP/1.1\r\ncontent-length: {bytes}\r\n\r\n");
            assert_eq!(come, [head.as_bytes(), &body].concat());
        }
    }
    /// Nothing was sent, and the connection is well; but there is no whole request to send.
    #[tokio::test]
    async fn a_body_that_has_failed_is_not_sent_again() {
        let (mut wire, _theirs) = connected().await;
        let mut request = Request::new(RequestBody::too_large(Bytes::from_static(b"12345")));
        *request.method_mut() = Method::POST;
        let mut sending = RequestWriter::new(PreparedRequest::new(request));
        let error = poll_fn(|cx| sending.poll(&mut wire, cx)).await.expect_err("it is too large");
        assert!(matches!(error, UpstreamError::Client));
        assert!(sending.again(&error, true).is_none());
    }
}
