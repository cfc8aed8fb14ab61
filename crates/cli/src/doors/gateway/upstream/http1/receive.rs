//! Receives a response: its head, then its body in pieces, with back-pressure.

use std::io;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::response::Parts;
use http_body::Frame;

use super::chunks::{ChunkPiece, ChunkReader};
use super::head;
use super::poll_more;
use super::request::PreparedRequest;
use crate::doors::gateway::upstream::UpstreamError;
use crate::doors::gateway::upstream::connect::UpstreamIo;

/// What is read at once, as a rule.
const READ_USUAL: usize = 8 << 10;
/// What is read at once of a long body. A connection that rests keeps no more than the usual.
const READ_LONG: usize = 64 << 10;
/// Maximum number of interim responses before the final one; more are a 502.
const INTERIM_MAX: u8 = 64;

/// What is left of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyLeft {
    /// So many bytes.
    Bytes(u64),
    /// Chunks.
    Chunks(ChunkReader),
    /// All that comes until the connection ends.
    UntilClose,
}

/// A response on its way, or none.
#[derive(Debug)]
pub(super) struct ResponseReader {
    buffer: BytesMut,
    left: BodyLeft,
    /// Whether it answers `HEAD`.
    of_head: bool,
    /// Whether its request asked to switch to another protocol.
    may_switch: bool,
    interim: u8,
    /// Whether no byte of it has come.
    untouched: bool,
    /// Whether the connection may be used again after it.
    keeps: bool,
}

impl Default for ResponseReader {
    fn default() -> Self {
        let (buffer, left) = (BytesMut::new(), BodyLeft::Bytes(0));
        Self { buffer, left, of_head: false, may_switch: false, interim: 0, untouched: true, keeps: false }
    }
}

impl ResponseReader {
    /// A response is waited for.
    pub(super) fn expect(&mut self, request: &PreparedRequest) {
        let buffer = std::mem::take(&mut self.buffer);
        let (of_head, may_switch) = (request.is_head(), request.switches());
        *self = Self { buffer, of_head, may_switch, ..Self::default() };
    }

    /// Nothing is waited for: a long buffer is given back.
    pub(super) fn rest(&mut self) {
        if self.buffer.capacity() > 2 * READ_USUAL {
            self.buffer = BytesMut::new();
        }
    }

    /// What came behind the head of a response that has switched to another protocol.
    pub(super) fn into_rest(self) -> BytesMut {
        self.buffer
    }

    /// Whether no byte has come.
    pub(super) const fn is_untouched(&self) -> bool {
        self.untouched
    }

    /// Whether the body is at its end.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.left, BodyLeft::Bytes(0) | BodyLeft::Chunks(ChunkReader::Done))
    }

    /// How many bytes are left, if that is known.
    pub(super) const fn left(&self) -> Option<u64> {
        match self.left {
            BodyLeft::Bytes(left) => Some(left),
            BodyLeft::Chunks(_) | BodyLeft::UntilClose => None,
        }
    }

    /// Whether the connection may be used again: all of the response was read, and nothing came that belongs to none.
    pub(super) fn is_reusable(&self) -> bool {
        self.keeps && self.is_done() && self.buffer.is_empty()
    }

    /// Reads the head.
    pub(super) fn poll_head(
        &mut self,
        wire: &mut UpstreamIo,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Parts, UpstreamError>> {
        loop {
            if !self.buffer.is_empty()
                && let Some(read) = head::read(&mut self.buffer, self.of_head)?
            {
                let switched = read.parts.status == StatusCode::SWITCHING_PROTOCOLS;
                if !read.parts.status.is_informational() || (switched && self.may_switch) {
                    // An upstream that was asked to switch may think that it has.
                    (self.left, self.keeps) = (read.left, read.keeps && !self.may_switch);
                    return Poll::Ready(Ok(read.parts));
                }
                if switched {
                    return Poll::Ready(Err(UpstreamError::Switched));
                }
                self.interim = self.interim.saturating_add(1);
                if self.interim > INTERIM_MAX {
                    return Poll::Ready(Err(UpstreamError::Interim));
                }
                continue;
            }
            self.buffer.reserve(READ_USUAL);
            match poll_more(wire, &mut self.buffer, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => self.untouched = false,
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(UpstreamError::io(&error)));
                }
            }
        }
    }

    /// Reads the next piece of the body.
    pub(super) fn poll_body(
        &mut self,
        wire: &mut UpstreamIo,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamError>>> {
        loop {
            match self.piece() {
                Err(why) => {
                    self.keeps = false;
                    return Poll::Ready(Some(Err(UpstreamError::Ambiguous(why))));
                }
                Ok(ChunkPiece::Data(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Ok(ChunkPiece::Trailers(trailers)) => {
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
                Ok(ChunkPiece::End) => return Poll::Ready(None),
                Ok(ChunkPiece::More) => {}
            }
            self.buffer.reserve(self.room());
            match poll_more(wire, &mut self.buffer, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => {
                    self.keeps = false;
                    let ended = error.kind() == io::ErrorKind::UnexpectedEof;
                    if ended && self.left == BodyLeft::UntilClose {
                        self.left = BodyLeft::Bytes(0);
                        return Poll::Ready(None);
                    }
                    return Poll::Ready(Some(Err(UpstreamError::io(&error))));
                }
            }
        }
    }

    /// The next piece that is in the buffer.
    fn piece(&mut self) -> Result<ChunkPiece, &'static str> {
        match &mut self.left {
            BodyLeft::Bytes(0) => Ok(ChunkPiece::End),
            BodyLeft::Chunks(chunks) => chunks.next(&mut self.buffer),
            BodyLeft::Bytes(_) | BodyLeft::UntilClose if self.buffer.is_empty() => Ok(ChunkPiece::More),
            BodyLeft::UntilClose => Ok(ChunkPiece::Data(self.buffer.split().freeze())),
            BodyLeft::Bytes(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(self.buffer.len());
                *left = left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
                Ok(ChunkPiece::Data(self.buffer.split_to(length).freeze()))
            }
        }
    }

    /// How much room to make for the next read.
    fn room(&self) -> usize {
        match self.left {
            BodyLeft::Bytes(left) => usize::try_from(left).unwrap_or(usize::MAX).clamp(READ_USUAL, READ_LONG),
            BodyLeft::Chunks(ChunkReader::Data(left)) => {
                usize::try_from(left).unwrap_or(usize::MAX).clamp(READ_USUAL, READ_LONG)
            }
            BodyLeft::Chunks(_) => READ_USUAL,
            BodyLeft::UntilClose => READ_LONG,
        }
    }
}
