//! The peer of a request: the address at the other end of the connection.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::Extensions;

/// The address at the other end of the connection, as an extension of the request. The server that accepts connections inserts
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Peer(pub IpAddr);

/// Where a layer finds the peer of a request.
#[derive(Clone, Default)]
pub(crate) enum PeerSource {
    /// In the request's extensions, as known servers insert it.
    #[default]
    Extensions,
    /// It is the same for every request.
    Fixed(IpAddr),
    /// The server's own code knows; otherwise as known servers insert it.
    Fn(Arc<PeerFn>),
}

/// Finds the peer in a request's extensions.
type PeerFn = dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync;

impl PeerSource {
    /// The peer of a request with these extensions.
    pub(crate) fn find(&self, extensions: &Extensions) -> Option<IpAddr> {
        match self {
            Self::Extensions => known(extensions),
            Self::Fixed(peer) => Some(*peer),
            Self::Fn(find) => find(extensions).or_else(|| known(extensions)),
        }
    }
}

/// The peer as known servers state it: [`Peer`], or else axum's `ConnectInfo`, or else tonic's `TcpConnectInfo`.
fn known(extensions: &Extensions) -> Option<IpAddr> {
    let peer = extensions.get::<Peer>().map(|peer| peer.0);
    #[cfg(feature = "axum")]
    let peer = peer.or_else(|| {
        use axum::extract::ConnectInfo;
        use std::net::SocketAddr;
        extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
    });
    #[cfg(feature = "tonic")]
    let peer = peer.or_else(|| {
        use tonic::transport::server::TcpConnectInfo;
        extensions.get::<TcpConnectInfo>()?.remote_addr().map(|address| address.ip())
    });
    peer
}

/// The detail of the response if the client's address is unknown. The request is not admitted.
pub(crate) fn unknown_peer() -> String {
    let axum = if cfg!(feature = "axum") { "" } else { "enable the feature `axum` of `tollgate-tower` and " };
    let tonic = if cfg!(feature = "tonic") { "serve over TCP" } else { "enable the feature `tonic`" };
    format!(
        "The rate limiter does not know the client's address. With axum, {axum}serve \
         `app.into_make_service_with_connect_info::<SocketAddr>()`; with tonic, {tonic}; otherwise insert \
         `tollgate_tower::Peer` into the request's extensions, or set `TollgateLayer::peer_from`."
    )
}

impl fmt::Debug for PeerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extensions => f.write_str("extensions"),
            Self::Fixed(peer) => write!(f, "{peer}"),
            Self::Fn(_) => f.write_str("function"),
        }
    }
}
