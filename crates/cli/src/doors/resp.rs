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
mod session;
mod throttle;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch::Receiver;
use tollgate::Limiter;
use tollgate_engine::PolicyLimits;

use super::listener::{self, Context, Handler};
use crate::telemetry::metrics::{EndpointMetrics, RespMetrics};
use caller_limits::CallerLimits;
use connection::Connection;
use permit_book::PermitBook;
use session::Session;

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

/// Numbers connections.
static NEXT: AtomicU64 = AtomicU64::new(1);

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
    endpoint: Arc<EndpointMetrics>,
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
            endpoint: Arc::default(),
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

    /// What it counts.
    #[must_use]
    pub fn metrics(&self) -> &Arc<RespMetrics> {
        &self.0.metrics
    }

    /// What it counts as every endpoint does. Whoever accepts its connections counts them there.
    #[must_use]
    pub fn endpoint_metrics(&self) -> &Arc<EndpointMetrics> {
        &self.0.endpoint
    }

    /// The endpoint of a process: its limiter, its policy, its tokens.
    pub(super) fn of_process(context: &Arc<Context>) -> Self {
        let common = &context.common;
        let (limiter, namespace) = {
            let in_force = common.live.load();
            (in_force.limits.limiter().clone(), in_force.limits.namespace().to_owned())
        };
        let live = Arc::clone(&common.live);
        let write = common.settings.timeouts.write;
        let bounds = ConnectionBounds { write, ..ConnectionBounds::default() };
        let endpoint = Self::new(limiter, &namespace).with_bounds(bounds);
        let endpoint = endpoint.with_policy(Arc::new(move || Some(Arc::clone(&live.load().limits))));
        let endpoint = endpoint.changed(|shared| {
            shared.metrics = common.metrics.resp();
            shared.endpoint = Arc::clone(&context.metrics);
        });
        if !context.access.asks_for_token() {
            return endpoint;
        }
        let access = Arc::clone(&context.access);
        endpoint.with_token(Arc::new(move |token| access.check(Some(token)).is_ok()))
    }

    /// Serves one connection until it ends, or until `stop` is said and no command is left.
    pub async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: String,
        stop: Receiver<bool>,
    ) {
        let session = Session::new(Arc::clone(&self.0), NEXT.fetch_add(1, Ordering::Relaxed), peer);
        Connection::new(stream, Arc::clone(&self.0), session).run(stop).await;
    }

    fn changed(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        // Only before it is cloned.
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            change(shared);
        }
        self
    }
}

impl Handler for Endpoint {
    async fn serve(self: Arc<Self>, connection: listener::Connection) {
        let listener::Connection { stream, peer, stop, place } = connection;
        Self::serve(&self, stream, peer.to_string(), stop).await;
        drop(place);
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({:?}, asks for a token: {})", self.0.limiter, self.0.token.is_some())
    }
}
