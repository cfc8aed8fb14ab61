//! The gateway: a reverse proxy that checks a policy before it forwards a request.
//!
//! Each worker is a thread with its own runtime, connections and pool (`worker`); a connection (`connection`) has
//! exchanges (`proxy`), and an exchange is asked about, forwarded (`upstream`) and answered.

mod accept;
mod access_log;
mod body;
mod body_error;
mod body_rate;
mod buffered_body;
mod check_head;
mod client_connection;
mod client_io;
mod connection;
mod deadline_kind;
mod deadlines;
mod error_response;
mod framing;
mod h2_executor;
mod lingering_close;
mod malformed_request;
mod max_forwards;
mod proxy;
mod rewrite_head;
pub(crate) mod sanitize;
mod socket;
mod stopwatch;
mod time_left;
mod tunnel;
pub mod upstream;
mod websocket;
mod worker;
mod workers;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use tokio::sync::watch::{Receiver, Sender, channel};

use self::accept::ConnectionLimiter;
use self::upstream::Addresses;
use self::worker::{Worker, WorkerShared};
use self::workers::Workers;
use crate::active_policy::PolicyHandle;
use crate::doors::endpoints::Guard;
use crate::doors::tls::Certificate;
use crate::settings::Settings;
use crate::telemetry::logs::Logs;
use crate::telemetry::metrics::Metrics;

/// A gateway that runs, until it is told to stop and has drained.
#[derive(Debug)]
pub struct Gateway {
    addresses: Vec<SocketAddr>,
    stop: Sender<bool>,
    workers: Workers,
}

/// What a gateway has in common with those around it.
#[derive(Clone, Debug)]
pub struct GatewayContext {
    /// The settings.
    pub settings: Arc<Settings>,
    /// The policy in force.
    pub live: Arc<PolicyHandle>,
    /// What it counts.
    pub metrics: Arc<Metrics>,
    /// Where its lines go.
    pub logs: Arc<Logs>,
    /// Its certificate; without one, clients speak without TLS.
    pub certificate: Option<Arc<Certificate>>,
    /// The addresses of its upstream.
    pub upstream: Arc<Addresses>,
    /// Who may use the endpoints, and their certificates.
    pub guards: Arc<[Guard]>,
}

impl Gateway {
    /// Starts one on listeners that are bound already. It serves when this returns.
    ///
    /// # Errors
    /// When the upstream's certificates cannot be read, or the system does not give a worker what it needs.
    pub fn start(common: &GatewayContext, listeners: Vec<TcpListener>) -> Result<Self, String> {
        let GatewayContext { settings, live, metrics, logs, certificate, upstream, .. } = common;
        let (stop, stopped) = channel(false);
        let bounds = &settings.bounds;
        let shared = WorkerShared {
            settings: Arc::clone(settings),
            live: Arc::clone(live),
            logs: Arc::clone(logs),
            certificate: certificate.clone(),
            upstream: Arc::clone(upstream),
            places: Arc::new(ConnectionLimiter::new(bounds.connections, bounds.connections_per_address)),
            stop: stopped,
        };
        let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let listeners: Arc<[TcpListener]> = listeners.into();
        let count = settings.workers.unwrap_or_else(cores);
        let mut jobs = Vec::new();
        for _ in 0..count.max(1) {
            let worker = Worker::new(&shared, metrics.worker())?;
            let (shared, listeners) = (shared.clone(), Arc::clone(&listeners));
            jobs.push(move |serves| worker::run(worker, listeners, &shared, serves));
        }
        // Each worker makes its own of them: the last copy has to be closed when the gateway takes no more connections.
        drop(listeners);
        let workers = Workers::start(jobs, || stop.send_modify(|stop| *stop = true))?;
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

    /// Waits until a worker has ended. None does before it is told to stop, unless it has failed.
    pub fn failing(&self) -> impl Future<Output = ()> + use<> {
        self.workers.one_ends()
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
        self.workers.wait()
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
