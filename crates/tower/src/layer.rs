//! The tower layer: limits in front of any HTTP service. What it does with a request is `service`'s.

use std::net::IpAddr;

use tower_layer::Layer;

use crate::front::Front;
use crate::service::Tollgate;

/// Limits in front of any HTTP service: axum's, hyper's, tonic's.
///
/// It is cheap to clone, holds no state of its own, and buffers nothing. A request that may go on goes on as it came, but for
/// its path, which is the one that was matched (a policy only), and with [`Admitted`](crate::Admitted) in its extensions, unless nobody
/// [wants](Self::without_admitted) it. The response carries fields about limits. A request that may not go on is answered, and the service does not see it.
///
/// Limits that are charged by what a body carries charge the most here, because no body is read: count it in front of the layer's
/// place, or use the gateway.
///
/// Limits that are counted in a store which several processes share are waited for without blocking anybody: the response's
/// future does it, for a few milliseconds at the most, and then calls the service that was ready; a clone takes its place. All
/// other limits are asked at once, in `call`. Who leaves while the store is asked has paid nothing in this process.
///
/// Whoever accepts connections says who is at the other end: with a [`Peer`](crate::Peer) among the request's extensions, or
/// axum's `ConnectInfo<SocketAddr>` with the feature `axum`. If nobody does, requests are answered with 500.
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{Router, routing::get};
/// use tollgate::{Limit, Limiter, Micros};
/// use tollgate_tower::{Rule, Rules, TollgateLayer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let per_client = Rule::new("per client", Limit::token_bucket(5, 1, Micros::SECOND)?);
/// let limits = TollgateLayer::new(Rules::new(Limiter::new()?, [per_client])?);
/// let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(limits);
/// # Ok(()) }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TollgateLayer {
    front: Front,
    settings: Settings,
}

/// How the layer treats requests, whatever its limits are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Who is asking, whatever a request says.
    pub(crate) peer: Option<IpAddr>,
    /// Whether handlers find out how their requests stand.
    pub(crate) tells_handlers: bool,
}

impl TollgateLayer {
    /// Of a [`Guard`](crate::Guard), which is a policy in force, or of [`Rules`](crate::Rules).
    #[must_use]
    pub fn new(front: impl Into<Front>) -> Self {
        Self { front: front.into(), settings: Settings { peer: None, tells_handlers: true } }
    }

    /// Takes all requests for those of one peer, whatever they say: for tests, and for services with one client.
    #[must_use]
    pub fn peer(self, peer: IpAddr) -> Self {
        Self { settings: Settings { peer: Some(peer), ..self.settings }, ..self }
    }

    /// Puts no [`Admitted`](crate::Admitted) into the extensions: for services whose handlers neither look at how a request stands nor
    /// settle what it was charged. A request takes a little less time then; responses say the same.
    #[must_use]
    pub fn without_admitted(self) -> Self {
        Self { settings: Settings { tells_handlers: false, ..self.settings }, ..self }
    }
}

impl<S> Layer<S> for TollgateLayer {
    type Service = Tollgate<S>;

    fn layer(&self, inner: S) -> Tollgate<S> {
        Tollgate::new(inner, self.front.clone(), self.settings)
    }
}
