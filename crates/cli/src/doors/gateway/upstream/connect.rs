//! Opens a connection to the upstream, plain or TLS, to the first of its addresses that responds.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::UpstreamError;
use super::addresses::Addresses;
use crate::settings::{Protocol, Settings, Upstream};
use crate::telemetry::metrics::WorkerMetrics;

/// How long an address has to answer before the next one is tried beside it, as RFC 8305 recommends.
const HEAD_START: Duration = Duration::from_millis(250);

/// Makes connections.
pub(crate) struct Connector {
    addresses: Arc<Addresses>,
    head_start: Duration,
    dialer: Dialer,
    /// As `dialer`, for connections that have to be HTTP/1.1.
    http1: Dialer,
}

/// Makes a connection to one address.
#[derive(Clone)]
struct Dialer {
    metrics: Arc<WorkerMetrics>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A connection to the upstream, as bytes. It is counted as long as it is open.
#[derive(Debug)]
pub(crate) struct UpstreamIo {
    kind: Kind,
    peer: SocketAddr,
    metrics: Arc<WorkerMetrics>,
}

#[derive(Debug)]
enum Kind {
    /// Without TLS.
    Plain(TcpStream),
    /// With.
    Tls(Box<TlsStream<TcpStream>>),
}

#[cfg(test)]
impl UpstreamIo {
    /// A connection without TLS that is counted nowhere else.
    pub(crate) fn plain(tcp: TcpStream) -> Self {
        let peer = tcp.peer_addr().expect("it is connected");
        Self { kind: Kind::Plain(tcp), peer, metrics: Arc::default() }
    }
}

impl UpstreamIo {
    /// The address that it leads to.
    pub(crate) const fn peer(&self) -> SocketAddr {
        self.peer
    }
}

impl Connector {
    /// # Errors
    /// When the certificates to trust cannot be read, or the host is no name for TLS.
    pub(crate) fn new(
        settings: &Settings,
        addresses: Arc<Addresses>,
        metrics: Arc<WorkerMetrics>,
    ) -> Result<Self, String> {
        let upstream = &settings.upstream;
        let tls = |protocol| if upstream.tls { tls(upstream, protocol).map(Some) } else { Ok(None) };
        let http1 = Dialer { metrics: Arc::clone(&metrics), tls: tls(Protocol::Http1)? };
        let tls = tls(upstream.protocol)?;
        let head_start = HEAD_START.min(settings.timeouts.connect / 4);
        Ok(Self { addresses, head_start, dialer: Dialer { metrics, tls }, http1 })
    }

    /// Whether connections have TLS.
    pub(crate) const fn is_tls(&self) -> bool {
        self.dialer.tls.is_some()
    }

    /// The addresses whose connections are still used; `None` if they cannot change.
    pub(crate) fn current(&self) -> Option<Vec<SocketAddr>> {
        self.addresses.current()
    }

    /// A new connection, and whether HTTP/2 was agreed on. How long it may take is the caller's business.
    pub(crate) async fn connect(&self) -> Result<(UpstreamIo, bool), UpstreamError> {
        self.connect_with(&self.dialer).await
    }

    /// As [`connect`](Self::connect), for HTTP/1.1 only.
    pub(crate) async fn connect_http1(&self) -> Result<UpstreamIo, UpstreamError> {
        let (wire, _) = self.connect_with(&self.http1).await?;
        Ok(wire)
    }

    async fn connect_with(&self, dialer: &Dialer) -> Result<(UpstreamIo, bool), UpstreamError> {
        let addresses = self.addresses.now().await.map_err(UpstreamError::Connect)?;
        match *addresses {
            [address] => dialer.clone().dial(address).await,
            _ => self.first_of(dialer, &addresses).await,
        }
    }

    /// A connection to the address that answers first. Each has a head start before the next one is tried beside it, so that one
    /// where nobody answers costs little time and does not hide the next.
    async fn first_of(
        &self,
        dialer: &Dialer,
        addresses: &[SocketAddr],
    ) -> Result<(UpstreamIo, bool), UpstreamError> {
        let mut tries = JoinSet::new();
        let mut failed = UpstreamError::Connect(io::Error::other("the host name has no address"));
        for address in addresses {
            tries.spawn(dialer.clone().dial(*address));
            tokio::select! {
                () = sleep(self.head_start) => {}
                ended = first(&mut tries, &mut failed) => if let Some(connected) = ended { return Ok(connected) },
            }
        }
        while !tries.is_empty() {
            if let Some(connected) = first(&mut tries, &mut failed).await {
                return Ok(connected);
            }
        }
        Err(failed)
    }
}

/// Waits for the end of a try: a connection, or nothing and the reason.
async fn first(
    tries: &mut JoinSet<Result<(UpstreamIo, bool), UpstreamError>>,
    failed: &mut UpstreamError,
) -> Option<(UpstreamIo, bool)> {
    match tries.join_next().await? {
        Ok(Ok(connected)) => return Some(connected),
        // Of several reasons, the one of an upstream that was reached is told.
        Ok(Err(why)) if !matches!(failed, UpstreamError::Tls(_)) => *failed = why,
        Ok(Err(_)) | Err(_) => {}
    }
    None
}

impl Dialer {
    async fn dial(self, peer: SocketAddr) -> Result<(UpstreamIo, bool), UpstreamError> {
        let tcp = TcpStream::connect(peer).await.map_err(UpstreamError::Connect)?;
        // Small requests are not to wait for the acknowledgement of the ones before.
        tcp.set_nodelay(true).map_err(UpstreamError::Connect)?;
        let Some((connector, name)) = &self.tls else {
            return Ok((self.opened(Kind::Plain(tcp), peer), false));
        };
        let tls = connector.connect(name.clone(), tcp).await.map_err(UpstreamError::Tls)?;
        let http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok((self.opened(Kind::Tls(Box::new(tls)), peer), http2))
    }

    fn opened(&self, kind: Kind, peer: SocketAddr) -> UpstreamIo {
        self.metrics.upstream_open.inc();
        UpstreamIo { kind, peer, metrics: Arc::clone(&self.metrics) }
    }
}

fn tls(upstream: &Upstream, protocol: Protocol) -> Result<(TlsConnector, ServerName<'static>), String> {
    let mut roots = RootCertStore::empty();
    match &upstream.ca {
        Some(file) => {
            let unreadable = |error| format!("{file} has no PEM certificates: {error}");
            for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
                let certificate = certificate.map_err(unreadable)?;
                roots.add(certificate).map_err(|error| format!("a certificate in {file}: {error}"))?;
            }
        }
        None => {
            let (_, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err("there is no certificate to trust the upstream by: install the system's, or name a \
                    file with `upstream.ca`"
            .into());
    }
    let host = upstream.host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host.clone());
    let name = name.map_err(|_| format!("`{host}` is not a valid name for a certificate"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = match protocol {
        Protocol::Auto => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        Protocol::Http1 => vec![b"http/1.1".to_vec()],
        Protocol::Http2 => vec![b"h2".to_vec()],
    };
    Ok((TlsConnector::from(Arc::new(config)), name))
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connector({:?})", self.addresses)
    }
}

impl Drop for UpstreamIo {
    fn drop(&mut self) {
        self.metrics.upstream_open.dec();
    }
}

impl AsyncRead for UpstreamIo {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().kind {
            Kind::Plain(plain) => Pin::new(plain).poll_read(cx, buf),
            Kind::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for UpstreamIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().kind {
            Kind::Plain(plain) => Pin::new(plain).poll_write(cx, buf),
            Kind::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().kind {
            Kind::Plain(plain) => Pin::new(plain).poll_write_vectored(cx, bufs),
            Kind::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.kind {
            Kind::Plain(plain) => plain.is_write_vectored(),
            Kind::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().kind {
            Kind::Plain(plain) => Pin::new(plain).poll_flush(cx),
            Kind::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().kind {
            Kind::Plain(plain) => Pin::new(plain).poll_shutdown(cx),
            Kind::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests;
