//! The tower layer: rate limits in front of any HTTP service. `service` handles the requests.

use std::net::IpAddr;
use std::sync::Arc;

use tollgate_engine::Enforcer;
use tower_layer::Layer;

use crate::live::{ActiveLimits, LiveLimits};
use crate::response::config::ResponseConfig;
use crate::service::Tollgate;

/// Rate limits in front of any HTTP service: axum's, hyper's, tonic's.
///
/// It is cheap to clone and buffers nothing. An admitted request goes to the service unchanged, except for its path, which is
/// normalised (policies only), and with [`Admitted`](crate::Admitted) in its extensions, unless
/// [disabled](Self::without_admitted). Its response gets headers that show the limits. A request that is not admitted
/// gets an error response, and the service does not see it.
///
/// A limit that counts the operations in a body charges its maximum, because the layer does not read bodies.
///
/// If a limit is in a shared store, the response future waits for the store, and then
/// calls the service that was ready; a clone takes its place. If the client disconnects meanwhile, nothing is charged
/// in this process. All other limits are checked at once, in `call`.
///
/// The server must provide the peer's address: with a [`Peer`](crate::Peer) in the request's extensions, or with axum's
/// `ConnectInfo<SocketAddr>` and the feature `axum`. Without it, requests get a 500.
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{Router, routing::get};
/// use tollgate::{Limit, Limiter};
/// use tollgate_tower::{Rule, Rules, TollgateLayer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let per_client = Rule::new("per client", Limit::per_second(1).burst(5)?);
/// let limits = TollgateLayer::new(Rules::new(Limiter::new()?, [per_client])?);
/// let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(limits);
/// # Ok(()) }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TollgateLayer {
    live: Arc<LiveLimits>,
    settings: Settings,
}

/// Settings of the layer, independent of its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// A fixed peer for all requests.
    pub(crate) peer: Option<IpAddr>,
    /// Whether requests get an `Admitted` extension.
    pub(crate) tells_handlers: bool,
}

impl TollgateLayer {
    /// A layer that enforces [`Rules`](crate::Rules), the limits of a policy, or any [`Enforcer`].
    #[must_use]
    pub fn new(enforcer: impl Into<Enforcer>) -> Self {
        let active = ActiveLimits::new(enforcer.into(), ResponseConfig::default());
        let settings = Settings { peer: None, tells_handlers: true };
        Self { live: Arc::new(LiveLimits::new(active)), settings }
    }

    /// Sets what responses show.
    #[must_use]
    pub fn with_responses(self, config: ResponseConfig) -> Self {
        self.live.configure(config);
        self
    }

    /// Sets a fixed peer for all requests: for tests, and for services with one client.
    #[must_use]
    pub fn with_peer(self, peer: IpAddr) -> Self {
        Self { settings: Settings { peer: Some(peer), ..self.settings }, ..self }
    }

    /// Puts no [`Admitted`](crate::Admitted) into the extensions, for services whose handlers neither look at their limits nor
    /// settle charges. A request takes a little less time then; responses are the same.
    #[must_use]
    pub fn without_admitted(self) -> Self {
        Self { settings: Settings { tells_handlers: false, ..self.settings }, ..self }
    }
}

impl<S> Layer<S> for TollgateLayer {
    type Service = Tollgate<S>;

    fn layer(&self, inner: S) -> Tollgate<S> {
        Tollgate::new(inner, Arc::clone(&self.live), self.settings)
    }
}
