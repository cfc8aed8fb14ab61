//! A proxy between link and server that counts bytes: it cuts, delays or swallows. It knows nothing of the protocol.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tollgate_redis::Address;

use crate::support::all;

/// What is done to the next connection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Rule {
    /// So many bytes go to the server; then both sides are closed.
    pub(crate) to_server: Option<usize>,
    /// So many bytes come back; then both sides are closed.
    pub(crate) to_client: Option<usize>,
    /// So many bytes come back, and the rest is swallowed.
    pub(crate) swallow_after: Option<usize>,
}

/// A proxy in front of a server's socket. Dropped, it closes.
pub(crate) struct Proxy {
    socket: PathBuf,
    /// Where the next connection leads.
    server: Arc<Mutex<PathBuf>>,
    rules: Arc<Mutex<Vec<Rule>>>,
    weather: Arc<Weather>,
    task: JoinHandle<()>,
}

/// What happens to every piece that comes back, on every connection, from one moment to another.
#[derive(Default)]
struct Weather {
    /// It is so many microseconds late.
    late: AtomicU64,
    /// It is lost, but for a connection's first.
    lost: AtomicBool,
}

impl Proxy {
    /// A proxy that passes everything on, but for what rules say.
    pub(crate) fn start(server: &Path) -> Self {
        let socket = server.with_file_name("proxy");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let rules: Arc<Mutex<Vec<Rule>>> = Arc::default();
        let weather: Arc<Weather> = Arc::default();
        let server = Arc::new(Mutex::new(server.to_owned()));
        let (target, next, above) = (Arc::clone(&server), Arc::clone(&rules), Arc::clone(&weather));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let rule = next.lock().unwrap().pop().unwrap_or_default();
                let target = target.lock().unwrap().clone();
                if let Ok(server) = UnixStream::connect(target).await {
                    tokio::spawn(pass(client, server, rule, Arc::clone(&above)));
                }
            }
        });
        Self { socket, server, rules, weather, task }
    }

    /// The rule for the next connection. Those after it are passed on.
    pub(crate) fn next(&self, rule: Rule) {
        self.rules.lock().unwrap().push(rule);
    }

    /// Forgets all rules: further connections are passed on.
    pub(crate) fn forget_rules(&self) {
        self.rules.lock().unwrap().clear();
    }

    /// New connections lead to another server, as when a name is given to it.
    pub(crate) fn lead_to(&self, server: &Path) {
        server.clone_into(&mut self.server.lock().unwrap());
    }

    /// From now on everything that comes back is so late, on every connection.
    pub(crate) fn delay(&self, late: Duration) {
        self.weather.late.store(u64::try_from(late.as_micros()).expect("a short time"), Ordering::Relaxed);
    }

    /// From now on, or no more, everything that comes back is lost, but for a connection's first word.
    pub(crate) fn lose(&self, lost: bool) {
        self.weather.lost.store(lost, Ordering::Relaxed);
    }

    pub(crate) fn address(&self) -> Address {
        format!("unix://{}", self.socket.display()).parse().expect("an address")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: UnixStream, server: UnixStream, rule: Rule, weather: Arc<Weather>) {
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    let there = tokio::spawn(copy(client_in, server_out, rule.to_server, None, Arc::default()));
    let back = tokio::spawn(copy(server_in, client_out, rule.to_client, rule.swallow_after, weather));
    // Whichever ends first takes the other with it: the connection is cut.
    let ends = [there.abort_handle(), back.abort_handle()];
    let (there, back) = (tokio::spawn(stop_after(there, ends.clone())), tokio::spawn(stop_after(back, ends)));
    drop((there.await, back.await));
}

async fn stop_after(task: JoinHandle<()>, others: [tokio::task::AbortHandle; 2]) {
    drop(task.await);
    others.iter().for_each(tokio::task::AbortHandle::abort);
}

/// Copies so many bytes, or all; from some point on it swallows them.
async fn copy(
    mut from: impl AsyncRead + Unpin + Send + 'static,
    mut to: impl AsyncWrite + Unpin + Send + 'static,
    cut: Option<usize>,
    swallow: Option<usize>,
    weather: Arc<Weather>,
) {
    // What is late makes nothing else later.
    let (sender, mut pieces) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let reading = async move {
        let (mut buffer, mut copied) = ([0; 4096], 0);
        while cut.is_none_or(|cut| copied < cut) {
            let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
            let bounds = [cut, swallow].into_iter().flatten();
            let keep = bounds.map(|bound| bound - copied.min(bound)).min().unwrap_or(count);
            let lost = copied > 0 && weather.lost.load(Ordering::Relaxed);
            let late = Duration::from_micros(weather.late.load(Ordering::Relaxed));
            let piece = buffer[..count.min(keep)].to_vec();
            if !lost && sender.send((Instant::now() + late, piece)).is_err() {
                return;
            }
            copied += count;
        }
    };
    let writing = async move {
        while let Some((due, piece)) = pieces.recv().await {
            // The timers' grain is a millisecond: what is not late does not wait for it.
            if due > Instant::now() {
                tokio::time::sleep_until(due).await;
            }
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    };
    // What was read before a cut is still passed on.
    let both: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = vec![Box::pin(reading), Box::pin(writing)];
    all(both).await;
}
