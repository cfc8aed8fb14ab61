//! Worker threads, each with its own runtime, and the connections that they accept.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Endpoint;
use super::connection::Connection;
use super::session::Session;

/// How long no connection is taken after the system has no descriptor or no memory for one.
const BREATHER: Duration = Duration::from_millis(100);

/// An endpoint that serves.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

/// Numbers connections.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Endpoint {
    /// Serves one connection until it ends, or until `stop` is said and no command is left.
    pub async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin, peer: String, stop: Receiver<bool>) {
        let shared = &self.0;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        shared.metrics.connections_total.inc();
        shared.metrics.connections_open.inc();
        let _open = Open(self);
        let session = Session::new(Arc::clone(shared), id, peer);
        Connection::new(stream, Arc::clone(shared), session).run(stop).await;
    }
}

/// Counts an open connection, until it is dropped.
struct Open<'a>(&'a Endpoint);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.0.metrics.connections_open.dec();
    }
}

impl Server {
    /// Serves an endpoint on a listener, with so many threads and at most so many connections; further ones wait in the listener's queue.
    ///
    /// # Errors
    /// If the system gives no thread or no runtime.
    pub fn start(
        endpoint: &Endpoint,
        listener: StdListener,
        (workers, connections): (usize, usize),
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (address, stop) = (listener.local_addr()?, channel(false).0);
        let places = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
        let mut threads = Vec::new();
        for number in 0..workers.max(1) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (endpoint, places) = (endpoint.clone(), Arc::clone(&places));
            let (own, stop) = (listener.try_clone()?, stop.subscribe());
            let run = move || {
                runtime.block_on(async {
                    if let Ok(listener) = TcpListener::from_std(own) {
                        accept(listener, endpoint, places, stop).await;
                    }
                });
                runtime.shutdown_background();
            };
            threads.push(Builder::new().name(format!("resp {number}")).spawn(run)?);
        }
        Ok(Self { address, stop, threads })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, lets those that are open end after the commands that have arrived, and waits for them.
    pub fn stop(self) {
        self.stop.send_replace(true);
        for thread in self.threads {
            // A thread that panicked serves no more either.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, endpoint: Endpoint, places: Arc<Semaphore>, mut stop: Receiver<bool>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => break,
            accepted = accept_one(&listener, &places) => accepted,
        };
        while connections.try_join_next().is_some() {}
        let Some((tcp, peer, place)) = accepted else { continue };
        // Replies are written in batches: what is written is to be sent.
        if tcp.set_nodelay(true).is_err() {
            continue;
        }
        let (endpoint, stop) = (endpoint.clone(), stop.clone());
        connections.spawn(async move {
            endpoint.serve(tcp, peer.to_string(), stop).await;
            drop(place);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Takes a place and then a connection; `None` if the system has none for now.
async fn accept_one(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((tcp, peer)) => Some((tcp, peer, place)),
        // EMFILE, ENFILE, ENOBUFS, ENOMEM: to ask again at once would only burn the processor.
        Err(error) if matches!(error.raw_os_error(), Some(24 | 23 | 105 | 12)) => {
            tokio::time::sleep(BREATHER).await;
            None
        }
        Err(_) => None,
    }
}
