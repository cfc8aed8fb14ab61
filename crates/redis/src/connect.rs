//! Opens a connection to the server: Sentinel, DNS, socket, TLS, password, database, handshake.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout_at};

use crate::address::{Node, Place};
use crate::dns::Lookup;
use crate::failed::ConnectionFailure;
use crate::resp::{self, Frame};
use crate::secrets::{LoadedSecrets, Secrets};
use crate::sentinel::Sentinels;
use crate::tls::server_name;
use crate::{Address, Cause, OpenError, Settings};

/// Makes connections to one address.
pub(crate) struct Connector {
    address: Address,
    secrets: Secrets,
    way: Way,
    /// How long a connection may take.
    limit: Duration,
}

/// How the server of an address is found.
enum Way {
    /// It is a socket in the file system.
    Socket,
    /// It is on one of these hosts: the first that answers.
    Hosts(Vec<Host>),
    /// Sentinels know where it is.
    Sentinels(Sentinels),
}

/// A host, and where it is.
pub(crate) struct Host {
    name: String,
    lookup: Lookup,
}

/// What a new connection is for, which decides what is said on it first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    /// A server with data.
    Data,
    /// A Sentinel without a password.
    Sentinel,
    /// A Sentinel that wants the password.
    LockedSentinel,
}

/// A connection, as bytes in both directions.
pub(crate) struct Stream(Pin<Box<dyn Bytes>>);

/// How long a TCP connection may be idle before the system asks the server's system whether it is still there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);
/// How long the system waits before it asks again.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
/// How many times it asks before it closes the connection.
const KEEPALIVE_TRIES: u32 = 3;

/// The name under which `CLIENT LIST` on the server shows our connections.
const CLIENT_NAME: &str = "tollgate";

trait Bytes: AsyncRead + AsyncWrite + Send {}
impl<T: AsyncRead + AsyncWrite + Send> Bytes for T {}

impl Connector {
    /// # Errors
    /// When there is no certificate to trust, the host is no name that a certificate could have, or a file cannot be used.
    pub(crate) fn new(address: Address, settings: &Settings) -> Result<Self, OpenError> {
        let secrets = Secrets::new(&address, settings)?;
        let way = match address.place() {
            Place::Tcp { host, port, .. } => {
                Way::Hosts(vec![Host::new(&Node { host: host.clone(), port: *port })])
            }
            Place::Unix(_) => Way::Socket,
            Place::Sentinel { sentinels, name, .. } => Way::Sentinels(Sentinels::new(sentinels, name)),
            Place::Cluster { seeds, .. } => Way::Hosts(seeds.iter().map(Host::new).collect()),
        };
        Ok(Self { address, secrets, way, limit: settings.connect_timeout })
    }

    /// A connection on which the server has said its first word. It takes no longer than it may, and says what took too long.
    pub(crate) async fn connect(&self) -> Result<Stream, ConnectionFailure> {
        let end = Instant::now() + self.limit;
        let late = |_| Err(ConnectionFailure::new(Cause::File, "reading the store's secret files timed out"));
        let fresh = timeout_at(end, self.secrets.fresh()).await.unwrap_or_else(late)?;
        match &self.way {
            Way::Socket => self.to_socket(&fresh, end).await,
            Way::Hosts(hosts) => {
                let mut failed = ConnectionFailure::new(Cause::Dns, "the store address has no host");
                let share = self.limit / u32::try_from(hosts.len().max(1)).unwrap_or(u32::MAX);
                for host in hosts {
                    let end = end.min(Instant::now() + share);
                    failed = match self.to_host(host, &fresh, (share, end), Peer::Data).await {
                        Ok(stream) => return Ok(stream),
                        Err(failed) => failed,
                    };
                }
                Err(failed)
            }
            Way::Sentinels(sentinels) => {
                let connected = timeout_at(end, sentinels.primary(self, &fresh, (self.limit, end)));
                connected.await.unwrap_or_else(|_| Err(ConnectionFailure::late(self.limit)))
            }
        }
    }

    async fn to_socket(&self, fresh: &LoadedSecrets, end: Instant) -> Result<Stream, ConnectionFailure> {
        let Place::Unix(path) = self.address.place() else {
            return Err(ConnectionFailure::new(Cause::Io, "the store address has no path"));
        };
        let connected = timeout_at(end, async {
            let stream = UnixStream::connect(path).await.map_err(|error| ConnectionFailure::of(&error))?;
            self.greeted(Stream::new(stream), fresh, Peer::Data).await
        });
        connected.await.unwrap_or_else(|_| Err(ConnectionFailure::late(self.limit)))
    }

    /// A connection to a host, within a share of the time.
    pub(crate) async fn to_host(
        &self,
        host: &Host,
        fresh: &LoadedSecrets,
        (limit, end): (Duration, Instant),
        peer: Peer,
    ) -> Result<Stream, ConnectionFailure> {
        let late = |_| Err("the DNS lookup timed out".into());
        let found = timeout_at(end, host.lookup.addresses()).await.unwrap_or_else(late);
        let found = found.map_err(|why| ConnectionFailure::new(Cause::Dns, &why))?;
        self.first_of((&host.name, &found), fresh, (limit, end), peer).await
    }

    /// The first address of a host where a server speaks. Each has its share of the time, so that one where nobody answers does not hide
    /// the next; nor one that takes connections and says nothing.
    async fn first_of(
        &self,
        (host, addresses): (&str, &[SocketAddr]),
        fresh: &LoadedSecrets,
        (limit, end): (Duration, Instant),
        peer: Peer,
    ) -> Result<Stream, ConnectionFailure> {
        let mut failed = ConnectionFailure::new(Cause::Dns, "the host name has no address");
        let share = limit / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
        for address in addresses {
            failed = match self.connect_to((host, *address), fresh, (share, end), peer).await {
                Ok(stream) => return Ok(stream),
                Err(failed) if failed.is_silent() => failed,
                // It is there, and says why not.
                Err(failed) => return Err(failed),
            };
        }
        Err(failed)
    }

    /// Connects to one address within its share of the time, and before the end of all.
    async fn connect_to(
        &self,
        (host, address): (&str, SocketAddr),
        fresh: &LoadedSecrets,
        (share, end): (Duration, Instant),
        peer: Peer,
    ) -> Result<Stream, ConnectionFailure> {
        let end = end.min(Instant::now() + share);
        let tcp =
            timeout_at(end, TcpStream::connect(address)).await.map_err(|_| ConnectionFailure::late(share))?;
        let tcp = tcp.map_err(|error| ConnectionFailure::of(&error))?;
        tuned(&tcp).map_err(|error| ConnectionFailure::of(&error))?;
        let stream = match &fresh.tls {
            None => Stream::new(tcp),
            Some(connector) => {
                let name = server_name(host).map_err(|why| ConnectionFailure::new(Cause::Tls, &why))?;
                let tls = timeout_at(end, connector.connect(name, tcp)).await;
                let tls = tls.map_err(|_| ConnectionFailure::without_tls_answer(share))?;
                Stream::new(tls.map_err(|error| ConnectionFailure::of(&error))?)
            }
        };
        let greeted = timeout_at(end, self.greeted(stream, fresh, peer)).await;
        greeted.unwrap_or_else(|_| Err(ConnectionFailure::late(share)))
    }

    async fn greeted(
        &self,
        mut stream: Stream,
        fresh: &LoadedSecrets,
        peer: Peer,
    ) -> Result<Stream, ConnectionFailure> {
        self.greet(&mut stream, fresh, peer).await?;
        Ok(stream)
    }

    /// Says who we are and which database we want, and waits for the answers.
    ///
    /// `CLIENT SETNAME` may fail: the connection only lacks its name. `PING` comes last, so that a server that is frozen, loads, wants
    /// a password or turns us away shows it before a caller pays for it.
    async fn greet(
        &self,
        stream: &mut Stream,
        fresh: &LoadedSecrets,
        peer: Peer,
    ) -> Result<(), ConnectionFailure> {
        let mut bytes = Vec::new();
        let mut required = 0;
        let credentials = fresh.credentials.as_ref().filter(|_| peer != Peer::Sentinel);
        if let Some((user, password)) = credentials {
            let words: Vec<_> = ["AUTH"].into_iter().chain(user.as_deref()).chain([&**password]).collect();
            bytes.extend_from_slice(&resp::command(&words));
            required += 1;
        }
        if self.address.database() != 0 && peer == Peer::Data {
            bytes.extend_from_slice(&resp::command(&["SELECT", &self.address.database().to_string()]));
            required += 1;
        }
        bytes.extend_from_slice(&resp::command(&["CLIENT", "SETNAME", CLIENT_NAME]));
        bytes.extend_from_slice(&resp::command(&["PING"]));
        // One that turns us away may have closed before it was greeted; what it said is there all the same.
        let written = write(stream, &bytes).await;
        let mut input = Vec::new();
        let mut unnamed = None;
        for at in 0..=required + 1 {
            let frame = answer(stream, &mut input).await;
            let frame = frame.map_err(|failed| {
                // A server that turns us away answers the first command only, whatever that is, and closes the connection.
                if let Some(line) = unnamed.take().filter(|_| failed.cause == Cause::Closed) {
                    return ConnectionFailure::said(line);
                }
                // What TLS has to say is why nothing more could be written.
                let unwritten = written.clone().err().filter(|_| !failed.is_by_tls());
                unwritten.unwrap_or(failed)
            })?;
            let Frame::Error(line) = frame else { continue };
            if at == required {
                unnamed = Some(line);
            } else if at < required || !is_welcome(&line) {
                // A server that does not know `AUTH` repeats its words.
                let repeats = at == 0 && credentials.is_some() && !line.starts_with(FULL);
                let said = if repeats { line.split(' ').next().unwrap_or_default() } else { &line };
                return Err(ConnectionFailure::new(Cause::of_line(&line), said));
            }
        }
        written?;
        if input.is_empty() {
            Ok(())
        } else {
            Err(ConnectionFailure::new(Cause::Garbled, "answers to nothing"))
        }
    }
}

impl Host {
    pub(crate) fn new(node: &Node) -> Self {
        Self { name: node.host.clone(), lookup: Lookup::new(&node.host, node.port) }
    }
}

/// Sets a connection up: small calls do not wait for the acknowledgement of those before, and a server's machine that is gone is
/// noticed although nothing is asked.
fn tuned(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_EVERY);
    SockRef::from(tcp).set_tcp_keepalive(&keepalive.with_retries(KEEPALIVE_TRIES))
}

/// What a server says to a new connection, instead of an answer, when it has as many as it may have.
const FULL: &str = "ERR max number of clients";

/// Whether a server that gives this error to `PING` serves all the same: the user lacks that right, or it has no such command, or it cannot
/// save, which it says to every call that writes. Any other error is said to everybody, or to this connection.
pub(crate) fn is_welcome(line: &str) -> bool {
    matches!(Cause::of_line(line), Cause::NoPerm | Cause::Misconf) || line.starts_with("ERR unknown command")
}

async fn write(stream: &mut Stream, bytes: &[u8]) -> Result<(), ConnectionFailure> {
    stream.write_all(bytes).await.map_err(|error| ConnectionFailure::of(&error))?;
    stream.flush().await.map_err(|error| ConnectionFailure::of(&error))
}

/// Writes some bytes, and reads so many frames.
pub(crate) async fn exchange(
    stream: &mut Stream,
    bytes: &[u8],
    frames: usize,
    input: &mut Vec<u8>,
) -> Result<Vec<Frame>, ConnectionFailure> {
    write(stream, bytes).await?;
    let mut said = Vec::with_capacity(frames);
    for _ in 0..frames {
        said.push(answer(stream, input).await?);
    }
    Ok(said)
}

/// The next frame.
async fn answer(stream: &mut Stream, input: &mut Vec<u8>) -> Result<Frame, ConnectionFailure> {
    loop {
        match resp::frame(input) {
            Ok(Some((frame, length))) => {
                input.drain(..length);
                return Ok(frame);
            }
            Ok(None) => {}
            Err(garbled) => {
                return Err(ConnectionFailure::new(
                    Cause::Garbled,
                    another_protocol(input).unwrap_or(garbled.0),
                ));
            }
        }
        let read = stream.read_buf(input).await;
        if !matches!(read, Ok(1..))
            && let Some(protocol) = another_protocol(input)
        {
            return Err(ConnectionFailure::new(Cause::Garbled, protocol));
        }
        if read.map_err(|error| ConnectionFailure::of(&error))? == 0 {
            return Err(ConnectionFailure::new(Cause::Closed, "the server closed a new connection"));
        }
    }
}

/// Which other protocol a first answer belongs to, if it is one that we know.
fn another_protocol(input: &[u8]) -> Option<&'static str> {
    // A web server that takes our words for HTTP/0.9 answers with a page alone.
    let is_http = [&b"HTTP/"[..], b"<!", b"<h", b"<H"].iter().any(|start| input.starts_with(start));
    if is_http {
        return Some("the server speaks HTTP");
    }
    // An alert, of any version of TLS.
    input.starts_with(&[0x15, 0x03]).then_some("the server speaks TLS")
}

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
