//! The log: JSON lines, or text for people. Requests never wait for it, and bytes from clients are escaped.

mod queue;
pub mod request_id;
mod throttle;

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tollgate::Clock;
use tollgate_algorithms::Retry;
use tollgate_http::text::shown;
use tracing::dispatcher::{self, Dispatch, SetGlobalDefaultError};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{Registry, fmt as lines};

use crate::settings::Log;
use crate::telemetry::metrics::{Lines, Metrics};
use queue::LogQueue;
pub use queue::{FLUSH_MAX, QUEUE_BYTES_MAX};
pub(crate) use request_id::X_REQUEST_ID;
pub use request_id::{RequestId, RequestIds};
use throttle::Throttle;

/// The log: a bounded queue, and a thread that writes its lines.
///
/// Lines that do not fit into the queue are dropped and counted. Values are always fields, which both formats escape; the message
/// of a line is a constant.
pub struct Logs {
    dispatch: Dispatch,
    queue: LogQueue,
    refusals: Arc<Refusals>,
    clock: Clock,
    requests: bool,
    /// Prevents a second wait on drop.
    finished: AtomicBool,
    /// Limits the lines about upstream failures.
    failures: Throttle,
}

/// Maximum lines about upstream failures per second: they usually have the same reason. The metrics count all of them.
const FAILURES_PER_SECOND: u32 = 1;

/// Limits the lines about refusals, and counts those left out.
#[derive(Debug)]
struct Refusals {
    throttle: Throttle,
    left_out: AtomicU64,
    lines: Arc<Lines>,
}

/// A refused request, for the log. It has no key: keys are never logged.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// The request.
    pub request: &'a RequestId,
    /// The client's address, over trusted hops.
    pub client: IpAddr,
    /// The limit that refused it.
    pub limit: &'a str,
    /// When to retry.
    pub retry: Retry,
    /// The method, as sent.
    pub method: &'a str,
    /// The path template of the operation; empty if the request matched none.
    pub route: &'a str,
}

/// An answered request, for the log.
#[derive(Clone, Copy, Debug)]
pub struct ServedRequest<'a> {
    /// The request.
    pub request: &'a RequestId,
    /// The client's address, over trusted hops.
    pub client: IpAddr,
    /// The method, as sent.
    pub method: &'a str,
    /// The path template of the operation; empty if the request matched none.
    pub route: &'a str,
    /// The status of the response.
    pub status: u16,
    /// The duration in nanoseconds.
    pub nanos: u64,
}

impl Logs {
    /// Starts to log to `out`, usually standard error.
    ///
    /// # Errors
    /// If no thread can be created.
    pub fn start(
        log: &Log,
        metrics: &Metrics,
        clock: Clock,
        out: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let lines = Arc::clone(&metrics.lines);
        let (queue, waiting) = LogQueue::new(Arc::clone(&lines));
        let dispatch = dispatch(log.json, &queue);
        let throttle = Throttle::new(log.refusals_per_second);
        let refusals = Arc::new(Refusals { throttle, left_out: AtomicU64::new(0), lines });
        let (told, by) = (Arc::clone(&refusals), dispatch.clone());
        let sum_up = move || dispatcher::with_default(&by, || told.sum_up());
        waiting.write_to(out, clock.clone(), sum_up)?;
        Ok(Self {
            dispatch,
            queue,
            refusals,
            clock,
            requests: log.requests,
            finished: AtomicBool::new(false),
            failures: Throttle::new(FAILURES_PER_SECOND),
        })
    }

    /// Installs this as the log of the whole process.
    ///
    /// # Errors
    /// If another one is installed.
    pub fn install(&self) -> Result<(), SetGlobalDefaultError> {
        dispatcher::set_global_default(self.dispatch.clone())
    }

    /// Runs a closure whose lines go to this log, whichever is installed.
    pub fn within<T>(&self, run: impl FnOnce() -> T) -> T {
        dispatcher::with_default(&self.dispatch, run)
    }

    /// Logs a refusal, unless the maximum per second is reached. Refusals left out are counted, and a line
    /// with their number follows within a second.
    pub fn refused(&self, refusal: &Refusal<'_>) {
        if !self.refusals.throttle.pass(self.clock.now()) {
            self.refusals.lines.left_out.inc();
            if self.refusals.left_out.fetch_add(1, Ordering::AcqRel) == 0 {
                self.queue.owe();
            }
            return;
        }
        let retry_after_us = match refusal.retry {
            Retry::After(wait) => Some(wait.get()),
            Retry::Never => None,
        };
        self.within(|| {
            tracing::info!(
                request = %refusal.request,
                client = %refusal.client,
                limit = shown(refusal.limit),
                retry_after_us,
                method = shown(refusal.method),
                route = shown(refusal.route),
                "refused"
            );
        });
    }

    /// Logs why the upstream failed, at a limited rate.
    pub fn upstream_failed(&self, request: &RequestId, why: &str) {
        if self.failures.pass(self.clock.now()) {
            self.within(|| tracing::warn!(request = %request, why, "the upstream failed"));
        }
    }

    /// Logs a request, if requests are logged.
    pub fn served(&self, served: &ServedRequest<'_>) {
        if !self.requests {
            return;
        }
        self.within(|| {
            tracing::info!(
                request = %served.request,
                client = %served.client,
                method = shown(served.method),
                route = shown(served.route),
                status = served.status,
                took_us = served.nanos / 1_000,
                "served"
            );
        });
    }

    /// Waits until all lines so far are written, for at most [`FLUSH_MAX`], and drops later ones. `Drop` does the same.
    pub fn finish(&self) {
        if !self.finished.swap(true, Ordering::Relaxed) {
            self.queue.finish();
        }
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Refusals {
    /// Logs how many refusals were left out, if any.
    fn sum_up(&self) {
        match self.left_out.swap(0, Ordering::AcqRel) {
            0 => {}
            left_out => tracing::info!(left_out, "refusals left out of the log"),
        }
    }
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logs({:?})", self.refusals)
    }
}

/// Only Tollgate's own lines, from `INFO` on: those of libraries may contain bytes from clients.
fn dispatch(json: bool, queue: &LogQueue) -> Dispatch {
    let ours = Targets::new().with_target("tollgate", LevelFilter::INFO);
    let queue = queue.clone();
    let layer = lines::layer().with_target(false).with_ansi(false).with_writer(move || queue.clone());
    if json {
        let layer = layer.json().flatten_event(true).with_current_span(false).with_span_list(false);
        Dispatch::new(Registry::default().with(layer.with_filter(ours)))
    } else {
        Dispatch::new(Registry::default().with(layer.with_filter(ours)))
    }
}

#[cfg(test)]
mod tests;
