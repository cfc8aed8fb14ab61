//! Peers that behave: an upstream and clients that speak HTTP/1.1 and HTTP/2, with TLS or without. No test is in here.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::support::{PATIENCE, folder};

/// A body of whatever kind.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Runs a future on a runtime of its own, with patience.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system gives a runtime");
    runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await.expect("nothing takes so long") })
}

/// A body that is there already.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> AnyBody {
    Full::new(bytes.into()).map_err(Into::into).boxed_unsync()
}

/// No body.
pub(crate) fn nothing() -> AnyBody {
    Empty::new().map_err(Into::into).boxed_unsync()
}

/// A body whose pieces are sent one by one.
struct Pieces(mpsc::Receiver<Frame<Bytes>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(Ok))
    }
}

/// A body, and the way to send its pieces. It ends when the sender is gone, and the sender is closed when it is.
pub(crate) fn pieces() -> (mpsc::Sender<Frame<Bytes>>, AnyBody) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, Pieces(receiver).map_err(Into::into).boxed_unsync())
}

/// A piece of a body.
pub(crate) fn data(bytes: impl Into<Bytes>) -> Frame<Bytes> {
    Frame::data(bytes.into())
}

/// The end of a body that has trailers.
pub(crate) fn trailers(name: &'static str, value: &'static str) -> Frame<Bytes> {
    let mut trailers = HeaderMap::new();
    trailers.insert(name, HeaderValue::from_static(value));
    Frame::trailers(trailers)
}

/// How an upstream answers.
pub(crate) type Handler = Arc<dyn Fn(Request<Incoming>) -> Response<AnyBody> + Send + Sync>;

/// What all connections of an upstream are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// Nothing.
    Nothing,
    /// To finish what was begun, and to go: over HTTP/2 with GOAWAY.
    Leave,
    /// To go at once.
    Cut,
}

/// An upstream that speaks HTTP/1.1 and HTTP/2, whichever comes.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    told: watch::Sender<Told>,
}

impl Service {
    /// One that answers like this, with a certificate or without.
    pub(crate) fn new(handler: Handler, certificate: Option<&Certificate>) -> Self {
        Self::narrow(handler, certificate, None)
    }

    /// The same, with so many streams of HTTP/2 at once on a connection.
    pub(crate) fn narrow(
        handler: Handler,
        certificate: Option<&Certificate>,
        streams: impl Into<Option<u32>>,
    ) -> Self {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        if let Some(streams) = streams.into() {
            builder.http2().max_concurrent_streams(streams);
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        listener.set_nonblocking(true).expect("a listener has modes");
        let address = listener.local_addr().expect("it is bound");
        let acceptor = certificate.map(Certificate::acceptor);
        let (told, hears) = watch::channel(Told::Nothing);
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("the system gives a runtime").block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("it is a listener");
                while let Ok((tcp, _)) = listener.accept().await {
                    count.fetch_add(1, Ordering::SeqCst);
                    let mut hears = hears.clone();
                    hears.mark_unchanged();
                    let (handler, acceptor) = ((builder.clone(), Arc::clone(&handler)), acceptor.clone());
                    tokio::spawn(async move {
                        match acceptor {
                            None => speak(tcp, handler, hears).await,
                            Some(acceptor) => {
                                if let Ok(tls) = acceptor.accept(tcp).await {
                                    speak(tls, handler, hears).await;
                                }
                            }
                        }
                    });
                }
            });
        });
        Self { address, connections, told }
    }

    /// How many connections there have been.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Tells the connections that there are.
    pub(crate) fn tell(&self, what: Told) {
        self.told.send_replace(what);
    }
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    (builder, handler): (auto::Builder<TokioExecutor>, Handler),
    mut hears: watch::Receiver<Told>,
) {
    let service = service_fn(move |request| {
        let response = handler(request);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            Ok(()) = hears.changed() => match *hears.borrow_and_update() {
                Told::Nothing => {}
                Told::Leave => connection.as_mut().graceful_shutdown(),
                Told::Cut => return,
            }
        }
    }
}

/// An upstream that speaks HTTP/2, and answers a request when it has read all of it.
pub(crate) fn patient() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.set_nonblocking(true).expect("a listener has modes");
    let address = listener.local_addr().expect("it is bound");
    let answer = |request: Request<Incoming>| async {
        request.into_body().collect().await.map(|_| Response::new(nothing()))
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("the system gives a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("it is a listener");
            while let Ok((tcp, _)) = listener.accept().await {
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(TokioIo::new(tcp), service_fn(answer)));
            }
        });
    });
    address
}

/// Sends back what came, trailers and all, and how it came.
pub(crate) fn echo() -> Handler {
    Arc::new(|request| {
        let version = format!("{:?}", request.version());
        let authority = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let declared = request.headers().get("trailer").cloned();
        let mut response = Response::new(request.into_body().map_err(Into::into).boxed_unsync());
        let headers = response.headers_mut();
        headers.insert("x-version", HeaderValue::try_from(version).expect("it is text"));
        headers.insert("x-authority", HeaderValue::try_from(authority).expect("it is text"));
        if let Some(declared) = declared {
            headers.insert("trailer", declared);
        }
        response
    })
}

/// A certificate of its own, signed by itself, for this machine, and the files that it is in.
pub(crate) struct Certificate {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".into(), "127.0.0.1".into()]);
        let made = made.expect("a certificate can be made");
        let folder = folder();
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        std::fs::write(&certificate, made.cert.pem()).expect("a temporary folder can be written");
        std::fs::write(&key, made.signing_key.serialize_pem()).expect("a temporary folder can be written");
        Self { certificate, key }
    }

    fn acceptor(&self) -> TlsAcceptor {
        let chain = vec![CertificateDer::from_pem_file(&self.certificate).expect("it was written")];
        let key = PrivateKeyDer::from_pem_file(&self.key).expect("it was written");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions are known").with_no_client_auth();
        let mut config = config.with_single_cert(chain, key).expect("they go together");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }

    /// A client's settings that trust it, and speak these protocols.
    pub(crate) fn trusted(&self, protocols: &[&str]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_file(&self.certificate).expect("it was written"))
            .expect("it is one");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config =
            config.expect("versions are known").with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config
    }

    /// A connection with TLS, trusting it.
    pub(crate) async fn connect(
        &self,
        address: SocketAddr,
        protocols: &[&str],
    ) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let connector = TlsConnector::from(Arc::new(self.trusted(protocols)));
        let name = ServerName::try_from("localhost").expect("it is a name");
        connector.connect(name, TcpStream::connect(address).await?).await
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        if let Some(folder) = self.certificate.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Speaks HTTP/2 over a connection.
pub(crate) async fn speak_http2(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> http2::SendRequest<AnyBody> {
    let made = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = made.expect("it speaks HTTP/2");
    tokio::spawn(async move { drop(connection.await) });
    sender
}

/// Speaks HTTP/1.1 over a connection.
pub(crate) async fn speak_http1(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> http1::SendRequest<AnyBody> {
    let made = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = made.expect("it speaks HTTP/1.1");
    tokio::spawn(async move { drop(connection.await) });
    sender
}

/// A client that speaks HTTP/2 without TLS.
pub(crate) async fn client_http2(address: SocketAddr) -> http2::SendRequest<AnyBody> {
    speak_http2(TcpStream::connect(address).await.expect("it listens")).await
}

/// A client that speaks HTTP/1.1 without TLS.
pub(crate) async fn client_http1(address: SocketAddr) -> http1::SendRequest<AnyBody> {
    speak_http1(TcpStream::connect(address).await.expect("it listens")).await
}

/// A request, as HTTP/2 and HTTP/1.1 clients both can send it.
pub(crate) fn request(method: Method, path: &str, body: AnyBody) -> Request<AnyBody> {
    let request = Request::builder().method(method).uri(format!("http://api.example.org{path}"));
    request.header("te", "trailers").header("host", "api.example.org").body(body).expect("it is a request")
}

/// A whole body, as text, and its trailers.
pub(crate) async fn read(response: Response<Incoming>) -> (String, Option<HeaderMap>) {
    let collected = response.into_body().collect().await.expect("it comes whole");
    let trailers = collected.trailers().cloned();
    (String::from_utf8_lossy(&collected.to_bytes()).into_owned(), trailers)
}
