//! A service that is asked from memory, so many times, and no socket: for callgrind, which counts instructions and not what the
//! kernel does. The way is that of a real connection, from bytes to bytes.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::serve::{Listener, ListenerExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use crate::measure::document::REQUEST;

/// Answers so many requests that all came over one connection, and returns.
pub(crate) async fn serve(service: Router, requests: u64) -> io::Result<()> {
    let over = Arc::new(Notify::new());
    let listener = Once(Some(Memory { left: requests, read: 0, over: Arc::clone(&over) })).tap_io(|_| {});
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(async move { over.notified().await }).await
}

/// A listener with one connection.
struct Once(Option<Memory>);

impl Listener for Once {
    type Io = Memory;
    type Addr = SocketAddr;

    fn accept(&mut self) -> impl Future<Output = (Memory, SocketAddr)> + Send {
        let next = self.0.take();
        async move {
            match next {
                Some(memory) => (memory, address()),
                None => std::future::pending().await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(address())
    }
}

fn address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 1).into()
}

/// A connection over which one request comes after the other, and whose answers nobody reads.
struct Memory {
    /// Requests that have not been read to their end.
    left: u64,
    /// How much of the first of them has been read.
    read: usize,
    over: Arc<Notify>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.over.notify_one();
    }
}

impl AsyncRead for Memory {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left > 0 {
            let rest = &REQUEST.as_bytes()[self.read..];
            let piece = &rest[..rest.len().min(into.remaining())];
            into.put_slice(piece);
            self.read = (self.read + piece.len()) % REQUEST.len();
            self.left -= u64::from(self.read == 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Memory {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
