//! Who is at the other end of the connection: where a request says so. Which address is the client's is the policy's to say.

use std::net::IpAddr;

use http::request::Parts;

/// Who is at the other end of the connection, as an extension of the request: whoever accepts connections puts it there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Peer(pub IpAddr);

/// Said when nobody is there to be limited. It never means "not limited".
pub(crate) const UNKNOWN: &str = "The limits in front of this service do not know who is asking: put `tollgate_tower::Peer` into \
     the request's extensions, serve with axum's `into_make_service_with_connect_info::<SocketAddr>()` and the feature \
     `axum`, or set a peer on the layer.";

/// The peer of a request: as the extension says, or else axum's.
pub(crate) fn of(parts: &Parts) -> Option<IpAddr> {
    let own = parts.extensions.get::<Peer>().map(|peer| peer.0);
    #[cfg(feature = "axum")]
    let own = own.or_else(|| {
        use axum::extract::ConnectInfo;
        use std::net::SocketAddr;
        parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
    });
    own
}
