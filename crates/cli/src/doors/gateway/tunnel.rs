//! A WebSocket tunnel: copies bytes both ways until a side closes or a deadline passes. Does not parse frames.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::client_connection::RunningExchange;
use super::client_io::ClientIo;
use super::deadlines::DeadlineKind;
use super::upstream::UpstreamIo;
use crate::telemetry::metrics::{Count, Level, TunnelEnds};

/// The buffer of each direction, in bytes. While it is full, the sender is not read from.
const BUFFER: usize = 16 << 10;
/// How many buffers one direction moves before other connections of the worker get their turn.
const TURNS_MAX: usize = 8;

/// A tunnel that has not begun: the upstream has switched, and the client has not been told yet.
///
/// It owns its exchange, so that what the exchange holds is held until the tunnel ends.
#[derive(Debug)]
pub(crate) struct Tunnel {
    upstream: UpstreamIo,
    /// What the upstream sent right behind its 101.
    first: BytesMut,
    running: RunningExchange,
}

/// How a tunnel ended.
enum TunnelEnd {
    /// Both sides closed.
    Closed,
    /// A side was silent for too long, or the tunnel had its time.
    Late,
    /// The client's connection failed.
    Client,
    /// The upstream's connection failed.
    Upstream(io::Error),
}

impl Tunnel {
    pub(crate) const fn new(upstream: UpstreamIo, first: BytesMut, running: RunningExchange) -> Self {
        Self { upstream, first, running }
    }

    /// Moves bytes until the tunnel ends. The 101 has been sent.
    ///
    /// `early` is what the client sent before the 101. A client that follows RFC 6455 sends nothing then, so these bytes
    /// may be meant as another request. They go nowhere, and the tunnel ends.
    pub(crate) async fn run(mut self, mut client: ClientIo, early: Bytes) {
        let worker = Arc::clone(&self.running.client().worker);
        let metrics = &worker.metrics;
        metrics.tunnels_total.inc();
        let ends: &TunnelEnds = &metrics.tunnels_ended;
        if !early.is_empty() {
            ends.early_data.inc();
            return;
        }
        client.begin_tunnel();
        let _open = OpenTunnelCount::new(&metrics.tunnels_open);
        let mut up = Direction::new(BytesMut::new(), &metrics.tunnel_bytes.to_upstream);
        let mut down = Direction::new(std::mem::take(&mut self.first), &metrics.tunnel_bytes.to_client);
        self.running.watch().wait_for(DeadlineKind::ResponseBody);
        let end = poll_fn(|cx| self.poll_end((&mut up, &mut down), &mut client, cx)).await;
        match end {
            TunnelEnd::Closed => {
                self.running.over();
                ends.closed.inc();
            }
            TunnelEnd::Late => {
                self.running.over();
                ends.late.inc();
            }
            TunnelEnd::Client => ends.broken.inc(),
            TunnelEnd::Upstream(error) => {
                self.running.broken(&error.to_string());
                ends.broken.inc();
            }
        }
    }

    fn poll_end(
        &mut self,
        (up, down): (&mut Direction<'_>, &mut Direction<'_>),
        client: &mut ClientIo,
        cx: &mut Context<'_>,
    ) -> Poll<TunnelEnd> {
        if self.running.is_void() {
            return Poll::Ready(TunnelEnd::Late);
        }
        let ended_before = up.is_closed() || down.is_closed();
        let mut moved = false;
        for (polled, from_client) in [
            (up.poll(client, &mut self.upstream, cx, &mut moved), true),
            (down.poll(&mut self.upstream, client, cx, &mut moved), false),
        ] {
            match polled {
                Ok(()) => {}
                Err(Side::Reader(_)) if from_client => return Poll::Ready(TunnelEnd::Client),
                Err(Side::Writer(_)) if !from_client => return Poll::Ready(TunnelEnd::Client),
                Err(Side::Reader(error) | Side::Writer(error)) => {
                    return Poll::Ready(TunnelEnd::Upstream(error));
                }
            }
        }
        if up.is_closed() && down.is_closed() {
            return Poll::Ready(TunnelEnd::Closed);
        }
        let watch = self.running.watch();
        if up.is_closed() || down.is_closed() {
            // The other side has the time of a write to close, too, however much it sends.
            if !ended_before {
                watch.wait_for(DeadlineKind::Write);
            }
        } else if moved {
            watch.wait_for(DeadlineKind::ResponseBody);
        }
        watch.poll_late(cx).map(|_| TunnelEnd::Late)
    }
}

/// Counts an open tunnel, until it is dropped.
struct OpenTunnelCount<'a>(&'a Level);

impl<'a> OpenTunnelCount<'a> {
    fn new(level: &'a Level) -> Self {
        level.inc();
        Self(level)
    }
}

impl Drop for OpenTunnelCount<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Which side of a direction failed.
enum Side {
    Reader(io::Error),
    Writer(io::Error),
}

/// One direction of a tunnel.
struct Direction<'a> {
    buffer: BytesMut,
    state: State,
    is_flushed: bool,
    bytes: &'a Count,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The reader's side is open.
    Open,
    /// The reader's side has ended: the rest of the buffer is written, then the writer's side is shut down.
    Ending,
    /// All is written, and the writer's side is shut down.
    Closed,
}

impl<'a> Direction<'a> {
    const fn new(buffer: BytesMut, bytes: &'a Count) -> Self {
        Self { buffer, state: State::Open, is_flushed: true, bytes }
    }

    fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Moves what can be moved now. Sets `moved` if a byte was.
    fn poll(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
        moved: &mut bool,
    ) -> Result<(), Side> {
        for _ in 0..TURNS_MAX {
            match self.poll_write(writer, cx, moved) {
                Poll::Pending => return Ok(()),
                Poll::Ready(written) => written.map_err(Side::Writer)?,
            }
            match self.state {
                State::Closed => return Ok(()),
                State::Ending => match Pin::new(&mut *writer).poll_shutdown(cx) {
                    Poll::Pending => return Ok(()),
                    // A side that is gone already cannot be told.
                    Poll::Ready(_) => self.state = State::Closed,
                },
                State::Open => match self.poll_read(reader, cx) {
                    Poll::Ready(read) => read.map_err(Side::Reader)?,
                    Poll::Pending => {
                        return match self.poll_flush(writer, cx) {
                            Poll::Ready(Err(error)) => Err(Side::Writer(error)),
                            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
                        };
                    }
                },
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    fn poll_write(
        &mut self,
        writer: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
        moved: &mut bool,
    ) -> Poll<io::Result<()>> {
        while !self.buffer.is_empty() {
            let written = ready!(Pin::new(&mut *writer).poll_write(cx, &self.buffer))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.buffer.advance(written);
            self.bytes.add(u64::try_from(written).unwrap_or(u64::MAX));
            (self.is_flushed, *moved) = (false, true);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.buffer.reserve(BUFFER);
        match pin!(reader.read_buf(&mut self.buffer)).poll(cx) {
            Poll::Ready(Ok(0)) => self.state = State::Ending,
            Poll::Ready(read) => drop(read?),
            Poll::Pending => {
                // Most tunnels are silent most of the time: a silent one has no buffer.
                self.buffer = BytesMut::new();
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flush(
        &mut self,
        writer: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_flushed {
            ready!(Pin::new(writer).poll_flush(cx))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}
