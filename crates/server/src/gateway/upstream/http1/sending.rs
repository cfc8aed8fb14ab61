//! A request on its way: its head, then its body in pieces, no faster than the upstream takes them. What comes back is `receiving`'s.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body;
use tokio::io::AsyncWrite;

use super::outbound::{Coding, Outbound};
use crate::gateway::upstream::UpstreamError;
use crate::gateway::upstream::connect::Wire;

/// Pieces up to this size are copied behind what waits already, so that one write sends both.
const COPIED_MAX: usize = 4 << 10;

/// A request on its way.
#[derive(Debug)]
pub(super) struct Sending {
    request: Outbound,
    /// How much of the head was sent.
    sent: usize,
    /// What is sent next: ends of chunks, and small pieces.
    small: BytesMut,
    /// What is sent after that: a large piece.
    large: Bytes,
    /// How much of the body may still come, if its length was said.
    left: u64,
    phase: Phase,
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

impl Sending {
    pub(super) fn new(request: Outbound) -> Self {
        let (left, phase) = match request.coding {
            Coding::None => (0, Phase::Rest),
            Coding::Length(length) => (length, Phase::Body),
            Coding::Chunked => (u64::MAX, Phase::Body),
        };
        Self { request, sent: 0, small: BytesMut::new(), large: Bytes::new(), left, phase }
    }

    /// Whether all was sent.
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// The request, if it may be sent once more: nothing of it was sent, or (if the response is `untouched`) it is repeatable.
    pub(super) fn again(self, untouched: bool) -> Option<Outbound> {
        let unsent = self.sent == 0 && !self.request.body.is_begun();
        (unsent || (untouched && self.request.is_repeatable())).then_some(self.request)
    }

    /// Sends what can be sent now. Ready when all is.
    pub(super) fn poll(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamError>> {
        let polled = self.poll_inner(wire, cx);
        if let Poll::Ready(Err(_)) = &polled {
            self.phase = Phase::Failed;
        }
        polled
    }

    fn poll_inner(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamError>> {
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
        while self.phase == Phase::Body && self.large.is_empty() && self.small.len() < COPIED_MAX {
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
            Coding::None => return Err(UpstreamError::Client),
            Coding::Length(_) => self.left = self.left.checked_sub(length).ok_or(UpstreamError::Client)?,
            Coding::Chunked => {
                self.small.put_slice(format!("{length:x}\r\n").as_bytes());
            }
        }
        if data.len() <= COPIED_MAX {
            self.small.put_slice(&data);
            if self.request.coding == Coding::Chunked {
                self.small.put_slice(b"\r\n");
            }
        } else {
            self.large = data;
        }
        Ok(())
    }

    /// The client has sent all.
    fn end(&mut self, trailers: Option<&http::HeaderMap>) -> Result<(), UpstreamError> {
        match self.request.coding {
            // Less than was said: the upstream would wait for the rest, or take the next request for it.
            Coding::Length(_) if self.left > 0 => return Err(UpstreamError::Client),
            Coding::None | Coding::Length(_) => {}
            Coding::Chunked => {
                self.small.put_slice(b"0\r\n");
                for (name, value) in trailers.into_iter().flatten() {
                    self.small.put_slice(name.as_str().as_bytes());
                    self.small.put_slice(b": ");
                    self.small.put_slice(value.as_bytes());
                    self.small.put_slice(b"\r\n");
                }
                self.small.put_slice(b"\r\n");
            }
        }
        self.phase = Phase::Rest;
        Ok(())
    }

    /// Writes what waits.
    fn write(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let head = self.request.head.get(self.sent..).unwrap_or_default();
            let slices =
                [io::IoSlice::new(head), io::IoSlice::new(&self.small), io::IoSlice::new(&self.large)];
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
            let of_small = written.min(self.small.len());
            self.small.advance(of_small);
            let of_large = written.saturating_sub(of_small);
            if of_large > 0 {
                self.large.advance(of_large.min(self.large.len()));
                if self.large.is_empty() && self.request.coding == Coding::Chunked {
                    self.small.put_slice(b"\r\n");
                }
            }
        }
    }
}
