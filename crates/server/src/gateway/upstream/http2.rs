//! One HTTP/2 connection to the upstream, shared by all exchanges of a worker. It is made when it is needed, and made anew.

use std::sync::{Mutex, PoisonError};

use http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use http::uri::{Authority, Scheme};
use http::{Request, Uri, Version};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::connect::{Connector, Wire};
use super::{Effort, UpstreamError};
use crate::gateway::body::RequestBody;

/// How often an upstream is asked whether it is still there, in seconds.
const PING_SECONDS: u64 = 20;
/// How much of a response may wait for a client that does not take it, in bytes. Then the upstream waits.
const STREAM_WINDOW: u32 = 256 << 10;
/// The same for all responses together. It is never reached: else a few clients that take nothing would stop all others.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

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

/// The connection, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    sender: Mutex<Option<SendRequest<RequestBody>>>,
    /// One connects, and the others wait for it.
    connecting: tokio::sync::Mutex<()>,
}

impl Shared {
    /// Whether there is one.
    pub(crate) fn is_open(&self) -> bool {
        self.open_sender().is_some()
    }

    fn open_sender(&self) -> Option<SendRequest<RequestBody>> {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.as_ref().filter(|sender| !sender.is_closed()).cloned()
    }

    /// The way to send, over the connection that is there or over a new one.
    pub(crate) async fn sender(
        &self,
        connector: &Connector,
        effort: &mut Effort,
    ) -> Result<SendRequest<RequestBody>, UpstreamError> {
        if let Some(sender) = self.open_sender() {
            return Ok(sender);
        }
        let _turn = self.connecting.lock().await;
        if let Some(sender) = self.open_sender() {
            return Ok(sender);
        }
        effort.connects = effort.connects.saturating_add(1);
        let (wire, _) = connector.connect().await?;
        self.open(wire).await
    }

    /// Begins to speak HTTP/2.
    pub(crate) async fn open(&self, wire: Wire) -> Result<SendRequest<RequestBody>, UpstreamError> {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(std::time::Duration::from_secs(PING_SECONDS))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        let made = builder.handshake(TokioIo::new(wire)).await;
        let (sender, connection) = made.map_err(|error| UpstreamError::broken(&error))?;
        // It ends when the last sender is gone, or when the upstream closes it; requests learn of it themselves.
        tokio::spawn(async move { drop(connection.await) });
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
        Ok(sender)
    }

    /// Forgets a connection that is closed.
    pub(crate) fn forget_closed(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take_if(|sender| sender.is_closed());
    }
}
