//! The gateway's metrics, and the page for Prometheus. Requests look up nothing by name.

pub mod counter;
pub mod endpoint;
#[cfg(feature = "envoy")]
mod envoy;
mod in_progress;
pub mod latency;
pub mod limits;
pub mod page;
mod resp;
mod store;
pub mod worker;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use tollgate::Limiter;
use tollgate_engine::PolicyLimits;

use crate::files;
pub use counter::{Count, Counter, Level};
pub use endpoint::EndpointMetrics;
pub use latency::Latency;
use limits::Limits;
pub use limits::{LIMIT_SERIES_MAX, LimitMeters};
use page::{Kind, MetricsText};
pub use resp::RespMetrics;
pub use worker::{TunnelEnds, WorkerMetrics};

/// All metrics.
///
/// Code that counts holds the counters directly: a worker its own [`WorkerMetrics`], a request the [`LimitMeters`] of its
/// policy. Locks are taken only when a worker starts, a policy is loaded or the page is written.
#[derive(Debug, Default)]
pub struct Metrics {
    workers: Mutex<Vec<Arc<WorkerMetrics>>>,
    limits: Mutex<Limits>,
    /// The limits in force, of which it is shown what is in progress.
    in_force: Mutex<Weak<PolicyLimits>>,
    endpoints: Mutex<Vec<(&'static str, Arc<EndpointMetrics>)>>,
    #[cfg(feature = "envoy")]
    envoy: Mutex<Option<Arc<tollgate_envoy::Counters>>>,
    /// What the endpoint for Redis clients counts besides, if there is one.
    resp: OnceLock<Arc<RespMetrics>>,
    /// The limiter whose store is reported.
    limiter: Mutex<Option<Limiter>>,
    /// Reloads by result.
    pub reloads: Reloads,
    /// Log lines by result.
    pub lines: Arc<Lines>,
}

/// Reloads by result.
#[derive(Debug, Default)]
pub struct Reloads {
    /// Reloads that replaced the policy.
    pub ok: Count,
    /// Failed reloads, after which the old policy stays in force.
    pub failed: Count,
    /// Unix time at which the current policy was loaded.
    pub last_success: Count,
    /// Generation of the current policy, starting with 1.
    pub generation: Count,
    /// 1 if files are watched, 0 if they are only polled.
    pub watching: Count,
}

/// Log lines by result.
#[derive(Debug, Default)]
pub struct Lines {
    /// Lines dropped because the reader is too slow or gone.
    pub dropped: Count,
    /// Refusals left out of the log by its rate limit.
    pub left_out: Count,
}

impl Metrics {
    /// Creates metrics, all zero.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The metrics of a new worker.
    #[must_use]
    pub fn worker(&self) -> Arc<WorkerMetrics> {
        let worker = Arc::new(WorkerMetrics::default());
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&worker));
        worker
    }

    /// The metrics of an endpoint.
    #[must_use]
    pub fn endpoint(&self, name: &'static str) -> Arc<EndpointMetrics> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = endpoints.iter().find(|(known, _)| *known == name) {
            return Arc::clone(known);
        }
        let metrics = Arc::<EndpointMetrics>::default();
        endpoints.push((name, Arc::clone(&metrics)));
        metrics
    }

    /// Shows what the service for Envoy counts.
    #[cfg(feature = "envoy")]
    pub(crate) fn show_envoy(&self, counters: &Arc<tollgate_envoy::Counters>) {
        *self.envoy.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(counters));
    }

    /// What the endpoint for Redis clients counts besides. It is on the page from now on.
    #[must_use]
    pub fn resp(&self) -> Arc<RespMetrics> {
        Arc::clone(self.resp.get_or_init(Arc::default))
    }

    /// Records that a policy is in force.
    pub(crate) fn put_in_force(&self, generation: u64) {
        self.reloads.generation.set(generation);
        self.reloads.last_success.set(files::wall_clock().get() / 1_000_000);
    }

    /// The counters of a new policy's limits, by number.
    pub(crate) fn limits_of(&self, limits: &PolicyLimits) -> Vec<LimitMeters> {
        *self.limiter.lock().unwrap_or_else(PoisonError::into_inner) = Some(limits.limiter().clone());
        self.limits.lock().unwrap_or_else(PoisonError::into_inner).renew(limits.policy())
    }

    /// From now on, the page shows what is in progress under these limits.
    pub(crate) fn show_in_progress(&self, limits: &Arc<PolicyLimits>) {
        *self.in_force.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(limits);
    }

    /// The page, as [`page::CONTENT_TYPE`].
    #[must_use]
    pub fn encode(&self) -> String {
        let mut page = MetricsText::default();
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.family("build_info", Kind::Gauge, "Version of the running process.").number(&version, 1);
        self.limits.lock().unwrap_or_else(PoisonError::into_inner).write(&mut page);
        let in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(limits) = in_force {
            in_progress::write(&limits, &mut page);
        }
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        worker::write(workers.iter().map(Arc::as_ref), &mut page);
        let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner).clone();
        endpoint::write(&endpoints, &mut page);
        #[cfg(feature = "envoy")]
        if let Some(counters) = self.envoy.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            envoy::write(&counters, &mut page);
        }
        if let Some(resp) = self.resp.get() {
            resp.write(&mut page);
        }
        self.write_reloads(&mut page);
        self.write_store(&mut page);
        let (dropped, left_out) = (self.lines.dropped.get(), self.lines.left_out.get());
        let name = ("log_lines_dropped_total", Kind::Counter);
        page.number(name, "Log lines dropped because the queue was full.", dropped);
        let name = ("log_refusals_left_out_total", Kind::Counter);
        page.number(name, "Refusals left out of the log by its rate limit.", left_out);
        page.text()
    }

    fn write_reloads(&self, page: &mut MetricsText) {
        let reloads = &self.reloads;
        let mut family = page.family("reloads_total", Kind::Counter, "Policy reloads by result.");
        family.number(&[("result", "ok")], reloads.ok.get());
        family.number(&[("result", "failed")], reloads.failed.get());
        let name = ("reload_last_success_timestamp_seconds", Kind::Gauge);
        page.number(name, "Unix time at which the current policy was loaded.", reloads.last_success.get());
        let name = ("config_generation", Kind::Gauge);
        page.number(name, "Generation of the current policy, starting with 1.", reloads.generation.get());
        let name = ("reload_watching", Kind::Gauge);
        page.number(name, "1 if files are watched, 0 if only polled.", reloads.watching.get());
    }

    fn write_store(&self, page: &mut MetricsText) {
        let limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(limiter) = limiter else { return };
        let stats = limiter.stats();
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let name = ("store_bytes", Kind::Gauge);
        page.number(name, "Memory used by states.", number(stats.bytes));
        let name = ("store_max_bytes", Kind::Gauge);
        page.number(name, "Memory that states can fill.", number(stats.bytes_max));
        page.number(("store_keys", Kind::Gauge), "Keys with a state.", stats.slots_used);
        let name = ("store_overflowed_total", Kind::Counter);
        page.number(name, "Hits on keys for which there was no room.", stats.overflowed);
        if let Some(health) = limiter.store_health() {
            store::write(&health, page);
            store::write_nodes(&limiter.store_nodes(), page);
            let name = ("shared_store_remembered_total", Kind::Counter);
            let about = "Refusals from the cache, without a call to the shared store.";
            page.number(name, about, limiter.refused_from_memory());
        }
    }
}

#[cfg(test)]
mod tests;
