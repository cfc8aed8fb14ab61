//! A connection of a client to an endpoint: plain or through TLS, and closed when the client does not read.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};
use tokio_rustls::server::TlsStream;

/// A client's connection, after the TLS handshake if there is one. A write fails when the client has taken nothing for the
/// time given, so that nobody holds a connection by not reading.
pub(crate) struct Stream {
    link: Link,
    write: Duration,
    /// Since when the client takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
    is_stuck: bool,
}

enum Link {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Without TLS.
    pub(crate) const fn plain(stream: TcpStream, write: Duration) -> Self {
        Self { link: Link::Plain(stream), write, stuck: None, is_stuck: false }
    }

    /// With TLS.
    pub(crate) fn tls(stream: TlsStream<TcpStream>, write: Duration) -> Self {
        Self { link: Link::Tls(Box::new(stream)), write, stuck: None, is_stuck: false }
    }

    /// Passes on what came of a write, unless it has been waiting for too long.
    fn judge<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_stuck = false;
            return written;
        }
        let time = self.write;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(time)));
        if !self.is_stuck {
            self.is_stuck = true;
            let now = Instant::now();
            stuck.as_mut().reset(now.checked_add(time).unwrap_or(now));
        }
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().link {
            Link::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Link::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = match &mut this.link {
            Link::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Link::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        this.judge(written, cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = match &mut this.link {
            Link::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Link::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        this.judge(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.link {
            Link::Plain(stream) => stream.is_write_vectored(),
            Link::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = match &mut this.link {
            Link::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Link::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        this.judge(flushed, cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let closed = match &mut this.link {
            Link::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Link::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        };
        this.judge(closed, cx)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self.link, Link::Plain(_)) { "Stream(plain)" } else { "Stream(TLS)" })
    }
}
