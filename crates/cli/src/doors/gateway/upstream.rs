//! The upstream: a pool of HTTP/1.1 and HTTP/2 connections per worker.

mod addresses;
mod connect;
mod error;
mod http1;
mod http2;

use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

pub use self::addresses::{AddressChanges, Addresses};
pub(crate) use self::connect::{Connector, UpstreamIo};
pub(crate) use self::error::UpstreamError;
pub(crate) use self::http1::Http1Body;
use self::http1::{Http1Connection, PreparedRequest};
pub(crate) use self::http2::StreamSlot;
use super::body::RequestBody;
use super::deadlines::{DeadlineKind, Deadlines, Ticks};
use super::framing;
use crate::settings::{Protocol, Settings};
use crate::telemetry::metrics::WorkerMetrics;

/// An upstream as one worker knows it.
#[derive(Debug)]
pub(crate) struct Upstream {
    connector: Connector,
    protocol: Protocol,
    #[expect(clippy::vec_box, reason = "it goes from hand to hand, and is too large to be copied each time")]
    idle: Mutex<Vec<Box<Http1Connection>>>,
    idle_max: usize,
    /// How long an idle connection is kept, in ticks.
    idle_ticks: u64,
    ticks: Arc<Ticks>,
    http2: http2::Http2Pool,
}

/// A response and what is left of it.
#[derive(Debug)]
pub(crate) enum UpstreamResponse {
    /// Over HTTP/1.1.
    Http1(Response<Http1Body>),
    /// Over HTTP/2, and its stream.
    Http2(Response<Incoming>, StreamSlot),
}

/// A request on its way: how it goes was chosen without waiting.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a request in a box would be an allocation for each")]
pub(crate) enum RoutedRequest {
    /// Over HTTP/1.1, on a connection that was left open.
    Pooled(Box<Http1Connection>, PreparedRequest),
    /// On a connection that has to be made first, or over HTTP/2 if it is to be shared.
    Otherwise(Box<Request<RequestBody>>, ConnectionSharing),
    /// On a connection of its own, over HTTP/1.1: it asks to switch to another protocol.
    Switching(Box<Request<RequestBody>>),
}

/// Whether a request goes over a connection that it shares with others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionSharing {
    Yes,
    NotYet,
}

/// What happened on the way, for the metrics.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct SendStats {
    /// Connections that were made.
    pub(crate) connects: u32,
    /// Requests that were sent once more.
    pub(crate) retries: u32,
}

impl Upstream {
    /// # Errors
    /// When the certificates to trust cannot be read.
    pub(crate) fn new(
        settings: &Settings,
        addresses: Arc<Addresses>,
        ticks: Arc<Ticks>,
        metrics: Arc<WorkerMetrics>,
    ) -> Result<Self, String> {
        Ok(Self {
            connector: Connector::new(settings, addresses, metrics)?,
            protocol: settings.upstream.protocol,
            idle: Mutex::new(Vec::new()),
            idle_max: settings.upstream.idle_max,
            idle_ticks: ticks.of(settings.timeouts.upstream_idle),
            ticks,
            http2: http2::Http2Pool::default(),
        })
    }

    /// Whether a request is sent over HTTP/2 without asking: it says so, or it is gRPC, which knows nothing else.
    pub(crate) fn wants_http2(&self, grpc: bool) -> bool {
        match self.protocol {
            Protocol::Auto => grpc && !self.connector.is_tls(),
            Protocol::Http1 => false,
            Protocol::Http2 => true,
        }
    }

    /// Chooses the way of a request.
    pub(crate) fn depart(&self, request: Request<RequestBody>, http2: bool) -> RoutedRequest {
        // Without TLS nobody has said that it speaks HTTP/2 to others than gRPC.
        if http2 || (self.connector.is_tls() && self.http2.is_open()) {
            return RoutedRequest::Otherwise(Box::new(request), ConnectionSharing::Yes);
        }
        match self.take() {
            Some(link) => RoutedRequest::Pooled(link, PreparedRequest::new(request)),
            None => RoutedRequest::Otherwise(Box::new(request), ConnectionSharing::NotYet),
        }
    }

    /// Whether a connection to it can switch to another protocol, as HTTP/1.1 does it.
    pub(crate) fn can_switch(&self) -> bool {
        self.protocol != Protocol::Http2
    }

    /// Sends a request and waits for the head of its response. `watch` says what is waited for meanwhile.
    ///
    /// A connection from the pool may be dead without its knowing. Then the request is sent once more, on a new connection:
    /// if nothing of it was sent; or if it may be repeated (its method is idempotent, it has no body) and no whole head came
    /// back.
    ///
    /// What is rare is in a box: else every request would have room for it.
    pub(crate) async fn send(
        self: &Arc<Self>,
        departing: RoutedRequest,
        watch: &Deadlines,
        effort: &mut SendStats,
    ) -> Result<UpstreamResponse, UpstreamError> {
        let (link, outbound) = match departing {
            RoutedRequest::Pooled(link, outbound) => (link, outbound),
            RoutedRequest::Otherwise(request, shares) => {
                return Box::pin(self.send_otherwise(*request, shares, watch, effort)).await;
            }
            RoutedRequest::Switching(request) => {
                return Box::pin(self.send_switching(*request, watch, effort)).await;
            }
        };
        watch.wait_for(DeadlineKind::Response);
        match link.exchange(outbound, self).await {
            Ok(response) => Ok(UpstreamResponse::Http1(response)),
            Err((error, None)) => Err(error),
            Err((_, Some(again))) => Box::pin(self.send_again(again, watch, effort)).await,
        }
    }

    /// Sends a request once more, on a new connection.
    async fn send_again(
        self: &Arc<Self>,
        outbound: PreparedRequest,
        watch: &Deadlines,
        effort: &mut SendStats,
    ) -> Result<UpstreamResponse, UpstreamError> {
        effort.retries = effort.retries.saturating_add(1);
        watch.wait_for(DeadlineKind::Connect);
        effort.connects = effort.connects.saturating_add(1);
        let (wire, negotiated_http2) = self.connector.connect().await?;
        // An upstream that spoke HTTP/1.1 a moment ago is not written to in another protocol.
        if negotiated_http2 {
            return Err(UpstreamError::Ended);
        }
        self.send_on(wire, outbound, watch).await
    }

    /// Sends a request for which there is no connection in the pool.
    async fn send_otherwise(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        shares: ConnectionSharing,
        watch: &Deadlines,
        effort: &mut SendStats,
    ) -> Result<UpstreamResponse, UpstreamError> {
        watch.wait_for(DeadlineKind::Connect);
        if shares == ConnectionSharing::Yes {
            return self.send_http2(request, watch, effort).await;
        }
        effort.connects = effort.connects.saturating_add(1);
        let (wire, negotiated_http2) = self.connector.connect().await?;
        if negotiated_http2 {
            self.http2.open(wire).await?;
            return self.send_http2(request, watch, effort).await;
        }
        self.send_on(wire, PreparedRequest::new(request), watch).await
    }

    /// Sends a request that asks to switch to another protocol, once: what follows a response that does not switch is
    /// never sent on the same connection.
    async fn send_switching(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        watch: &Deadlines,
        effort: &mut SendStats,
    ) -> Result<UpstreamResponse, UpstreamError> {
        watch.wait_for(DeadlineKind::Connect);
        effort.connects = effort.connects.saturating_add(1);
        let wire = self.connector.connect_http1().await?;
        self.send_on(wire, PreparedRequest::switching(request), watch).await
    }

    /// Sends a request on a new connection.
    async fn send_on(
        self: &Arc<Self>,
        wire: UpstreamIo,
        outbound: PreparedRequest,
        watch: &Deadlines,
    ) -> Result<UpstreamResponse, UpstreamError> {
        watch.wait_for(DeadlineKind::Response);
        let sent = Http1Connection::new(wire).exchange(outbound, self).await;
        sent.map(UpstreamResponse::Http1).map_err(|(error, _)| error)
    }

    async fn send_http2(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        watch: &Deadlines,
        effort: &mut SendStats,
    ) -> Result<UpstreamResponse, UpstreamError> {
        let mut request = http2::rewritten(request, self.connector.is_tls())?;
        for attempt in 0.. {
            let copy = repeatable(&request).filter(|_| attempt == 0);
            let (mut sender, stream) = self.http2.sender(&self.connector, effort).await?;
            watch.wait_for(DeadlineKind::Response);
            match sender.try_send_request(request).await {
                Ok(mut response) => {
                    sound(&mut response)?;
                    return Ok(UpstreamResponse::Http2(response, stream));
                }
                Err(mut failed) => {
                    let unsent = failed.take_message().filter(|_| attempt == 0);
                    let error = UpstreamError::broken(&failed.into_error());
                    let ours = !matches!(error, UpstreamError::Client);
                    // The connection was about to close, or is lost: nothing of the response has come.
                    match unsent.or(copy.filter(|_| ours)) {
                        Some(again) => request = again,
                        None => return Err(error),
                    }
                }
            }
            effort.retries = effort.retries.saturating_add(1);
            watch.wait_for(DeadlineKind::Connect);
        }
        Err(UpstreamError::Ended)
    }

    /// A connection that was left open, the last one first: it is the least likely to be dead.
    fn take(&self) -> Option<Box<Http1Connection>> {
        loop {
            let mut link = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if link.is_alive() {
                return Some(link);
            }
        }
    }

    /// A connection is left open for the next request.
    fn give_back(&self, mut link: Box<Http1Connection>) {
        link.idle_until = self.ticks.now().saturating_add(self.idle_ticks);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.idle_max {
            idle.push(link);
        }
    }

    /// Closes connections that have been idle for too long, the oldest of which are first, and those to addresses that the
    /// upstream no longer has. What is under way on the latter ends as it would.
    pub(crate) fn sweep(&self) {
        let now = self.ticks.now();
        let current = self.connector.current();
        let is_current = |peer| current.as_ref().is_none_or(|current| current.contains(&peer));
        self.http2.sweep(now, self.idle_ticks, is_current);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let stale = idle.iter().take_while(|link| link.idle_until <= now).count();
        let mut closed: Vec<_> = idle.drain(..stale).collect();
        closed.extend(idle.extract_if(.., |link| !is_current(link.peer())));
        drop(idle);
        drop(closed);
    }
}

/// Whether a response can be read in one way only, and was asked for.
fn sound(response: &mut Response<Incoming>) -> Result<(), UpstreamError> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(UpstreamError::Switched);
    }
    framing::of_response(response.headers_mut()).map_err(UpstreamError::Ambiguous)
}

/// A copy of a request that may be sent once more whatever became of the first: its method is idempotent, it has no body.
fn repeatable(request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
    if !is_idempotent(request.method()) || !request.body().is_empty() {
        return None;
    }
    let mut copy = Request::new(RequestBody::empty());
    copy.method_mut().clone_from(request.method());
    copy.uri_mut().clone_from(request.uri());
    copy.headers_mut().clone_from(request.headers());
    *copy.version_mut() = request.version();
    Some(copy)
}

/// Whether doing it twice has the effect of doing it once (RFC 9110 9.2.2).
fn is_idempotent(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE, Method::PUT, Method::DELETE].contains(method)
}

#[cfg(test)]
mod tests;
