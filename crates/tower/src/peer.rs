//! The peer of a request: the address at the other end of the connection.

use std::net::IpAddr;

use http::request::Parts;

/// The address at the other end of the connection, as an extension of the request. The server that accepts connections inserts
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Peer(pub IpAddr);

/// The detail of the response if the client's address is unknown. The request is not admitted.
pub(crate) const UNKNOWN_PEER: &str = "The rate limiter does not know the client's address. Insert `tollgate_tower::Peer` \
     into the request's extensions, serve with axum's `into_make_service_with_connect_info::<SocketAddr>()` and the feature \
     `axum`, or set a peer on the layer.";

/// The peer of a request: [`Peer`], or else axum's `ConnectInfo`.
pub(crate) fn find(parts: &Parts) -> Option<IpAddr> {
    let own = parts.extensions.get::<Peer>().map(|peer| peer.0);
    #[cfg(feature = "axum")]
    let own = own.or_else(|| {
        use axum::extract::ConnectInfo;
        use std::net::SocketAddr;
        parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
    });
    own
}
