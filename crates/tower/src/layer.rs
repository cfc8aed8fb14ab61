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
/// It is cheap to clone, and buffers nothing. An admitted request proceeds as it came, except for its path, which is the one
/// that was matched (policies only), and with [`Admitted`](crate::Admitted) in its extensions, unless
/// [nobody needs it](Self::without_admitted). Its response carries headers that show the limits. A request that is not admitted
/// is answered, and the service does not see it.
///
/// A limit that counts the operations in a body charges its maximum here, because the layer reads no body.
///
/// If a limit is counted in a store that is shared by several processes, the response's future waits for the store, and then
/// calls the service that was ready; a clone takes its place. If the client leaves while the store is asked, nothing was charged
/// in this process. All other limits are checked at once, in `call`.
///
/// The server that accepts connections states the peer: with a [`Peer`](crate::Peer) in the request's extensions, or with axum's
/// `ConnectInfo<SocketAddr>` and the feature `axum`. Otherwise requests are answered with 500.
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

/// How the layer treats requests, whatever its limits are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The peer of every request, whatever a request says.
    pub(crate) peer: Option<IpAddr>,
    /// Whether handlers get an `Admitted`.
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

    /// Takes every request for one of this peer, whatever it says: for tests, and for services with one client.
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
