//! The accept loop of endpoints: places for connections, TLS, and what each connection's handler gets.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch::Receiver;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::access::Access;
use super::gateway::GatewayContext;
use super::stream::Stream;
use super::tls::Certificate;
use crate::telemetry::metrics::EndpointMetrics;

/// How long no connection is taken after the system has no descriptor or no memory for one.
const BREATHER: Duration = Duration::from_millis(100);

/// What all connections of an endpoint have in common.
#[derive(Debug)]
pub(crate) struct Context {
    /// Its section of the settings: `grpc`, `resp` or `api`.
    pub(crate) name: &'static str,
    /// Settings, the policy in force (with the limiter), metrics and logs.
    pub(crate) common: GatewayContext,
    /// Who may use it. A client certificate that TLS asks for was checked before a handler sees the connection.
    pub(crate) access: Arc<Access>,
    /// What it counts.
    pub(crate) metrics: Arc<EndpointMetrics>,
}

/// A connection of a client, after the TLS handshake.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) peer: SocketAddr,
    /// Becomes true when the process is told to stop: then the handler finishes what it has begun and returns.
    pub(crate) stop: Receiver<bool>,
    /// Its place among the connections, until it is dropped.
    pub(crate) place: Place,
}

/// Speaks the protocol of an endpoint.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Serves a connection until it ends. It checks tokens by [`Context::access`], closes connections that are idle or slow, and
    /// bounds what it reads.
    fn serve(self: Arc<Self>, connection: Connection) -> impl Future<Output = ()> + Send;
}

/// A connection's place.
#[derive(Debug)]
pub(crate) struct Place {
    metrics: Arc<EndpointMetrics>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.metrics.connections_open.dec();
    }
}

/// Waits until the process is told to stop.
pub(crate) async fn stopping(stop: &mut Receiver<bool>) {
    // It also stops when nobody is left to say so.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Where connections come from.
pub(super) struct Entrance {
    pub(super) listener: StdListener,
    pub(super) certificate: Option<Arc<Certificate>>,
    pub(super) places: Arc<Semaphore>,
    pub(super) stop: Receiver<bool>,
}

/// Takes connections until it is told to stop.
pub(super) async fn accept<H: Handler>(entrance: Entrance, context: Arc<Context>, handler: Arc<H>) {
    let Entrance { listener, certificate, places, mut stop } = entrance;
    // It was bound, and made non-blocking, before.
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut is_short = false;
    loop {
        // First a place: without one, connections wait in the listener's queue.
        let accepted = async {
            let permit = Arc::clone(&places).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            biased;
            () = stopping(&mut stop) => return,
            accepted = accepted => accepted,
        };
        let Ok(permit) = permit else { return };
        match accepted {
            Ok((tcp, peer)) => {
                is_short = false;
                context.metrics.connections_total.inc();
                context.metrics.connections_open.inc();
                let place = Place { metrics: Arc::clone(&context.metrics), _permit: permit };
                let begin = begin(tcp, certificate.clone(), Arc::clone(&context));
                let (stop, handler) = (stop.clone(), Arc::clone(&handler));
                tokio::spawn(async move {
                    let Some(stream) = begin.await else { return };
                    handler.serve(Connection { stream, peer, stop, place }).await;
                });
            }
            Err(error) if is_shortage(&error) => {
                if !is_short {
                    let name = context.name;
                    context.common.logs.within(
                        || tracing::warn!(endpoint = name, why = %error, "cannot accept connections for now"),
                    );
                }
                is_short = true;
                // To ask again at once would only burn the processor: something has to be closed first.
                tokio::time::sleep(BREATHER).await;
            }
            Err(_) => {}
        }
    }
}

/// The TLS handshake, if there is one.
async fn begin(
    tcp: TcpStream,
    certificate: Option<Arc<Certificate>>,
    context: Arc<Context>,
) -> Option<Stream> {
    // Small responses are not to wait for the acknowledgement of the ones before.
    let _ = tcp.set_nodelay(true);
    let write = context.common.settings.timeouts.write;
    let Some(certificate) = certificate else { return Some(Stream::plain(tcp, write)) };
    let time = context.common.settings.timeouts.header;
    let handshake = certificate.acceptor().accept(tcp);
    if let Ok(Ok(stream)) = timeout(time, handshake).await {
        return Some(Stream::tls(stream, write));
    }
    // No line: whoever can connect could fill the log.
    context.metrics.handshakes_failed.inc();
    None
}

/// Whether the system has run out of something, rather than the one connection having failed.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    // EMFILE, ENFILE, ENOBUFS, ENOMEM.
    matches!(error.raw_os_error(), Some(24 | 23 | 105 | 12))
}
