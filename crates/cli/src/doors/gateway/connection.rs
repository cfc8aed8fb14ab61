//! One client connection from first byte to last: protocol detection, lifetime, and shutdown.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch::Receiver;

use super::body::ResponseBody;
use super::client_connection::ClientConnection;
use super::client_io::{ClientIo, MaybeTls};
use super::deadlines::{DeadlineKind, Deadlines};
use super::h2_executor::StreamExecutor;
use super::lingering_close::linger;
use super::malformed_request;
use super::proxy::{Exchange, exchange};
use super::socket::Socket;
use super::worker::Worker;

/// How often an HTTP/2 client is asked whether it is still there, in seconds.
const PING_SECONDS: u64 = 30;
/// hyper's default for the maximum number of header fields.
const HEADERS_USUAL: usize = 100;
/// How much of a response may wait for one HTTP/2 stream, in bytes.
const STREAM_BUFFER: usize = 64 << 10;
/// How much of a request may wait for one HTTP/2 stream whose upstream takes nothing, in bytes. A client that sends more
/// waits; it is a part of what may wait for the connection, so that one such stream does not stop the others.
const STREAM_WINDOW: u32 = 128 << 10;
/// The same for all streams of a connection together.
const CONNECTION_WINDOW: u32 = 1 << 20;

/// Serves a connection until it ends, is late, or has finished what it had begun when `stop` was said.
pub(crate) async fn serve(tcp: TcpStream, peer: SocketAddr, worker: Arc<Worker>, mut stop: Receiver<bool>) {
    // Small responses are not to wait for the acknowledgement of the ones before.
    let _ = tcp.set_nodelay(true);
    let watch = worker.watches.watch();
    watch.wait_for(DeadlineKind::Header);
    // In a box, and so is HTTP/2: a connection has no room for what it is not doing, for it is idle most of the time.
    let Some(begun) = Box::pin(first(tcp, &worker, &watch, &mut stop)).await else { return };
    let (stream, secure, speaks_http2) = begun;
    let mut client = ClientConnection::new(Arc::clone(&worker), peer.ip(), secure, watch);
    client.http2 = speaks_http2;
    let client = Arc::new(client);
    drop(worker);
    if speaks_http2 {
        Box::pin(speak_http2(stream, client, stop)).await;
    } else {
        speak_http1(stream, client, stop).await;
    }
}

/// Over HTTP/1.1 a connection that has been idle for a moment gives back its buffers, and takes new ones with the next byte.
async fn speak_http1(mut stream: ClientIo, client: Arc<ClientConnection>, stop: Receiver<bool>) {
    let _tunnel = DropTunnel(&client);
    loop {
        let service = ExchangeService(Arc::clone(&client));
        let mut connection = client.worker.http1.serve_connection(TokioIo::new(stream), service);
        let shut_down = http1::Connection::graceful_shutdown;
        match run(Pin::new(&mut connection), shut_down, &client, &stop).await {
            DriveResult::Cut => return,
            DriveResult::Over(served) => {
                let parts = connection.into_parts();
                let mut stream = parts.io.into_inner();
                // In boxes: hardly any connection has to.
                if served.is_ok()
                    && let Some(tunnel) = client.take_tunnel()
                {
                    return Box::pin(tunnel.run(stream, parts.read_buf)).await;
                }
                if let Err(error) = &served
                    && error.is_parse()
                {
                    Box::pin(malformed_request::answer(&mut stream, &client, error)).await;
                }
                if served.is_err() || client.watch.is_unread() {
                    Box::pin(linger(stream)).await;
                }
                return;
            }
            DriveResult::Nap => {}
        }
        let parts = connection.into_parts();
        stream = parts.io.into_inner();
        if !parts.read_buf.is_empty() {
            // A client that sends ahead has sent the beginning of its next request: the rest of the head has to follow.
            stream.put_back(parts.read_buf);
            client.watch.wait_for(DeadlineKind::Head);
        } else if !nap(&mut stream, &client, &stop).await {
            return;
        }
    }
}

/// Drops a tunnel that has not begun when its connection ends. The two refer to each other.
struct DropTunnel<'a>(&'a ClientConnection);

impl Drop for DropTunnel<'_> {
    fn drop(&mut self) {
        drop(self.0.take_tunnel());
    }
}

/// Waits for the next request. False if the connection has to go.
async fn nap(stream: &mut ClientIo, client: &ClientConnection, stop: &Receiver<bool>) -> bool {
    client.forget();
    let woken = poll_fn(|cx| match stream.poll_bytes(cx) {
        // Before it is told to go: what has come is read, and answered.
        Poll::Ready(bytes) => Poll::Ready(Some(bytes.is_ok())),
        Poll::Pending if *stop.borrow() => Poll::Ready(None),
        Poll::Pending => late(client, cx).map(|()| Some(false)),
    });
    if let Some(goes_on) = woken.await {
        return goes_on;
    }
    // The runtime may not have heard yet of what has come. It asks the system before it comes back here.
    tokio::task::yield_now().await;
    poll_fn(|cx| Poll::Ready(matches!(stream.poll_bytes(cx), Poll::Ready(Ok(()))))).await
}

/// How driving a connection ended.
enum DriveResult {
    /// It has ended by itself.
    Over(hyper::Result<()>),
    /// It has to go as it is.
    Cut,
    /// It has nothing to do.
    Nap,
}

async fn speak_http2(stream: ClientIo, client: Arc<ClientConnection>, stop: Receiver<bool>) {
    client.watch.wait_for(DeadlineKind::Idle);
    let service = ExchangeService(Arc::clone(&client));
    let connection = client.worker.http2.serve_connection(TokioIo::new(stream), service);
    // It never naps.
    let _ = run(pin!(connection), http2::Connection::graceful_shutdown, &client, &stop).await;
}

/// The beginning of a connection, if it has one in time.
async fn first(
    tcp: TcpStream,
    worker: &Worker,
    watch: &Arc<Deadlines>,
    stop: &mut Receiver<bool>,
) -> Option<(ClientIo, bool, bool)> {
    let mut beginning = pin!(begin(tcp, worker, watch));
    let mut begun = pin!(poll_fn(|cx| match beginning.as_mut().poll(cx) {
        Poll::Ready(begun) => Poll::Ready(begun.ok()),
        Poll::Pending => watch.poll_late(cx).map(|_| None),
    }));
    tokio::select! {
        begun = &mut begun => begun,
        // Who has just come may have sent a request that has not been read yet, and who has not goes.
        () = stopping(stop) => {
            tokio::time::timeout(worker.watches.ticks.length(), begun).await.ok().flatten()
        }
    }
}

/// Waits until it is said to stop, or nobody is left who could say it.
pub(crate) async fn stopping(stop: &mut Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}

/// TLS, if there is any, and the first bytes.
async fn begin(
    tcp: TcpStream,
    worker: &Worker,
    watch: &Arc<Deadlines>,
) -> std::io::Result<(ClientIo, bool, bool)> {
    let socket = Socket { tcp, watch: Arc::clone(watch) };
    let (wire, secure) = match &worker.certificate {
        None => (MaybeTls::Plain(socket), false),
        Some(certificate) => {
            let accepting = certificate.acceptor().accept(socket);
            let accepted = accepting.await.inspect_err(|_| worker.metrics.handshakes_failed.inc());
            (MaybeTls::Tls(Box::new(accepted?)), true)
        }
    };
    let mut stream = ClientIo::new(wire);
    let http2 = stream.speaks_http2().await?;
    Ok((stream, secure, http2))
}

/// Drives a connection to its end.
async fn run<C: Future<Output = hyper::Result<()>>>(
    mut connection: Pin<&mut C>,
    shut_down: impl Fn(Pin<&mut C>),
    client: &ClientConnection,
    stop: &Receiver<bool>,
) -> DriveResult {
    let mut told = false;
    poll_fn(|cx| {
        // Before it is told to go: what has come is read, and answered.
        if let Poll::Ready(served) = connection.as_mut().poll(cx) {
            return Poll::Ready(DriveResult::Over(served));
        }
        if client.resets_too_much() {
            return Poll::Ready(DriveResult::Cut);
        }
        // Whoever takes connections wakes them all when it is said. To hyper a connection is idle until a head is whole, and it
        // would close one on which half of a head has come.
        let begun = client.watch.waits_for(DeadlineKind::Head);
        if !told && !begun && (*stop.borrow() || is_left(client, cx)) {
            told = true;
            shut_down(connection.as_mut());
            if let Poll::Ready(served) = connection.as_mut().poll(cx) {
                return Poll::Ready(DriveResult::Over(served));
            }
        }
        if !told && !client.http2 && client.watch.may_nap() {
            return Poll::Ready(DriveResult::Nap);
        }
        late(client, cx).map(|()| DriveResult::Cut)
    })
    .await
}

/// Whether an HTTP/2 client has had no request for too long. It is told to go before it is closed, for it may be sending
/// one just now; over HTTP/1.1 there is no way to tell.
fn is_left(client: &ClientConnection, cx: &Context<'_>) -> bool {
    let left = client.http2 && client.watch.poll_late(cx) == Poll::Ready(DeadlineKind::Idle);
    if left {
        // So long it has to go.
        client.watch.wait_for(DeadlineKind::Header);
    }
    left
}

/// Whether the connection has to go: the client is late. What an exchange waits for it sees to itself.
fn late(client: &ClientConnection, cx: &Context<'_>) -> Poll<()> {
    client.watch.poll_late(cx).map(|due| client.worker.closed_late(due))
}

/// The builders of all connections of a worker.
pub(crate) fn builders(
    bounds: &crate::settings::ResourceLimits,
) -> (http1::Builder, http2::Builder<StreamExecutor>) {
    let mut one = http1::Builder::new();
    // As many as hyper has room for on the stack, unless others are asked for.
    if bounds.header_fields != HEADERS_USUAL {
        one.max_headers(bounds.header_fields);
    }
    one.max_header_size(bounds.head_bytes)
        .max_buf_size(bounds.head_bytes.max(16 << 10))
        .header_read_timeout(None);
    let mut two = http2::Builder::new(StreamExecutor);
    two.timer(TokioTimer::new())
        .keep_alive_interval(std::time::Duration::from_secs(PING_SECONDS))
        .max_concurrent_streams(bounds.streams)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_pending_accept_reset_streams(bounds.resets)
        .max_local_error_reset_streams(bounds.resets)
        .max_header_list_size(u32::try_from(bounds.head_bytes).unwrap_or(u32::MAX))
        .max_send_buf_size(STREAM_BUFFER);
    (one, two)
}

/// The service function of a connection.
#[derive(Clone, Debug)]
struct ExchangeService(Arc<ClientConnection>);

impl Service<Request<Incoming>> for ExchangeService {
    type Response = Response<ResponseBody>;
    type Error = std::convert::Infallible;
    type Future = Exchange;

    fn call(&self, request: Request<Incoming>) -> Exchange {
        exchange(&self.0, request)
    }
}
