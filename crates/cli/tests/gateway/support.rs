//! A gateway on a free port, an upstream that records what it got, and a client that sends bytes. No test is in here.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tollgate_cli::serve::{Stopper, start};
use tollgate_cli::settings::{Protocol, Settings, Upstream, UpstreamLimit};
use tollgate_testing::folder::Folder;
use tollgate_testing::patience::until;

/// Nothing here takes long; what does is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A policy with one small limit: 3 at once, by address, on `GET /limited`; and what is not limited.
pub(crate) const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /limited:
    get:
      x-rate-limit: { name: small, algorithm: token_bucket, capacity: 3, refill_rate: 0.001, consumer_key: ip }
  /free: { get: {}, post: {}, put: {}, head: {} }
  /free/{id}: { get: {}, post: {} }
";

/// A gateway that runs, until it is dropped.
pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) operations: Option<SocketAddr>,
    pub(crate) policy: PathBuf,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Rig {
    /// A gateway with this policy in front of this upstream, with settings as `change` leaves them.
    pub(crate) fn new(policy: &str, upstream: SocketAddr, change: impl FnOnce(&mut Settings)) -> Self {
        Self::logged(policy, upstream, change, io::sink())
    }

    /// As [`new`](Self::new), with lines that go to `log`.
    pub(crate) fn logged(
        policy: &str,
        upstream: SocketAddr,
        change: impl FnOnce(&mut Settings),
        log: impl Write + Send + 'static,
    ) -> Self {
        let file = folder().join("openapi.yaml");
        std::fs::write(&file, policy).expect("a temporary folder can be written");
        let host = upstream.ip().to_string();
        let upstream = Upstream {
            tls: false,
            host,
            port: upstream.port(),
            protocol: Protocol::Auto,
            ca: None,
            idle_max: 16,
            lookup: None,
            adaptive: UpstreamLimit::default(),
        };
        let mut settings = Settings::new(file.to_str().expect("it is UTF-8"), upstream);
        settings.listen = vec![([127, 0, 0, 1], 0).into()];
        settings.operations = None;
        settings.workers = Some(1);
        change(&mut settings);
        let running = start(settings, log).unwrap_or_else(|why| panic!("it starts: {why:?}"));
        let (address, operations) = (running.addresses()[0], running.operations());
        let stopper = running.stopper();
        let thread = Some(std::thread::spawn(move || running.run()));
        Self { address, operations, policy: file, stopper, thread }
    }

    /// Tells it to stop. It drains; see [`ended`](Self::ended).
    pub(crate) fn stop(&self) {
        self.stopper.stop();
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Result<(), String> {
        let thread = self.thread.take().expect("it is waited for once");
        until("the gateway ends", || thread.is_finished());
        thread.join().expect("it does not panic")
    }

    /// A number of its metrics, where it has an operations listener.
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let operations = self.operations.expect("there is an operations listener");
        let mut stream = TcpStream::connect(operations).expect("it listens");
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .expect("it takes bytes");
        let page = read_to_end(&mut stream);
        let line = page.lines().find(|line| line.starts_with(name))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        stream
    }

    /// Sends bytes, and gets everything that comes back until the gateway closes.
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).expect("it takes bytes");
        read_to_end(&mut stream)
    }

    /// Sends a request that asks for the connection to be closed, and gets the response.
    pub(crate) fn get(&self, target: &str, fields: &str) -> String {
        self.send(format!(
            "GET {target} HTTP/1.1\r\nHost: api.example.org\r\nConnection: close\r\n{fields}\r\n"
        ))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stopper.stop();
        // A test that has failed already need not wait for it.
        if let Some(thread) = self.thread.take().filter(|_| !std::thread::panicking()) {
            until("the gateway ends", || thread.is_finished());
            let _ = thread.join();
        }
        if let Some(folder) = self.policy.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Everything until the end; what cannot be read is the end.
pub(crate) fn read_to_end(stream: &mut TcpStream) -> String {
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => all.extend_from_slice(&piece[..count]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                panic!("nothing came for {PATIENCE:?} after {:?}", String::from_utf8_lossy(&all));
            }
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// The status of a response.
pub(crate) fn status(response: &str) -> u16 {
    let number = response.split(' ').nth(1).and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("no response: {response:?}"))
}

/// The value of a field, of a request or a response; `None` if it is not there.
pub(crate) fn field<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let head = message.split("\r\n\r\n").next().unwrap_or_default();
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// A folder of its own for a test.
pub(crate) fn folder() -> PathBuf {
    Folder::new("gateway").keep()
}

/// An upstream that writes down every byte it gets, connection by connection, and answers as it is told.
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    connections: Arc<Mutex<Vec<Seen>>>,
}

/// What came on a connection.
type Seen = Arc<Mutex<Vec<u8>>>;

/// What is answered to what has come so far on a connection; `None` is "not yet", an empty answer closes it.
pub(crate) type Answering = fn(&str) -> Option<Vec<u8>>;

/// A small answer to every whole head, with a body as long as the request's `Content-Length` waited for.
pub(crate) fn small(seen: &str) -> Option<Vec<u8>> {
    let (head, body) = seen.split_once("\r\n\r\n")?;
    let length = field(head, "content-length").map_or(0, |length| length.parse().unwrap_or(0));
    let chunked = field(head, "transfer-encoding").is_some();
    let whole = if chunked { body.ends_with("0\r\n\r\n") } else { body.len() >= length };
    whole.then(|| b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())
}

impl Recorder {
    /// One that answers like this.
    pub(crate) fn new(answering: Answering) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let connections = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = Arc::new(Mutex::new(Vec::new()));
                all.lock().expect("nobody panics").push(Arc::clone(&seen));
                std::thread::spawn(move || record(stream, &seen, answering));
            }
        });
        Self { address, connections }
    }

    /// What came, connection by connection.
    pub(crate) fn seen(&self) -> Vec<String> {
        let connections = self.connections.lock().expect("nobody panics");
        let text = |seen: &Seen| String::from_utf8_lossy(&seen.lock().expect("nobody panics")).into_owned();
        connections.iter().map(text).collect()
    }

    /// How many requests came: how many heads begin, on all connections.
    pub(crate) fn requests(&self) -> usize {
        self.seen().iter().map(|seen| seen.matches(" HTTP/1.1\r\n").count()).sum()
    }
}

fn record(mut stream: TcpStream, seen: &Mutex<Vec<u8>>, answering: Answering) {
    let mut piece = [0; 4096];
    let mut since = 0;
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        let answer = {
            let mut seen = seen.lock().expect("nobody panics");
            seen.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&seen[since..]).into_owned();
            let answer = answering(&text);
            if answer.is_some() {
                since = seen.len();
            }
            answer
        };
        match answer {
            Some(answer) if answer.is_empty() || stream.write_all(&answer).is_err() => return,
            Some(_) | None => {}
        }
    }
}

/// Closes a connection with a reset: nobody waits for a response any more. A plain close may be that of one side only.
pub(crate) fn reset(stream: TcpStream) {
    stream.set_nonblocking(true).expect("a socket can be told not to wait");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let _within = runtime.as_ref().expect("the system gives a runtime").enter();
    let stream = tokio::net::TcpStream::from_std(stream).expect("the runtime takes it");
    stream.set_zero_linger().expect("a socket can be told to reset");
}
