//! One worker thread: its runtime, its deadlines, and its upstream connections. Workers share nothing that is written often.

use std::net::TcpListener as StdListener;
use std::sync::Arc;

use hyper::server::conn::{http1, http2};
use tokio::net::TcpListener;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;

use super::accept::{ConnectionLimiter, accept};
use super::connection::{builders, stopping};
use super::deadlines::WorkerDeadlines;
use super::h2_executor::StreamExecutor;
use super::rewrite_head::Via;
use super::upstream::{Addresses, Upstream};
use super::workers::ReadySignal;
use crate::active_policy::PolicyHandle;
use crate::doors::tls::Certificate;
use crate::settings::Settings;
use crate::telemetry::logs::{Logs, RequestIds};
use crate::telemetry::metrics::WorkerMetrics;

/// What a worker has.
pub(crate) struct Worker {
    pub(crate) settings: Arc<Settings>,
    pub(crate) live: Arc<PolicyHandle>,
    pub(crate) watches: WorkerDeadlines,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) metrics: Arc<WorkerMetrics>,
    pub(crate) logs: Arc<Logs>,
    pub(crate) via: Via,
    pub(crate) ids: RequestIds,
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) http1: http1::Builder,
    pub(crate) http2: http2::Builder<StreamExecutor>,
}

/// What all workers have in common.
#[derive(Clone)]
pub(crate) struct WorkerShared {
    pub(crate) settings: Arc<Settings>,
    pub(crate) live: Arc<PolicyHandle>,
    pub(crate) logs: Arc<Logs>,
    pub(crate) places: Arc<ConnectionLimiter>,
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) upstream: Arc<Addresses>,
    pub(crate) stop: Receiver<bool>,
}

impl Worker {
    /// # Errors
    /// When there is no way to the upstream: its certificates cannot be read.
    pub(crate) fn new(shared: &WorkerShared, metrics: Arc<WorkerMetrics>) -> Result<Self, String> {
        let settings = &shared.settings;
        let watches = WorkerDeadlines::new(&settings.timeouts);
        let (http1, http2) = builders(&settings.bounds);
        let addresses = Arc::clone(&shared.upstream);
        let upstream = Upstream::new(settings, addresses, Arc::clone(&watches.ticks), Arc::clone(&metrics));
        Ok(Self {
            upstream: Arc::new(upstream?),
            settings: Arc::clone(settings),
            live: Arc::clone(&shared.live),
            watches,
            metrics,
            logs: Arc::clone(&shared.logs),
            via: Via::new(&settings.forwarding.via),
            ids: RequestIds::new(),
            certificate: shared.certificate.clone(),
            http1,
            http2,
        })
    }
}

/// Runs a worker until `stop` is said and everything that was begun has ended, or has had its time. It says when it serves.
///
/// # Errors
/// When the system gives no runtime, or no listener.
pub(crate) fn run(
    worker: Worker,
    listeners: Arc<[StdListener]>,
    shared: &WorkerShared,
    serves: ReadySignal,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot create a worker's runtime: {error}"))?;
    runtime.block_on(async {
        let own = own(&listeners)?;
        drop(listeners);
        serves.say();
        serve(Arc::new(worker), own, shared).await;
        Ok(())
    })
}

/// Listeners of a worker's own, on the same addresses.
fn own(listeners: &[StdListener]) -> Result<Vec<TcpListener>, String> {
    let own = listeners.iter().map(|listener| {
        let own = listener.try_clone()?;
        own.set_nonblocking(true)?;
        TcpListener::from_std(own)
    });
    let own: std::io::Result<Vec<_>> = own.collect();
    own.map_err(|error| format!("cannot create a worker's listener: {error}"))
}

async fn serve(worker: Arc<Worker>, listeners: Vec<TcpListener>, shared: &WorkerShared) {
    let sweeping = tokio::spawn(sweep(Arc::clone(&worker)));
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let (worker, places) = (Arc::clone(&worker), Arc::clone(&shared.places));
        accepting.spawn(accept(listener, worker, places, shared.stop.clone()));
    }
    stopping(&mut shared.stop.clone()).await;
    // What is in flight has its time; connections that are idle have been told to go.
    let drained = async {
        while accepting.join_next().await.is_some() {}
        let mut ticks = tokio::time::interval(worker.watches.ticks.length() / 4);
        while worker.metrics.connections_open.get() > 0 {
            ticks.tick().await;
        }
    };
    if tokio::time::timeout(worker.settings.timeouts.drain, drained).await.is_err() {
        let left = worker.metrics.connections_open.get();
        worker.logs.within(|| {
            tracing::warn!(connections = left, "the drain timeout passed: closing the remaining connections");
        });
    }
    sweeping.abort();
}

/// Moves the worker's time on.
async fn sweep(worker: Arc<Worker>) {
    let mut ticks = tokio::time::interval(worker.watches.ticks.length());
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first comes at once.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        worker.watches.tick();
        worker.upstream.sweep();
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Worker({:?})", self.upstream)
    }
}
