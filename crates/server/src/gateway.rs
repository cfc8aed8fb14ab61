//! The gateway: a reverse proxy that asks a policy before it passes a request on. What is limited is the policy's to say.
//!
//! Each worker is a thread with its own runtime, connections and pool (`worker`); a connection (`connection`) has
//! exchanges (`exchange`), and an exchange is asked about, forwarded (`upstream`) and answered.

mod accept;
mod account;
mod body;
mod client;
mod connection;
mod exchange;
mod framing;
mod head;
mod held;
mod linger;
pub mod live;
pub mod logs;
pub mod metrics;
pub mod operations;
mod pace;
mod reading;
pub mod reload;
mod socket;
mod stopped;
mod stopwatch;
mod stream;
mod streams;
mod strip;
mod tls;
mod unreadable;
mod upstream;
mod watch;
mod worker;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch::{Receiver, Sender, channel};

use self::accept::Places;
use self::live::Live;
use self::logs::Logs;
use self::metrics::Metrics;
use self::worker::{Shared, Worker};
use crate::settings::Settings;

/// A gateway that runs, until it is told to stop and has drained.
#[derive(Debug)]
pub struct Gateway {
    addresses: Vec<SocketAddr>,
    stop: Sender<bool>,
    workers: Vec<JoinHandle<Result<(), String>>>,
}

impl Gateway {
    /// Starts one on listeners that are bound already.
    ///
    /// # Errors
    /// When a certificate cannot be read, or the system gives no thread.
    pub fn start(
        settings: &Arc<Settings>,
        listeners: &[TcpListener],
        live: &Arc<Live>,
        (metrics, logs): (&Metrics, &Arc<Logs>),
    ) -> Result<Self, String> {
        let (stop, stopped) = channel(false);
        let bounds = &settings.bounds;
        let shared = Shared {
            live: Arc::clone(live),
            logs: Arc::clone(logs),
            places: Arc::new(Places::new(bounds.connections, bounds.connections_per_address)),
            tls: settings.tls.as_ref().map(tls::acceptor).transpose()?,
            stop: stopped,
            settings: Arc::clone(settings),
        };
        let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let count = settings.workers.unwrap_or_else(cores);
        let mut workers = Vec::new();
        for number in 0..count.max(1) {
            let worker = Worker::new(&shared, metrics.worker())?;
            let own = listeners.iter().map(|listener| {
                let own = listener.try_clone()?;
                own.set_nonblocking(true)?;
                Ok(own)
            });
            let own: std::io::Result<Vec<_>> = own.collect();
            let own = own.map_err(|error| format!("a listener cannot be shared: {error}"))?;
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(format!("worker {number}"));
            let thread = thread.spawn(move || worker::run(worker, own, &shared));
            workers.push(thread.map_err(|error| format!("no thread for a worker: {error}"))?);
        }
        Ok(Self { addresses, stop, workers })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Tells when it is stopping.
    #[must_use]
    pub fn stopping(&self) -> Receiver<bool> {
        self.stop.subscribe()
    }

    /// Takes no more connections. Requests in flight are answered; see [`wait`](Self::wait).
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until everything has ended.
    ///
    /// # Errors
    /// When a worker failed.
    pub fn wait(self) -> Result<(), String> {
        let mut result = Ok(());
        for worker in self.workers {
            let ended = worker.join().unwrap_or_else(|_| Err("a worker panicked".into()));
            result = result.and(ended);
        }
        result
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
