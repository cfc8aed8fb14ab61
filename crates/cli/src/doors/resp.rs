//! The endpoint for Redis clients: `CL.THROTTLE` as in redis-cell, and Tollgate's own commands. It maps commands to the limiter's verbs, and
//! verdicts to replies; counting, shadow mode and failure rules are the limiter's.

mod arguments;
mod caller_limits;
mod command_docs;
mod commands;
mod connection;
mod connection_commands;
mod decision_commands;
mod dispatch;
mod help;
mod info;
mod input;
mod permit_book;
mod permit_commands;
mod replies;
mod reservation_commands;
mod selection;
mod server;
mod session;
mod throttle;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tollgate::Limiter;
use tollgate_engine::PolicyLimits;

use caller_limits::CallerLimits;
use crate::telemetry::metrics::RespMetrics;
use permit_book::PermitBook;
pub use server::Server;

/// The limits of one connection: what a client may send or leave unread, and for how long it may be silent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionBounds {
    /// A connection without a whole command for this long is closed.
    pub idle: Duration,
    /// A client that has to show a token and has not done so in this time is disconnected.
    pub authentication: Duration,
    /// A client that does not take a batch of replies ([`REPLY_BYTES`]) in this time is disconnected. Until then nothing more is read from it.
    pub write: Duration,
}

/// Replies are written when they take so many bytes, or when no whole command is left; then the client has to take them before further
/// commands are executed. So a pipeline of any length takes no more memory than this and one more reply.
pub const REPLY_BYTES: usize = 64 << 10;

impl Default for ConnectionBounds {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(600),
            authentication: Duration::from_secs(10),
            write: Duration::from_secs(30),
        }
    }
}

/// Whether a token is right. It takes the same time for every wrong one.
pub type CheckToken = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;
/// The limits of the policy in force, if there is one.
pub type CurrentPolicy = Arc<dyn Fn() -> Option<Arc<PolicyLimits>> + Send + Sync>;

/// What the endpoint decides with, and who may use it. Cheap to clone; clones are the same endpoint.
#[derive(Clone)]
pub struct Endpoint(Arc<Shared>);

pub(crate) struct Shared {
    limiter: Limiter,
    policy: CurrentPolicy,
    /// `None`: no token is asked for.
    token: Option<CheckToken>,
    bounds: ConnectionBounds,
    caller_limits: CallerLimits,
    permits: PermitBook,
    metrics: Arc<RespMetrics>,
}

impl Endpoint {
    /// An endpoint without a policy that everybody may use.
    ///
    /// Limits whose numbers come with a command are in this namespace of the shared store, if the limiter has one.
    #[must_use]
    pub fn new(limiter: Limiter, namespace: &str) -> Self {
        let caller_limits = CallerLimits::new(limiter.clone(), namespace);
        Self(Arc::new(Shared {
            limiter,
            policy: Arc::new(|| None),
            token: None,
            bounds: ConnectionBounds::default(),
            caller_limits,
            permits: PermitBook::default(),
            metrics: Arc::default(),
        }))
    }

    /// Where the policy in force is found.
    #[must_use]
    pub fn with_policy(self, policy: CurrentPolicy) -> Self {
        self.changed(|shared| shared.policy = policy)
    }

    /// Clients have to send a token, by `AUTH` or `HELLO`.
    #[must_use]
    pub fn with_token(self, check: CheckToken) -> Self {
        self.changed(|shared| shared.token = Some(check))
    }

    /// Sets the limits of connections.
    #[must_use]
    pub fn with_bounds(self, bounds: ConnectionBounds) -> Self {
        self.changed(|shared| shared.bounds = bounds)
    }

    /// Counts in these metrics.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<RespMetrics>) -> Self {
        self.changed(|shared| shared.metrics = metrics)
    }

    /// The metrics.
    #[must_use]
    pub fn metrics(&self) -> &Arc<RespMetrics> {
        &self.0.metrics
    }

    fn changed(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        // Only before it is cloned.
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            change(shared);
        }
        self
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({:?}, asks for a token: {})", self.0.limiter, self.0.token.is_some())
    }
}
