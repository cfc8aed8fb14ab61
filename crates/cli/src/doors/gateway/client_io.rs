//! A client's bytes, plain or TLS, including those read to detect the protocol.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::deadlines::{DeadlineKind, Deadlines, UpgradeState};
use super::socket::Socket;

/// What an HTTP/2 connection begins with (RFC 9113 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// With TLS, or without.
#[derive(Debug)]
pub(crate) enum MaybeTls {
    /// Without.
    Plain(Socket),
    /// With.
    Tls(Box<TlsStream<Socket>>),
}

/// A client's connection, as bytes.
#[derive(Debug)]
pub(crate) struct ClientIo {
    wire: MaybeTls,
    /// Read already, and not yet taken: so many of these.
    ahead: [u8; PREFACE.len()],
    from: usize,
    to: usize,
    /// Read already and put back; it comes before all others.
    back: Bytes,
    /// Whether bytes on an idle connection are a request's: over HTTP/2 they may be anything.
    bytes_are_requests: bool,
    /// How many exchanges had begun when everything that was written had last been flushed, with no exchange running.
    settled: u32,
    /// A response that hyper made by itself. It is not sent: see [`take_withheld`](Self::take_withheld).
    #[expect(clippy::box_collection, reason = "few connections ever have one, and all have room for it")]
    withheld: Option<Box<Vec<u8>>>,
}

impl ClientIo {
    pub(crate) const fn new(wire: MaybeTls) -> Self {
        Self {
            wire,
            ahead: [0; PREFACE.len()],
            from: 0,
            to: 0,
            back: Bytes::new(),
            bytes_are_requests: true,
            settled: 0,
            withheld: None,
        }
    }

    /// Whether every response so far was sent in full, and none is being made. What hyper writes then it has made by itself, for
    /// bytes that are no request.
    pub(crate) fn is_settled(&self) -> bool {
        let watch = self.watch();
        self.bytes_are_requests && watch.begun() == self.settled && watch.is_between_requests()
    }

    /// The response that hyper made by itself, for bytes that are no request. The client has not got it.
    pub(crate) fn take_withheld(&mut self) -> Option<Vec<u8>> {
        self.withheld.take().map(|withheld| *withheld)
    }

    fn withhold(&mut self, bytes: &[u8]) {
        self.withheld.get_or_insert_default().extend_from_slice(bytes);
    }

    /// Whether the client speaks HTTP/2 from its first byte on: by what it negotiated, else by what it sends.
    ///
    /// # Errors
    /// When the connection fails or ends before that can be told.
    pub(crate) async fn speaks_http2(&mut self) -> io::Result<bool> {
        let http2 = self.begins_with_http2().await?;
        self.bytes_are_requests = !http2;
        Ok(http2)
    }

    async fn begins_with_http2(&mut self) -> io::Result<bool> {
        if let MaybeTls::Tls(tls) = &self.wire
            && let Some(protocol) = tls.get_ref().1.alpn_protocol()
        {
            return Ok(protocol == b"h2");
        }
        // What is only looked at is read whole later. Read in two pieces, a head would have twice the room for all its life.
        if let MaybeTls::Plain(plain) = &self.wire {
            let looked = plain.tcp.peek(&mut self.ahead).await?;
            let seen = self.ahead.get(..looked).unwrap_or_default();
            if looked > 0 && !PREFACE.starts_with(seen) {
                return Ok(false);
            }
        }
        loop {
            let seen = self.ahead.get(..self.to).unwrap_or_default();
            if !PREFACE.starts_with(seen) {
                return Ok(false);
            }
            if seen.len() == PREFACE.len() {
                return Ok(true);
            }
            let room = self.ahead.get_mut(self.to..).unwrap_or_default();
            let read = match &mut self.wire {
                MaybeTls::Plain(plain) => plain.read(room).await?,
                MaybeTls::Tls(tls) => tls.read(room).await?,
            };
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.to = self.to.saturating_add(read);
        }
    }

    /// These were read too early, and are read next.
    pub(crate) fn put_back(&mut self, bytes: Bytes) {
        self.back = bytes;
    }

    /// From now on bytes are a tunnel's.
    pub(crate) fn begin_tunnel(&mut self) {
        self.bytes_are_requests = false;
        self.watch().set_switching(UpgradeState::No);
    }

    /// Notices whether a client that has to be silent is. Nothing is read for now.
    fn poll_silent(&mut self, cx: &mut Context<'_>) {
        if !self.watch().is_switching(UpgradeState::Asked) {
            return;
        }
        let spoke = match &mut self.wire {
            // A read that fails here fails again when it is time to read.
            MaybeTls::Plain(plain) => {
                let mut byte = [0; 1];
                let peeked = plain.tcp.poll_peek(cx, &mut ReadBuf::new(&mut byte));
                matches!(peeked, Poll::Ready(Ok(1..)))
            }
            MaybeTls::Tls(_) => matches!(self.poll_bytes(cx), Poll::Ready(Ok(()))),
        };
        if spoke {
            self.watch().set_switching(UpgradeState::AskedAndNotSilent);
        }
    }

    /// Waits for the first byte of whatever comes next, without room for more.
    pub(crate) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.from < self.to {
            return Poll::Ready(Ok(()));
        }
        let tls = match &mut self.wire {
            MaybeTls::Plain(plain) => return plain.tcp.poll_read_ready(cx),
            MaybeTls::Tls(tls) => tls,
        };
        // That a record has come does not mean that there are bytes in it.
        let mut room = ReadBuf::new(&mut self.ahead);
        match Pin::new(tls).poll_read(cx, &mut room) {
            Poll::Ready(Ok(())) if room.filled().is_empty() => {
                Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
            }
            Poll::Ready(Ok(())) => {
                (self.from, self.to) = (0, room.filled().len());
                Poll::Ready(Ok(()))
            }
            other @ (Poll::Pending | Poll::Ready(Err(_))) => other,
        }
    }

    /// A client that is being answered need not be silent any longer.
    fn write_begins(&self) {
        if self.watch().is_switching(UpgradeState::Asked) {
            self.watch().set_switching(UpgradeState::Answered);
        }
    }

    fn watch(&self) -> &Deadlines {
        match &self.wire {
            MaybeTls::Plain(plain) => &plain.watch,
            MaybeTls::Tls(tls) => &tls.get_ref().0.watch,
        }
    }
}

impl AsyncRead for ClientIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.watch().is_switching(UpgradeState::No) {
            this.poll_silent(cx);
            return Poll::Pending;
        }
        let before = buf.filled().len();
        if !this.back.is_empty() {
            let taken = this.back.len().min(buf.remaining());
            buf.put_slice(&this.back.split_to(taken));
        } else if this.from < this.to {
            let ahead = this.ahead.get(this.from..this.to).unwrap_or_default();
            let taken = ahead.len().min(buf.remaining());
            buf.put_slice(ahead.get(..taken).unwrap_or_default());
            this.from = this.from.saturating_add(taken);
        } else {
            let read = match &mut this.wire {
                MaybeTls::Plain(plain) => Pin::new(plain).poll_read(cx, buf),
                MaybeTls::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
            };
            match read {
                // The client waits for its response, which hyper would drop. It learns of the end when the response is sent.
                Poll::Ready(Ok(()))
                    if this.bytes_are_requests
                        && buf.filled().len() == before
                        && buf.remaining() > 0
                        && !this.is_settled() =>
                {
                    this.watch().set_half_closed();
                    return Poll::Pending;
                }
                Poll::Ready(Ok(())) => {}
                other @ (Poll::Ready(Err(_)) | Poll::Pending) => return other,
            }
        }
        // The first byte of a request: its head has to follow.
        if this.bytes_are_requests
            && this.watch().waits_for(DeadlineKind::Idle)
            && buf.filled().len() > before
        {
            this.watch().wait_for(DeadlineKind::Head);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.write_begins();
        if this.is_settled() {
            this.withhold(buf);
            return Poll::Ready(Ok(buf.len()));
        }
        match &mut this.wire {
            MaybeTls::Plain(plain) => Pin::new(plain).poll_write(cx, buf),
            MaybeTls::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.write_begins();
        if this.is_settled() {
            bufs.iter().for_each(|buf| this.withhold(buf));
            return Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()));
        }
        match &mut this.wire {
            MaybeTls::Plain(plain) => Pin::new(plain).poll_write_vectored(cx, bufs),
            MaybeTls::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            MaybeTls::Plain(plain) => plain.is_write_vectored(),
            MaybeTls::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = match &mut this.wire {
            MaybeTls::Plain(plain) => Pin::new(plain).poll_flush(cx),
            MaybeTls::Tls(tls) => Pin::new(tls).poll_flush(cx),
        };
        // hyper flushes when it has written all that it has.
        if matches!(flushed, Poll::Ready(Ok(()))) && this.watch().is_between_requests() {
            let begun = this.watch().begun();
            if this.settled != begun && this.watch().is_half_closed() {
                // Now it is time to read that end.
                cx.waker().wake_by_ref();
            }
            this.settled = begun;
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.withheld.is_some() {
            // There is still something to be sent in its place.
            return Poll::Ready(Ok(()));
        }
        match &mut this.wire {
            MaybeTls::Plain(plain) => Pin::new(plain).poll_shutdown(cx),
            MaybeTls::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
