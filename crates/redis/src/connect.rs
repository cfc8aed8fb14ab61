//! A new connection to the server: name, socket, TLS, password, database, first word. Nothing is asked of it here.
//! Where secrets come from is `secrets.rs`.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::AlertDescription;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;

use crate::address::Place;
use crate::resp::{self, Frame};
use crate::secrets::{Fresh, Secrets};
use crate::{Address, Cause, LinkError, OpenError, Settings};

/// Makes connections to one address.
pub(crate) struct Connector {
    address: Address,
    secrets: Secrets,
    /// How long a connection may take.
    limit: Duration,
}

/// Why there is no connection, or none any more.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) cause: Cause,
    pub(crate) message: String,
}

/// A connection, as bytes in both directions.
pub(crate) struct Stream(Pin<Box<dyn Bytes>>);

trait Bytes: AsyncRead + AsyncWrite + Send {}
impl<T: AsyncRead + AsyncWrite + Send> Bytes for T {}

impl Connector {
    /// # Errors
    /// When there is no certificate to trust, the host is no name that a certificate could have, or a file cannot be used.
    pub(crate) fn new(address: Address, settings: &Settings) -> Result<Self, OpenError> {
        let secrets = Secrets::new(&address, settings)?;
        Ok(Self { address, secrets, limit: settings.connect_timeout })
    }

    /// A connection on which the server has said its first word.
    pub(crate) async fn connect(&self) -> Result<Stream, Failed> {
        let fresh = self.secrets.fresh().await?;
        match self.address.place() {
            Place::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(|error| Failed::of(&error))?;
                self.greeted(Stream::new(stream), &fresh).await
            }
            Place::Tcp { host, port, .. } => {
                // The name is looked up each time: it may lead elsewhere by now.
                let found = lookup_host((host.as_str(), *port)).await;
                let found = found.map_err(|error| Failed::new(Cause::Dns, &error.to_string()))?;
                self.first_of(&found.collect::<Vec<_>>(), &fresh).await
            }
        }
    }

    /// The first address of a host where a server speaks. Each has its share of the time, so that one where nobody answers does not hide
    /// the next; nor one that takes connections and says nothing.
    async fn first_of(&self, addresses: &[SocketAddr], fresh: &Fresh) -> Result<Stream, Failed> {
        let mut failed = Failed::new(Cause::Dns, "the host has no address");
        let share = self.limit / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
        for address in addresses {
            failed = match timeout(share, self.connect_to(*address, fresh)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(failed)) if failed.is_silent() => failed,
                // It is there, and says why not.
                Ok(Err(failed)) => return Err(failed),
                Err(_) => Failed::new(Cause::ConnectTimeout, "the server took too long"),
            };
        }
        Err(failed)
    }

    async fn connect_to(&self, address: SocketAddr, fresh: &Fresh) -> Result<Stream, Failed> {
        let tcp = TcpStream::connect(address).await.map_err(|error| Failed::of(&error))?;
        // Small calls are not to wait for the acknowledgement of the ones before.
        tcp.set_nodelay(true).map_err(|error| Failed::of(&error))?;
        let stream = match &fresh.tls {
            None => Stream::new(tcp),
            Some((connector, name)) => {
                let tls = connector.connect(name.clone(), tcp).await;
                Stream::new(tls.map_err(|error| Failed::of(&error))?)
            }
        };
        self.greeted(stream, fresh).await
    }

    async fn greeted(&self, mut stream: Stream, fresh: &Fresh) -> Result<Stream, Failed> {
        self.greet(&mut stream, fresh).await?;
        Ok(stream)
    }

    /// Says who we are and which database we want, and waits for the answers.
    ///
    /// `PING` comes last, so that a server that is frozen, loads, wants a password or turns us away shows it before a caller pays
    /// for it.
    async fn greet(&self, stream: &mut Stream, fresh: &Fresh) -> Result<(), Failed> {
        let mut bytes = Vec::new();
        let mut required = 0;
        if let Some((user, password)) = &fresh.credentials {
            let words: Vec<_> = ["AUTH"].into_iter().chain(user.as_deref()).chain([&**password]).collect();
            bytes.extend_from_slice(&resp::command(&words));
            required += 1;
        }
        if self.address.database() != 0 {
            bytes.extend_from_slice(&resp::command(&["SELECT", &self.address.database().to_string()]));
            required += 1;
        }
        bytes.extend_from_slice(&resp::command(&["PING"]));
        // One that turns us away may have closed before it was greeted; what it said is there all the same.
        let written = write(stream, &bytes).await;
        let mut input = Vec::new();
        for at in 0..=required {
            let frame = answer(stream, &mut input).await;
            // What TLS has to say is why nothing more could be written.
            let frame = frame.map_err(|failed| {
                let unwritten = written.clone().err().filter(|_| !failed.is_by_tls());
                unwritten.unwrap_or(failed)
            })?;
            let Frame::Error(line) = frame else { continue };
            if at < required || !is_welcome(&line) {
                // A server that does not know `AUTH` repeats its words.
                let repeats = at == 0 && fresh.credentials.is_some() && !line.starts_with(FULL);
                let said = if repeats { line.split(' ').next().unwrap_or_default() } else { &line };
                return Err(Failed::new(Cause::of_line(&line), said));
            }
        }
        written?;
        if input.is_empty() { Ok(()) } else { Err(Failed::new(Cause::Garbled, "answers to nothing")) }
    }
}

/// What a server says to a new connection, instead of an answer, when it has as many as it may have.
const FULL: &str = "ERR max number of clients";

/// Whether a server that gives this error to `PING` serves all the same: the user lacks that right, or it has no such command, or it cannot
/// save, which it says to every call that writes. Any other error is said to everybody, or to this connection.
fn is_welcome(line: &str) -> bool {
    matches!(Cause::of_line(line), Cause::NoPerm | Cause::Misconf) || line.starts_with("ERR unknown command")
}

async fn write(stream: &mut Stream, bytes: &[u8]) -> Result<(), Failed> {
    stream.write_all(bytes).await.map_err(|error| Failed::of(&error))?;
    stream.flush().await.map_err(|error| Failed::of(&error))
}

/// The next frame.
async fn answer(stream: &mut Stream, input: &mut Vec<u8>) -> Result<Frame, Failed> {
    loop {
        match resp::frame(input) {
            Ok(Some((frame, length))) => {
                input.drain(..length);
                return Ok(frame);
            }
            Ok(None) => {}
            Err(garbled) => return Err(Failed::new(Cause::Garbled, garbled.0)),
        }
        if stream.read_buf(input).await.map_err(|error| Failed::of(&error))? == 0 {
            return Err(Failed::new(Cause::Closed, "the server closed a new connection"));
        }
    }
}

impl Failed {
    pub(crate) fn new(cause: Cause, message: &str) -> Self {
        Self { cause, message: message.to_owned() }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the system has more kinds of errors than we have names"
    )]
    pub(crate) fn of(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        // Also after the handshake: that is when a server says that it wants a certificate of ours.
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Self::by_tls(error);
        }
        // A socket's file that is not there is a server that is not there.
        let cause = match error.kind() {
            Kind::ConnectionRefused | Kind::NotFound => Cause::Refused,
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof
            | Kind::WriteZero => Cause::Closed,
            Kind::TimedOut | Kind::HostUnreachable | Kind::NetworkUnreachable => Cause::ConnectTimeout,
            _ => Cause::Io,
        };
        Self::new(cause, &error.to_string())
    }

    fn by_tls(error: &rustls::Error) -> Self {
        use AlertDescription as Alert;
        // An alert that came is about us: what is wrong with its own certificate a server is not told by itself.
        match error {
            rustls::Error::AlertReceived(Alert::CertificateRequired) => Self::new(
                Cause::Certificate,
                "the server wants a certificate of ours and was given none: name the files with one and with its key",
            ),
            rustls::Error::AlertReceived(
                Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA
                | Alert::AccessDenied
                | Alert::DecryptError,
            ) => {
                Self::new(Cause::Certificate, &format!("the server does not accept our certificate: {error}"))
            }
            other => Self::new(Cause::Tls, &other.to_string()),
        }
    }

    const fn is_by_tls(&self) -> bool {
        matches!(self.cause, Cause::Tls | Cause::Certificate)
    }

    /// Whether no server said anything.
    const fn is_silent(&self) -> bool {
        matches!(self.cause, Cause::Refused | Cause::Closed | Cause::ConnectTimeout | Cause::Io)
    }

    pub(crate) fn unreachable(&self) -> LinkError {
        LinkError::unreachable(self.cause, &self.message)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failed {}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connector({})", self.address)
    }
}

impl Stream {
    pub(crate) fn new(bytes: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        Self(Box::pin(bytes))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::{TcpListener, TcpSocket};

    /// As whoever connects bounds it.
    const LIMIT: Duration = Duration::from_secs(4);

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    fn connector(limit: Duration) -> Connector {
        let address = "redis://a.host".parse().unwrap();
        Connector::new(address, &Settings { connect_timeout: limit, ..Settings::default() }).unwrap()
    }

    /// A server that answers whatever it is told with this.
    async fn speaking(line: &'static [u8]) -> SocketAddr {
        let server = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = server.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = server.accept().await {
                let mut read = [0; 64];
                let _ = stream.read(&mut read).await;
                let _ = stream.write_all(line).await;
            }
        });
        address
    }

    async fn tried(addresses: &[SocketAddr]) -> Result<(), Cause> {
        let tried =
            timeout(LIMIT, connector(LIMIT).first_of(addresses, &Fresh::default())).await.expect("in time");
        tried.map(drop).map_err(|failed| failed.cause)
    }

    #[test]
    fn an_address_where_nobody_answers_does_not_hide_the_next_one() {
        run(async {
            let local = SocketAddr::from(([127, 0, 0, 1], 0));
            // It accepts nobody, and when as many wait as may the system does not answer any more.
            let silent = TcpSocket::new_v4().unwrap();
            silent.bind(local).unwrap();
            let silent = silent.listen(1).unwrap();
            let (full, short) = (silent.local_addr().unwrap(), Duration::from_millis(200));
            let mut waiting = Vec::new();
            while let Ok(stream) = timeout(short, TcpStream::connect(full)).await {
                waiting.push(stream.unwrap());
            }
            let good = speaking(b"+PONG\r\n").await;
            assert_eq!(tried(&[full, good]).await, Ok(()));
            let failed = connector(short).first_of(&[full], &Fresh::default()).await.map(drop).unwrap_err();
            assert_eq!(failed.cause, Cause::ConnectTimeout);
        });
    }

    #[test]
    fn an_address_that_takes_connections_and_says_nothing_does_not_hide_the_next_one() {
        run(async {
            let mute = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let mute = (mute.local_addr().unwrap(), mute);
            let (good, closing) = (speaking(b"+PONG\r\n").await, speaking(b"").await);
            assert_eq!(tried(&[mute.0, closing, good]).await, Ok(()));
            assert_eq!(tried(&[mute.0, closing]).await, Err(Cause::Closed));
        });
    }

    #[test]
    fn what_a_server_says_is_told_and_nobody_else_is_asked() {
        run(async {
            let (loading, good) = (speaking(b"-LOADING soon\r\n").await, speaking(b"+PONG\r\n").await);
            assert_eq!(tried(&[loading, good]).await, Err(Cause::Loading));
            assert_eq!(tried(&[]).await, Err(Cause::Dns));
        });
    }
}
