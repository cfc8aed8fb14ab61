//! Rate limits in front of any HTTP service: a tower layer, and the responses that show limits to clients.
//!
//! Five lines put limits into an axum service:
//!
//! ```
//! use axum::{Router, routing::get};
//! use tollgate::{Limit, Limiter};
//! use tollgate_tower::{Rule, Rules, TollgateLayer};
//!
//! let per_client = Rule::new("per client", Limit::per_second(1).burst(5)?);
//! let limits = TollgateLayer::new(Rules::new(Limiter::new()?, [per_client])?);
//! let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(limits);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For the limits of an OpenAPI document use `PolicyLimits` (feature `policy`) in place of [`Rules`]. Serve the router with
//! `into_make_service_with_connect_info::<SocketAddr>()`, so that the layer knows the client's address. A handler that takes
//! [`Admitted`] sees the status of its limits, and may settle the cost or refund it when the work is done. A refused request gets
//! a 429 with an exact `Retry-After`, the `RateLimit` headers of the current draft and a problem body, or, if it was a gRPC call,
//! the status `RESOURCE_EXHAUSTED` with the same headers.

mod adaptive;
mod admitted;
mod body;
#[cfg(feature = "axum")]
mod extract;
mod future;
mod layer;
mod live;
mod peer;
mod response;
mod service;

pub use adaptive::{Adaptive, AdaptiveFuture, AdaptiveLayer};
pub use admitted::Admitted;
pub use body::ResponseBody;
#[cfg(feature = "axum")]
pub use extract::NoLayer;
pub use future::ResponseFuture;
pub use layer::TollgateLayer;
pub use peer::Peer;
pub use response::config::{Generations, Reset, ResponseConfig};
pub use response::error_response::{ErrorKind, ErrorResponse};
pub use response::writer::{Reply, ResponseWriter};
pub use response::{grpc, problem};
pub use service::Tollgate;
#[cfg(feature = "policy")]
pub use tollgate_engine::{BodyWanted, PolicyLimits, operations};
pub use tollgate_engine::{
    CheckError, Degradation, DescriptorId, Enforcer, KeyExtractor, LimitDescriptor, LimitStatus,
    NAME_CHARS_MAX, RequestHead, Rule, Rules, RulesError, Visibility, ZeroStatus,
};
