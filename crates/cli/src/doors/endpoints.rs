//! The endpoints that are configured, with their runtime: start, stop, drain.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::sync::watch::{Sender, channel};
use tokio::time::timeout;

use super::access::Access;
use super::gateway::GatewayContext;
use super::listener::{Context, Entrance, accept};
use super::tls::Certificate;
use super::{grpc, http_api, resp};
use crate::reload::FileHashes;
use crate::settings::Settings;

/// How long tasks that are still running at the end have.
const END: Duration = Duration::from_millis(100);

/// Who may use an endpoint, and its certificate: what is read from files, and read again when they change.
#[derive(Clone, Debug)]
pub struct Guard {
    pub(crate) name: &'static str,
    pub(crate) access: Arc<Access>,
    pub(crate) certificate: Option<Arc<Certificate>>,
    /// The limits of the endpoint for gRPC.
    pub(crate) limits: Option<Arc<grpc::LimitsFiles>>,
}

impl Guard {
    /// Reads the files of all endpoints that are configured, and notes what was read.
    ///
    /// # Errors
    /// A sentence about the first file that cannot be used.
    pub(crate) fn load_all(settings: &Settings, seen: &mut FileHashes) -> Result<Arc<[Self]>, String> {
        let mut guards = Vec::new();
        for (name, endpoint) in settings.endpoints() {
            if endpoint.listen.is_none() {
                continue;
            }
            let access = Arc::new(Access::load(name, endpoint, seen)?);
            let certificate = endpoint.tls(name).map(|tls| Certificate::load(&tls, seen)).transpose()?;
            let limits = (name == "grpc").then(|| grpc::LimitsFiles::load(&settings.envoy.files, seen));
            let limits = limits.transpose()?.map(Arc::new);
            guards.push(Self { name, access, certificate: certificate.map(Arc::new), limits });
        }
        Ok(guards.into())
    }
}

/// The endpoints that run, until they are told to stop and have drained.
#[derive(Debug)]
pub(crate) struct Endpoints {
    addresses: Vec<(&'static str, SocketAddr)>,
    stop: Sender<bool>,
    /// The places of each, and how many there are.
    places: Vec<(Arc<Semaphore>, u32)>,
    drain: Duration,
    runtime: Option<Runtime>,
}

impl Endpoints {
    /// Starts those that are configured, on listeners that are bound already.
    ///
    /// # Errors
    /// A sentence, when an endpoint cannot be prepared or the system gives no runtime.
    pub(crate) fn start(
        common: &GatewayContext,
        listeners: Vec<(&'static str, TcpListener)>,
    ) -> Result<Self, String> {
        let settings = &common.settings;
        let (stop, _) = channel(false);
        let (addresses, places, drain) = (Vec::new(), Vec::new(), settings.timeouts.drain);
        let mut endpoints = Self { addresses, stop, places, drain, runtime: None };
        if listeners.is_empty() {
            return Ok(endpoints);
        }
        let mut runtime = Builder::new_multi_thread();
        if let Some(workers) = settings.workers {
            runtime.worker_threads(workers.max(1));
        }
        let runtime = runtime.thread_name("endpoints").enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot create a runtime for endpoints: {error}"))?;
        for (name, listener) in listeners {
            let within = runtime.enter();
            endpoints.open(common, name, listener)?;
            drop(within);
        }
        endpoints.runtime = Some(runtime);
        Ok(endpoints)
    }

    fn open(
        &mut self,
        common: &GatewayContext,
        name: &'static str,
        listener: TcpListener,
    ) -> Result<(), String> {
        let guard = common.guards.iter().find(|guard| guard.name == name);
        let guard = guard.cloned().ok_or_else(|| format!("the endpoint `{name}` is not configured"))?;
        let connections = common.settings.endpoints().into_iter().find(|(known, _)| *known == name);
        let connections = connections.map_or(1, |(_, endpoint)| endpoint.connections).clamp(1, PLACES_MAX);
        let places = Arc::new(Semaphore::new(connections));
        self.places.push((Arc::clone(&places), u32::try_from(connections).unwrap_or(u32::MAX)));
        self.addresses.extend(listener.local_addr().ok().map(|address| (name, address)));
        let metrics = common.metrics.endpoint(name);
        let context = Arc::new(Context { name, common: common.clone(), access: guard.access, metrics });
        let stop = self.stop.subscribe();
        let entrance = Entrance { listener, certificate: guard.certificate, places, stop };
        match name {
            "grpc" => {
                let handler = Arc::new(grpc::Endpoint::new(&context)?);
                drop(tokio::spawn(accept(entrance, context, handler)));
            }
            "resp" => {
                let handler = Arc::new(resp::Endpoint::of_process(&context));
                drop(tokio::spawn(accept(entrance, context, handler)));
            }
            _ => {
                let handler = Arc::new(http_api::Endpoint::new(&context)?);
                drop(tokio::spawn(accept(entrance, context, handler)));
            }
        }
        Ok(())
    }

    /// Where they listen, with the names of their sections.
    pub(crate) fn addresses(&self) -> &[(&'static str, SocketAddr)] {
        &self.addresses
    }

    /// Takes no more connections. Requests in flight are answered; see [`drained`](Self::drained).
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until every connection has ended, or the time to drain has passed; then ends the runtime.
    pub(crate) async fn drained(mut self) {
        let all = async {
            for (places, count) in &self.places {
                drop(places.acquire_many(*count).await);
            }
        };
        // Those that remain are closed.
        let _ = timeout(self.drain, all).await;
        if let Some(runtime) = self.runtime.take() {
            let ended = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(END));
            let _ = ended.await;
        }
    }
}

/// As many connections as can be counted. More are a mistake.
const PLACES_MAX: usize = 1 << 28;

impl Drop for Endpoints {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped within another runtime, which must not be blocked.
            runtime.shutdown_background();
        }
    }
}
