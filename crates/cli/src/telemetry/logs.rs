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
use queue::Queue;
pub use queue::{FLUSH_MAX, QUEUE_BYTES_MAX};
pub(crate) use request_id::X_REQUEST_ID;
pub use request_id::{RequestId, RequestIds};
use throttle::Throttle;

/// Where lines go: through a queue with a bound to a thread that writes them.
///
/// What does not fit into the queue is dropped and counted. Values are always fields, which both formats escape; the message
/// of a line is always ours.
pub struct Logs {
    dispatch: Dispatch,
    queue: Queue,
    refusals: Arc<Refusals>,
    clock: Clock,
    requests: bool,
    /// So that dropping it does not wait once more.
    finished: AtomicBool,
    /// Which failures of the upstream have a line.
    failures: Throttle,
}

/// So many failures of the upstream have a line in a second: all of them have the same reason. The metrics count them all.
const FAILURES_PER_SECOND: u32 = 1;

/// Refusals that were written, and those that were not.
#[derive(Debug)]
struct Refusals {
    throttle: Throttle,
    left_out: AtomicU64,
    lines: Arc<Lines>,
}

/// A request that a limit refused. Whose budget it was is not here: a key never stands in a line.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// The request.
    pub request: &'a RequestId,
    /// Who asked, over trusted hops.
    pub client: IpAddr,
    /// The limit that refused it.
    pub limit: &'a str,
    /// When it would be granted.
    pub retry: Retry,
    /// The method, as the client said it.
    pub method: &'a str,
    /// The operation's template, as the document has it; empty if no operation was meant.
    pub route: &'a str,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// The request.
    pub request: &'a RequestId,
    /// Who asked, over trusted hops.
    pub client: IpAddr,
    /// The method, as the client said it.
    pub method: &'a str,
    /// The operation's template, as the document has it; empty if no operation was meant.
    pub route: &'a str,
    /// The status that the client got.
    pub status: u16,
    /// How long it took.
    pub nanos: u64,
}

impl Logs {
    /// Begins to write to `out`: standard error, as a rule.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        log: &Log,
        metrics: &Metrics,
        clock: Clock,
        out: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let lines = Arc::clone(&metrics.lines);
        let (queue, waiting) = Queue::new(Arc::clone(&lines));
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

    /// Lets everything in the process that writes lines write them here.
    ///
    /// # Errors
    /// When something else has done so before.
    pub fn install(&self) -> Result<(), SetGlobalDefaultError> {
        dispatcher::set_global_default(self.dispatch.clone())
    }

    /// Runs something whose lines go here, whatever was installed.
    pub fn within<T>(&self, run: impl FnOnce() -> T) -> T {
        dispatcher::with_default(&self.dispatch, run)
    }

    /// Writes down a refusal, unless there were enough of them in this second. Those without a line are counted, and a line
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

    /// Writes down why the upstream failed, unless that was done in this second.
    pub fn upstream_failed(&self, request: &RequestId, why: &str) {
        if self.failures.pass(self.clock.now()) {
            self.within(|| tracing::warn!(request = %request, why, "the upstream failed"));
        }
    }

    /// Writes down a request, if every request has a line.
    pub fn served(&self, served: &Served<'_>) {
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

    /// Waits until all lines so far are written, and at most [`FLUSH_MAX`]. Later ones are dropped. Dropping it does the same.
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
    /// Writes how many were left out, if some were.
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

/// Lines of ours only, from `INFO` on: what libraries would say may hold a client's bytes.
fn dispatch(json: bool, queue: &Queue) -> Dispatch {
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
