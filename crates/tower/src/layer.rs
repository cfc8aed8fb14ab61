//! The tower layer: rate limits in front of any HTTP service. `service` handles the requests.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Extensions, Response};
use tollgate_engine::{Enforcer, Refusal};
use tower_layer::Layer;

use crate::live::{ActiveLimits, LimitsHandle};
use crate::peer::PeerSource;
use crate::response::config::ResponseConfig;
use crate::service::Tollgate;

/// Rate limits in front of any HTTP service: axum's, hyper's, tonic's.
///
/// It is cheap to clone, and buffers nothing. An admitted request proceeds as it came, except for its path, which is the one
/// that was matched (policies only), and with [`Admitted`](crate::Admitted) in its extensions, unless
/// [nobody needs it](Self::without_admitted). Its response carries headers that show the limits, and its
/// [outcome](crate::RateLimitOutcome) as an extension. A request that is not admitted is answered, and the service does not see
/// it.
///
/// A limit that counts the operations in a body charges its maximum, because the layer does not read bodies.
///
/// If a limit is in a shared store, the response future waits for the store, and then
/// calls the service that was ready; a clone takes its place. If the client disconnects meanwhile, nothing is charged
/// in this process. All other limits are checked at once, in `call`.
///
/// # The client's address
///
/// The server that accepts connections states the peer, and the layer finds it in the request's extensions: axum's
/// `ConnectInfo<SocketAddr>` (feature `axum`), tonic's `TcpConnectInfo` (feature `tonic`), or [`Peer`](crate::Peer), which any
/// server can insert. [`peer_from`](Self::peer_from) reads anything else. A request whose limits need the address, where nothing
/// states it, is answered with a 500 that says so.
///
/// # Layers inside layers
///
/// A service may have limits of its own inside limits of the whole server. The layers share one admission: if an inner layer
/// refuses the request, the outer ones refund what they charged, and the response shows the numbers of the inner one only. If
/// the request is admitted, the headers show the limits of all of them, and [`Admitted`](crate::Admitted) settles and refunds all
/// of them.
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
pub struct TollgateLayer(Arc<LayerState>);

/// What a layer and its services share.
#[derive(Clone, Debug)]
pub(crate) struct LayerState {
    pub(crate) live: LimitsHandle,
    pub(crate) peer: PeerSource,
    /// Whether handlers get an `Admitted`, and responses an outcome.
    pub(crate) tells_handlers: bool,
    pub(crate) on_refusal: Option<RefusalHook>,
}

/// Writes the responses to refused requests in place of the layer.
#[derive(Clone)]
pub(crate) struct RefusalHook(Arc<RefusalFn>);

type RefusalFn = dyn Fn(&Refusal, Response<Bytes>) -> Response<Bytes> + Send + Sync;

impl RefusalHook {
    pub(crate) fn write(&self, refusal: &Refusal, prepared: Response<Bytes>) -> Response<Bytes> {
        self.0(refusal, prepared)
    }
}

impl fmt::Debug for RefusalHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("function")
    }
}

impl TollgateLayer {
    /// A layer that enforces [`Rules`](crate::Rules), the limits of a policy, or any [`Enforcer`].
    #[must_use]
    pub fn new(enforcer: impl Into<Enforcer>) -> Self {
        let active = ActiveLimits::new(Arc::new(enforcer.into()), ResponseConfig::default());
        let (live, peer) = (LimitsHandle::new(active), PeerSource::Extensions);
        Self(Arc::new(LayerState { live, peer, tells_handlers: true, on_refusal: None }))
    }

    /// A handle that replaces the limits while the service runs, and inspects and resets keys.
    #[must_use]
    pub fn handle(&self) -> LimitsHandle {
        self.0.live.clone()
    }

    /// Sets what responses show.
    #[must_use]
    pub fn with_responses(self, config: ResponseConfig) -> Self {
        self.0.live.configure_responses(config);
        self
    }

    /// Writes the responses to refused requests. The function gets the refusal and the response that the layer would send, with
    /// its status, its headers and a problem body, and returns the response to send; a body is anything that becomes [`Bytes`].
    ///
    /// Keep `Retry-After` and the `RateLimit` headers, which clients act on. Change `Content-Type` together with the body. A gRPC
    /// call gets the status of gRPC as always, and the function is not called.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use http::HeaderValue;
    /// use http::header::CONTENT_TYPE;
    /// # use tollgate::{Limit, Limiter};
    /// # use tollgate_tower::{Rule, Rules, TollgateLayer};
    /// # let rules = Rules::new(Limiter::new()?, [Rule::new("per client", Limit::per_second(1).burst(5)?)])?;
    /// let limits = TollgateLayer::new(rules).on_refusal(|refusal, mut response| {
    ///     response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    ///     response.map(|_| format!(r#"{{"error":"slow_down","limit":"{}"}}"#, refusal.limit().name()))
    /// });
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn on_refusal<T: Into<Bytes>>(
        self,
        write: impl Fn(&Refusal, Response<Bytes>) -> Response<T> + Send + Sync + 'static,
    ) -> Self {
        let hook = move |refusal: &Refusal, prepared| write(refusal, prepared).map(Into::into);
        self.with(|state| state.on_refusal = Some(RefusalHook(Arc::new(hook))))
    }

    /// Finds the peer with a function of the request's extensions, for servers that state it in a type of their own. Where it
    /// returns `None`, the layer looks where it always does.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use tollgate::{Limit, Limiter};
    /// # use tollgate_tower::{Rule, Rules, TollgateLayer};
    /// # let rules = Rules::new(Limiter::new()?, [Rule::new("per client", Limit::per_second(1).burst(5)?)])?;
    /// #[derive(Clone)]
    /// struct Connection { remote: std::net::SocketAddr }
    /// let limits = TollgateLayer::new(rules)
    ///     .peer_from(|extensions| Some(extensions.get::<Connection>()?.remote.ip()));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn peer_from(self, find: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.with(|state| state.peer = PeerSource::Fn(Arc::new(find)))
    }

    /// Sets a fixed peer for all requests: for tests, and for services with one client.
    #[must_use]
    pub fn with_peer(self, peer: IpAddr) -> Self {
        self.with(|state| state.peer = PeerSource::Fixed(peer))
    }

    /// Puts no [`Admitted`](crate::Admitted) into the extensions, and no outcome into those of an admitted request's response,
    /// for services whose handlers neither look at their limits nor settle charges. A request takes a little less time then;
    /// responses are the same.
    #[must_use]
    pub fn without_admitted(self) -> Self {
        self.with(|state| state.tells_handlers = false)
    }

    fn with(mut self, change: impl FnOnce(&mut LayerState)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl<S> Layer<S> for TollgateLayer {
    type Service = Tollgate<S>;

    fn layer(&self, inner: S) -> Tollgate<S> {
        Tollgate::new(inner, Arc::clone(&self.0))
    }
}
