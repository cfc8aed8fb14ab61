//! Runs a gateway and endpoints from settings: load, bind, start, watch, drain.

mod banner;
mod file_descriptors;
mod memory_full;
pub(crate) mod store;
mod store_outages;

use std::future::pending;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tollgate::{BuildError, Clock, Limiter};

use crate::active_policy::{ActivePolicy, PolicyHandle};
use crate::admin::{self, AdminState, Phase, ReadinessChecks};
use crate::doors::endpoints::{Endpoints, Guard};
use crate::doors::gateway::upstream::{AddressChanges, Addresses};
use crate::doors::gateway::{Gateway, GatewayContext};
use crate::doors::tls::Certificate;
use crate::reload::{self, LoadFailure, Reloader, hang_ups};
use crate::settings::{Settings, Startup};
use crate::telemetry::logs::Logs;
use crate::telemetry::metrics::Metrics;

pub use banner::banner;

/// Why a gateway could not start.
#[derive(Debug)]
pub enum StartError {
    /// The documents have errors.
    Documents(LoadFailure),
    /// Another error, as a message.
    Other(String),
}

/// A running gateway.
#[derive(Debug)]
pub struct Running {
    /// `None` if there are only endpoints.
    gateway: Option<Gateway>,
    endpoints: Endpoints,
    common: GatewayContext,
    operations: Arc<AdminState>,
    operations_at: Option<TcpListener>,
    reloader: Reloader,
    stop: Sender<bool>,
    /// The runtime of the shared store's connections, if there is one.
    store: Option<Runtime>,
    handlers: SignalHandlers,
}

/// Signal handlers, installed before anybody can connect: accepted clients get responses even if a signal arrives during start-up.
#[derive(Debug)]
struct SignalHandlers {
    runtime: Runtime,
    signals: Signals,
    /// SIGHUP, which triggers a reload.
    reload_requests: tokio::sync::mpsc::Receiver<()>,
}

impl SignalHandlers {
    fn new() -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot create a runtime: {error}"))?;
        let not_installed = |error: io::Error| format!("cannot install a signal handler: {error}");
        let (signals, reload_requests) = {
            let _within = runtime.enter();
            (Signals::new().map_err(not_installed)?, hang_ups().map_err(not_installed)?)
        };
        Ok(Self { runtime, signals, reload_requests })
    }
}

/// Starts a gateway with fixed settings. It serves requests when this returns.
///
/// # Errors
/// See [`StartError`]. Nothing runs then.
pub fn start(settings: Settings, log: impl Write + Send + 'static) -> Result<Running, StartError> {
    start_from(settings, None, log)
}

/// Like [`start`], with the sources of the settings, so that a reload can report which of them a restart would change.
///
/// # Errors
/// See [`StartError`]. Nothing runs then.
pub fn start_from(
    mut settings: Settings,
    startup: Option<Startup>,
    log: impl Write + Send + 'static,
) -> Result<Running, StartError> {
    let metrics = Metrics::new();
    let clock = Clock::default();
    let logs = Logs::start(&settings.log, &metrics, clock.clone(), log);
    let logs = Arc::new(logs.map_err(|error| other(format!("cannot create the log thread: {error}")))?);
    let mut loaded = reload::load(&settings.policy).map_err(StartError::Documents)?;
    reload::warn_unenforced(&loaded.policy, &logs);
    let certificate = settings.tls.as_ref().map(|tls| {
        let mut seen = loaded.seen.afresh();
        let certificate = Certificate::load(tls, &mut seen);
        loaded.seen.join(seen);
        certificate
    });
    let certificate = certificate.transpose().map_err(other)?.map(Arc::new);
    let mut seen = loaded.seen.afresh();
    let guards = Guard::load_all(&settings, &mut seen).map_err(other)?;
    loaded.seen.join(seen);
    let mut builder = Limiter::builder().max_memory(settings.memory).clock(clock);
    let opened = store::open(&settings.store).map_err(other)?;
    if let Some(opened) = &opened {
        builder = builder.store(opened.store.clone(), opened.naming.clone());
    }
    let limiter = builder.build().map_err(|error: BuildError| other(error.to_string()))?;
    let limits = reload::policy_limits(
        limiter,
        (loaded.policy, loaded.directory),
        settings.store.namespace.as_deref(),
        settings.upstream.adaptive.config(),
    );
    if settings.store.url.is_some() {
        store::tell_namespace(limits.namespace(), &logs);
    }
    if let Some(opened) = &opened {
        // The first requests meet a store that knows their scripts, or one of which it is known that it does not serve.
        opened.runtime.block_on(opened.store.ready());
    }
    let store = opened.map(|opened| opened.runtime);
    let live =
        Arc::new(PolicyHandle::new(ActivePolicy::new(limits, settings.answers, &metrics, 1), &metrics));
    file_descriptors::make_room(&mut settings, &logs);
    let handlers = SignalHandlers::new().map_err(other)?;
    let listen = if settings.has_gateway() { settings.listen.as_slice() } else { &[] };
    let listeners = listen.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
    let mut entrances = Vec::new();
    for (name, endpoint) in settings.endpoints() {
        if let Some(listen) = &endpoint.listen {
            entrances.push((name, bind(listen)?));
        }
    }
    let operations_at = settings.operations.as_ref().map(bind).transpose()?;
    let upstream = Arc::new(Addresses::new(&settings.upstream));
    let common =
        GatewayContext { settings: Arc::new(settings), live, metrics, logs, certificate, upstream, guards };
    let operations = Arc::new(AdminState::new(ReadinessChecks::new(&common).map_err(other)?));
    let gateway = (!listeners.is_empty()).then(|| Gateway::start(&common, listeners));
    let gateway = gateway.transpose().map_err(other)?;
    let endpoints = Endpoints::start(&common, entrances).map_err(other)?;
    operations.enter(Phase::Ready);
    let reloader = Reloader::new(&common, startup, loaded.seen);
    let stop = channel(false).0;
    Ok(Running { gateway, endpoints, common, operations, operations_at, reloader, stop, store, handlers })
}

/// How long shutdown waits for calls to the shared store.
const STORE_ENDS: Duration = Duration::from_millis(100);

const fn other(why: String) -> StartError {
    StartError::Other(why)
}

fn bind(address: &SocketAddr) -> Result<TcpListener, StartError> {
    let bound = TcpListener::bind(address);
    let listener = bound.map_err(|error| other(format!("cannot listen on {address}: {error}")))?;
    let unblocked = listener.set_nonblocking(true);
    unblocked.map_err(|error| other(format!("cannot listen on {address}: {error}")))?;
    Ok(listener)
}

/// Stops a gateway without a signal.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<bool>);

impl Stopper {
    /// Stops the gateway.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Running {
    /// The addresses that the gateway listens on. None if there are only endpoints.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.gateway.as_ref().map_or(&[], Gateway::addresses)
    }

    /// The address of an endpoint, by the name of its section: `grpc`, `resp` or `api`.
    #[must_use]
    pub fn endpoint(&self, name: &str) -> Option<SocketAddr> {
        let found = self.endpoints.addresses().iter().find(|(known, _)| *known == name);
        found.map(|(_, address)| *address)
    }

    /// The address of the operations listener.
    #[must_use]
    pub fn operations(&self) -> Option<SocketAddr> {
        self.operations_at.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// The policy in force.
    #[must_use]
    pub const fn live(&self) -> &Arc<PolicyHandle> {
        &self.common.live
    }

    /// The metrics.
    #[must_use]
    pub const fn metrics(&self) -> &Arc<Metrics> {
        &self.common.metrics
    }

    /// The results of reloads.
    #[must_use]
    pub fn reloads(&self) -> Receiver<reload::ReloadOutcome> {
        self.reloader.outcomes()
    }

    /// A handle to stop it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Runs until SIGTERM, SIGINT or a [`Stopper`] stops it, then finishes requests in flight. A second signal ends it at once.
    ///
    /// # Errors
    /// If a worker failed. The others are stopped then.
    pub fn run(self) -> Result<(), String> {
        let Self { gateway, endpoints, common, operations, operations_at, reloader, stop, store, handlers } =
            self;
        let SignalHandlers { runtime, signals, reload_requests } = handlers;
        let store_watched = store.is_some().then(|| Arc::clone(&common.live));
        let logs = Arc::clone(&common.logs);
        let logs_of_around = Arc::clone(&logs);
        let shutdown =
            ShutdownContext { gateway, endpoints, logs: logs_of_around, operations, operations_at, stop };
        let ended = runtime.block_on(async {
            let reloading = tokio::spawn(reloader.run(reload_requests, pending()));
            tokio::spawn(memory_full::tell(Arc::clone(&common.live), Arc::clone(&logs)));
            if let Some(live) = store_watched {
                tokio::spawn(store_outages::tell(live, logs));
            }
            tokio::spawn(look_up(common));
            shutdown.until_stopped(signals, reloading).await
        });
        // Nobody waits for the workers when it has to end at once.
        runtime.shutdown_background();
        if let Some(store) = store {
            // What the last responses give back or settle is on its way.
            store.shutdown_timeout(STORE_ENDS);
        }
        ended
    }
}

/// Everything that shuts down with the gateway.
struct ShutdownContext {
    gateway: Option<Gateway>,
    endpoints: Endpoints,
    logs: Arc<Logs>,
    operations: Arc<AdminState>,
    operations_at: Option<TcpListener>,
    stop: Sender<bool>,
}

impl ShutdownContext {
    async fn until_stopped(self, mut signals: Signals, reloading: JoinHandle<()>) -> Result<(), String> {
        let Self { gateway, endpoints, logs, operations, operations_at, stop } = self;
        if let Some(listener) = operations_at {
            let listener = tokio::net::TcpListener::from_std(listener);
            let listener = listener.map_err(|error| format!("cannot listen for operators: {error}"))?;
            tokio::spawn(admin::run(listener, Arc::clone(&operations), pending()));
        }
        let mut stopped = stop.subscribe();
        tokio::select! {
            () = signals.next() => {}
            _ = stopped.wait_for(|stop| *stop) => {}
            () = failing(gateway.as_ref()) => {
                logs.within(|| tracing::error!("a worker failed: stopping"));
            }
        }
        logs.within(|| tracing::info!("stopping: no new connections; finishing requests in flight"));
        operations.enter(Phase::Draining);
        reloading.abort();
        gateway.as_ref().inspect(|gateway| gateway.stop());
        endpoints.stop();
        let waiting = tokio::task::spawn_blocking(move || gateway.map_or(Ok(()), Gateway::wait));
        let both = async {
            let (ended, ()) = tokio::join!(waiting, endpoints.drained());
            ended
        };
        let ended = tokio::select! {
            ended = both => ended.unwrap_or_else(|_| Err("the gateway failed".into())),
            () = signals.next() => Err("stopped by a second signal".into()),
        };
        logs.within(|| tracing::info!("stopped"));
        logs.finish();
        ended
    }
}

/// Waits until the gateway fails, if there is one.
async fn failing(gateway: Option<&Gateway>) {
    match gateway {
        Some(gateway) => gateway.failing().await,
        None => pending().await,
    }
}

/// Resolves the upstream's name periodically, to drop connections to addresses that it no longer has.
async fn look_up(common: GatewayContext) {
    if !common.settings.has_gateway() {
        return;
    }
    let Some(every) = common.settings.upstream.lookup.filter(|_| common.upstream.can_change()) else {
        return;
    };
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let AddressChanges { came, gone } = common.upstream.refresh().await;
        if !came.is_empty() || !gone.is_empty() {
            common.logs.within(|| tracing::info!(?came, ?gone, "the upstream's addresses changed"));
        }
    }
}

/// The signals that stop it.
#[derive(Debug)]
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
