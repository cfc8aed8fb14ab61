//! HTTP/2 connections to the upstream, shared by all exchanges of a worker: usually one, more when its streams are in use.

mod tasks;

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use http::uri::{Authority, Scheme};
use http::{Request, Uri, Version};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};

use self::tasks::Tasks;
use super::connect::{Connector, UpstreamIo};
use super::{SendStats, UpstreamError};
use crate::doors::gateway::body::RequestBody;

/// How often an upstream is asked whether it is still there, in seconds.
const PING_SECONDS: u64 = 20;
/// How much of a response may wait for a client that does not take it, in bytes. Then the upstream waits.
const STREAM_WINDOW: u32 = 256 << 10;
/// The same for all responses together. It is never reached: else a few clients that take nothing would stop all others.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Maximum connections per worker. When all are full, requests wait.
const CONNECTIONS_MAX: usize = 64;

/// Writes a request as HTTP/2 has it: with the scheme, the host in its target and not in a field, and without the fields that
/// HTTP/1.1 has for its neighbour. Which protocol it is may turn out as late as in the handshake.
///
/// # Errors
/// When that cannot be written.
pub(crate) fn rewritten(
    mut request: Request<RequestBody>,
    tls: bool,
) -> Result<Request<RequestBody>, UpstreamError> {
    const CANNOT: UpstreamError = UpstreamError::Client;
    if request.version() == Version::HTTP_2 {
        return Ok(request);
    }
    let host = request.headers_mut().remove(HOST).ok_or(CANNOT)?;
    // Whatever `Connection` names hyper would take out too, and gRPC does not work without `TE`.
    request.headers_mut().remove(CONNECTION);
    request.headers_mut().remove(TRANSFER_ENCODING);
    let mut uri = std::mem::take(request.uri_mut()).into_parts();
    uri.scheme = Some(if tls { Scheme::HTTPS } else { Scheme::HTTP });
    uri.authority = Some(Authority::try_from(host.as_bytes()).map_err(|_| CANNOT)?);
    *request.uri_mut() = Uri::from_parts(uri).map_err(|_| CANNOT)?;
    *request.version_mut() = Version::HTTP_2;
    Ok(request)
}

/// The connections, the one that is used first in front.
#[derive(Debug, Default)]
pub(crate) struct Http2Pool {
    all: Mutex<Vec<Connection>>,
    /// One connects, and the others wait for it.
    connecting: tokio::sync::Mutex<()>,
}

/// A connection.
#[derive(Debug)]
struct Connection {
    sender: SendRequest<RequestBody>,
    /// The address that it leads to.
    peer: SocketAddr,
    /// How many streams the upstream allows at once.
    streams_max: Arc<AtomicUsize>,
    /// Who has a stream has a copy of it.
    streams: Arc<()>,
    /// When a stream was last seen on it, in ticks.
    used: u64,
}

/// A stream of a connection, until it is dropped. hyper does not say how many there are: one too many waits, and everything
/// behind it.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    _counted: Arc<()>,
}

/// The way to send a request: it has a stream.
pub(crate) type StreamSender = (SendRequest<RequestBody>, StreamSlot);

impl Connection {
    fn streams(&self) -> usize {
        Arc::strong_count(&self.streams).saturating_sub(1)
    }

    fn has_room(&self) -> bool {
        self.streams() < self.streams_max.load(Ordering::Relaxed)
    }

    fn way(&self) -> StreamSender {
        (self.sender.clone(), StreamSlot { _counted: Arc::clone(&self.streams) })
    }
}

impl Http2Pool {
    /// Whether there is one.
    pub(crate) fn is_open(&self) -> bool {
        !self.open_ones(|all| all.is_empty())
    }

    /// Looks at those that are not closed.
    fn open_ones<T>(&self, look: impl FnOnce(&mut Vec<Connection>) -> T) -> T {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|connection| !connection.sender.is_closed());
        look(&mut all)
    }

    /// The way over the first connection that has room.
    fn way(&self) -> Option<StreamSender> {
        self.open_ones(|all| all.iter().find(|one| one.has_room()).map(Connection::way))
    }

    /// The way to send, over a connection that is there or over a new one.
    pub(crate) async fn sender(
        &self,
        connector: &Connector,
        effort: &mut SendStats,
    ) -> Result<StreamSender, UpstreamError> {
        if let Some(way) = self.way() {
            return Ok(way);
        }
        let _turn = self.connecting.lock().await;
        if let Some(way) = self.way() {
            return Ok(way);
        }
        let waiting = self.open_ones(|all| {
            let least = all.iter().min_by_key(|one| one.streams()).map(Connection::way);
            least.filter(|_| all.len() >= CONNECTIONS_MAX)
        });
        if let Some(way) = waiting {
            return Ok(way);
        }
        effort.connects = effort.connects.saturating_add(1);
        let (wire, _) = connector.connect().await?;
        self.open(wire).await
    }

    /// Begins to speak HTTP/2. It has begun when the upstream has said how many streams it allows.
    pub(crate) async fn open(&self, wire: UpstreamIo) -> Result<StreamSender, UpstreamError> {
        let (tasks, peer) = (Tasks::default(), wire.peer());
        let mut builder = Builder::new(tasks.clone());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(std::time::Duration::from_secs(PING_SECONDS))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_max_send_streams(0);
        let made = builder.handshake(TokioIo::new(wire)).await;
        let (sender, connection) = made.map_err(|error| UpstreamError::broken(&error))?;
        let mut connection = Box::pin(connection);
        let heard = poll_fn(|cx| {
            tasks.tell(cx.waker());
            match connection.as_mut().poll(cx) {
                Poll::Ready(Ok(())) => Poll::Ready(Err(UpstreamError::Ended)),
                Poll::Ready(Err(error)) => Poll::Ready(Err(UpstreamError::broken(&error))),
                Poll::Pending if connection.current_max_send_streams() == 0 => Poll::Pending,
                Poll::Pending => Poll::Ready(Ok(connection.current_max_send_streams())),
            }
        });
        let streams_max = Arc::new(AtomicUsize::new(heard.await?));
        tasks.tell_nobody();
        let known = Arc::clone(&streams_max);
        // It ends when the last sender is gone, or when the upstream closes it; requests learn of it themselves.
        tokio::spawn(poll_fn(move |cx| {
            let ended = connection.as_mut().poll(cx);
            // It may change its mind.
            known.store(connection.current_max_send_streams(), Ordering::Relaxed);
            ended.map(drop)
        }));
        let connection = Connection { sender, peer, streams_max, streams: Arc::default(), used: u64::MAX };
        let way = connection.way();
        self.open_ones(|all| {
            // Several may have been made at once, by requests that did not know yet what would be agreed on.
            if all.len() < CONNECTIONS_MAX {
                all.push(connection);
            }
        });
        Ok(way)
    }

    /// Closes connections that have had no stream for so many ticks, except for the first one, which the next request uses; and
    /// gives up those to addresses that are not current, which end with their last stream.
    pub(crate) fn sweep(&self, now: u64, idle_ticks: u64, is_current: impl Fn(SocketAddr) -> bool) {
        self.open_ones(|all| {
            all.retain(|one| is_current(one.peer));
            let mut first = true;
            all.retain_mut(|one| {
                if one.streams() > 0 || one.used > now {
                    one.used = now;
                }
                std::mem::take(&mut first) || now.saturating_sub(one.used) < idle_ticks
            });
        });
    }
}
