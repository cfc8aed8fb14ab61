//! A new connection to the upstream, with TLS or without. What is sent over it is not known here.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::UpstreamError;
use crate::gateway::metrics::WorkerMetrics;
use crate::settings::{Protocol, Upstream};

/// Makes connections.
pub(crate) struct Connector {
    metrics: Arc<WorkerMetrics>,
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// A connection to the upstream, as bytes. It is counted as long as it is open.
#[derive(Debug)]
pub(crate) struct Wire {
    kind: Kind,
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
impl Wire {
    /// A connection without TLS that is counted nowhere else.
    pub(crate) fn plain(tcp: TcpStream) -> Self {
        Self { kind: Kind::Plain(tcp), metrics: Arc::default() }
    }
}

impl Connector {
    /// # Errors
    /// When the certificates to trust cannot be read, or the host is no name for TLS.
    pub(crate) fn new(upstream: &Upstream, metrics: Arc<WorkerMetrics>) -> Result<Self, String> {
        let tls = if upstream.tls { Some(tls(upstream)?) } else { None };
        Ok(Self { metrics, host: upstream.host.clone(), port: upstream.port, tls })
    }

    /// Whether connections have TLS.
    pub(crate) const fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// A new connection, and whether HTTP/2 was agreed on.
    pub(crate) async fn connect(&self) -> Result<(Wire, bool), UpstreamError> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let tcp = TcpStream::connect((host, self.port)).await.map_err(UpstreamError::Connect)?;
        // Small requests are not to wait for the acknowledgement of the ones before.
        tcp.set_nodelay(true).map_err(UpstreamError::Connect)?;
        let Some((connector, name)) = &self.tls else {
            return Ok((self.opened(Kind::Plain(tcp)), false));
        };
        let tls = connector.connect(name.clone(), tcp).await.map_err(UpstreamError::Tls)?;
        let http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok((self.opened(Kind::Tls(Box::new(tls))), http2))
    }

    fn opened(&self, kind: Kind) -> Wire {
        self.metrics.upstream_open.inc();
        Wire { kind, metrics: Arc::clone(&self.metrics) }
    }
}

fn tls(upstream: &Upstream) -> Result<(TlsConnector, ServerName<'static>), String> {
    let mut roots = RootCertStore::empty();
    match &upstream.ca {
        Some(file) => {
            let unreadable = |error| format!("{file} holds no certificates in PEM: {error}");
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
    let name = name.map_err(|_| format!("`{host}` is no name that a certificate could have"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = match upstream.protocol {
        Protocol::Auto => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        Protocol::Http1 => vec![b"http/1.1".to_vec()],
        Protocol::Http2 => vec![b"h2".to_vec()],
    };
    Ok((TlsConnector::from(Arc::new(config)), name))
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connector({}:{})", self.host, self.port)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.metrics.upstream_open.dec();
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().kind {
            Kind::Plain(plain) => Pin::new(plain).poll_read(cx, buf),
            Kind::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Wire {
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
