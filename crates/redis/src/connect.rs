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
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout, timeout_at};

use crate::address::Place;
use crate::lookup::Lookup;
use crate::resp::{self, Frame};
use crate::secrets::{Fresh, Secrets};
use crate::{Address, Cause, LinkError, OpenError, Settings};

/// Makes connections to one address.
pub(crate) struct Connector {
    address: Address,
    secrets: Secrets,
    /// Where its host is, if it has one.
    lookup: Option<Lookup>,
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
        let lookup = match address.place() {
            Place::Tcp { host, port, .. } => Some(Lookup::new(host, *port)),
            Place::Unix(_) => None,
        };
        Ok(Self { address, secrets, lookup, limit: settings.connect_timeout })
    }

    /// A connection on which the server has said its first word. It takes no longer than it may, and says what took too long.
    pub(crate) async fn connect(&self) -> Result<Stream, Failed> {
        let end = Instant::now() + self.limit;
        let late =
            |_| Err(Failed::new(Cause::File, "the files with secrets for the store take too long to read"));
        let fresh = timeout_at(end, self.secrets.fresh()).await.unwrap_or_else(late)?;
        let addresses = match &self.lookup {
            None => None,
            Some(lookup) => {
                let late = |_| Err("the lookup of the host's name takes too long".into());
                let found = timeout_at(end, lookup.addresses()).await.unwrap_or_else(late);
                Some(found.map_err(|why| Failed::new(Cause::Dns, &why))?)
            }
        };
        let connected = timeout_at(end, async {
            match (self.address.place(), &addresses) {
                (Place::Unix(path), _) => {
                    let stream = UnixStream::connect(path).await.map_err(|error| Failed::of(&error))?;
                    self.greeted(Stream::new(stream), &fresh).await
                }
                (Place::Tcp { .. }, addresses) => {
                    self.first_of(addresses.as_deref().unwrap_or_default(), &fresh).await
                }
            }
        });
        connected.await.unwrap_or_else(|_| Err(Failed::late(self.limit)))
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
                Err(_) => Failed::late(share),
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

/// What a server says of a certificate of ours that it does not accept.
const NOT_ACCEPTED: [AlertDescription; 8] = [
    AlertDescription::BadCertificate,
    AlertDescription::UnsupportedCertificate,
    AlertDescription::CertificateRevoked,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateUnknown,
    AlertDescription::UnknownCA,
    AlertDescription::AccessDenied,
    AlertDescription::DecryptError,
];

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

    fn late(limit: Duration) -> Self {
        Self::new(Cause::ConnectTimeout, &format!("nothing was heard from the server for {limit:?}"))
    }

    fn by_tls(error: &rustls::Error) -> Self {
        // An alert that came is about us: what we think of the server's own certificate is another error.
        let alert = if let rustls::Error::AlertReceived(alert) = error { Some(*alert) } else { None };
        if alert == Some(AlertDescription::CertificateRequired) {
            return Self::new(
                Cause::Certificate,
                "the server wants a certificate of ours and was given none: name the files with one and with its key",
            );
        }
        if alert.is_some_and(|alert| NOT_ACCEPTED.contains(&alert)) {
            return Self::new(
                Cause::Certificate,
                &format!("the server does not accept our certificate: {error}"),
            );
        }
        Self::new(Cause::Tls, &error.to_string())
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
mod tests;
