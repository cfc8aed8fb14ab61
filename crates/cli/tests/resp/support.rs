//! An endpoint with a clock that tests move, and a client that sees every byte.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tollgate::{Clock, Limiter, ManualClock, Micros};
use tollgate_cli::doors::resp::Endpoint;
use tollgate_resp::{Bounds, Value, parse_value};
use tollgate_testing::patience::PATIENCE;

/// What replies of tests may take.
const REPLY_BOUNDS: Bounds =
    Bounds { elements: 100_000, bulk_bytes: 1 << 20, total_bytes: 1 << 24, line_bytes: 1 << 16, depth: 16 };

/// An endpoint that serves until it is dropped.
pub(crate) struct Served {
    pub(crate) clock: ManualClock,
    pub(crate) limiter: Limiter,
    pub(crate) endpoint: Endpoint,
    server: Option<Server>,
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::with(|endpoint| endpoint)
    }

    pub(crate) fn with(change: impl FnOnce(Endpoint) -> Endpoint) -> Self {
        let clock = Clock::manual(Micros::from_secs(1_000_000));
        let limiter = Limiter::builder().clock(clock.clock()).build().unwrap();
        Self::of(limiter, clock, change)
    }

    pub(crate) fn of(
        limiter: Limiter,
        clock: ManualClock,
        change: impl FnOnce(Endpoint) -> Endpoint,
    ) -> Self {
        let endpoint = change(Endpoint::new(limiter.clone(), "tests"));
        let server = Some(Server::start(&endpoint));
        Self { clock, limiter, endpoint, server }
    }

    pub(crate) fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.server.as_ref().unwrap().port
    }

    pub(crate) fn client(&self) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, unread: Vec::new() }
    }
}

/// Accepts connections as the listener of endpoints does, on two threads.
struct Server {
    port: u16,
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Server {
    fn start(endpoint: &Endpoint) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (port, stop) = (listener.local_addr().unwrap().port(), watch::channel(false).0);
        let (endpoint, mut stopped) = (endpoint.clone(), stop.subscribe());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let mut connections = JoinSet::new();
                loop {
                    let (stream, peer) = tokio::select! {
                        accepted = listener.accept() => accepted.unwrap(),
                        _ = stopped.wait_for(|stop| *stop) => break,
                    };
                    let (endpoint, stop) = (endpoint.clone(), stopped.clone());
                    connections.spawn(async move {
                        let open = &endpoint.endpoint_metrics().connections_open;
                        open.inc();
                        endpoint.serve(stream, peer.to_string(), stop).await;
                        open.dec();
                    });
                }
                while connections.join_next().await.is_some() {}
            });
        });
        Self { port, stop, thread }
    }

    fn stop(self) {
        self.stop.send_replace(true);
        self.thread.join().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    unread: Vec<u8>,
}

impl Client {
    /// Sends a command, words between spaces, and returns the reply.
    pub(crate) fn ask(&mut self, command: &str) -> Value {
        self.send(&packed(&command.split(' ').collect::<Vec<_>>()));
        self.reply()
    }

    /// The same, with the reply as a person reads it.
    pub(crate) fn said(&mut self, command: &str) -> String {
        shown(&self.ask(command))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn reply(&mut self) -> Value {
        self.reply_or_end().expect("the connection is open")
    }

    /// The next reply; `None` if the connection has ended.
    pub(crate) fn reply_or_end(&mut self) -> Option<Value> {
        loop {
            if let Some((value, length)) = parse_value(&self.unread, &REPLY_BOUNDS).unwrap() {
                self.unread.drain(..length);
                return Some(value);
            }
            let mut piece = [0; 65_536];
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(read) => self.unread.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no reply: {error}"),
            }
        }
    }
}

/// A command as clients send it.
pub(crate) fn packed(words: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// A reply in short: `0 16 15 -1 2`, `OK`, `-ERR what`, `{granted: true}`.
pub(crate) fn shown(value: &Value) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match value {
        Value::Simple(bytes) | Value::Bulk(bytes) | Value::Number(bytes) => text(bytes),
        Value::Error(bytes) => format!("-{}", text(bytes)),
        Value::Integer(number) => number.to_string(),
        Value::Null => "null".into(),
        Value::Boolean(value) => value.to_string(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(" "),
        Value::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| format!("{}: {}", shown(key), shown(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}
