//! Limits in front of any HTTP service: request in, verdict, answer out. No state of its own, no sockets.
//!
//! Five lines put limits into an axum service:
//!
//! ```
//! use axum::{Router, routing::get};
//! use tollgate::{Limit, Limiter, Micros};
//! use tollgate_tower::{Rule, Rules, TollgateLayer};
//!
//! let per_client = Rule::new("per client", Limit::token_bucket(5, 1, Micros::from_secs(10))?);
//! let limits = TollgateLayer::new(Rules::new(Limiter::new()?, [per_client])?);
//! let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(limits);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! or those of an OpenAPI document, with a [`Guard`] in place of [`Rules`]. Serve the router with
//! `into_make_service_with_connect_info::<SocketAddr>()`, so that the layer knows who is asking. A handler that takes
//! [`Admitted`] learns how its caller stands, and may settle the cost or give it back when the work is done. Whoever is refused
//! gets a 429 with an exact `Retry-After`, the `RateLimit` fields of the current draft, and a problem body; or, if it was a call of
//! gRPC, the status `RESOURCE_EXHAUSTED` with the same fields.

mod admitted;
mod answers;
mod asked;
mod body;
mod card;
mod cors;
#[cfg(feature = "axum")]
mod extract;
mod fields;
mod front;
mod future;
pub mod grpc;
mod guard;
mod head;
mod json;
mod later;
mod layer;
mod numbers;
pub mod operations;
mod peer;
pub mod problem;
mod refusal;
mod remembered;
mod rule;
mod rules;
mod secret;
mod service;
mod sf;

pub use admitted::{Admitted, Standing};
pub use answers::{Answers, Generations, Reset};
pub use asked::{Answer, AnswerKind, Asked, Pass};
pub use body::ResponseBody;
pub use card::{Card, Visibility};
#[cfg(feature = "axum")]
pub use extract::NoLayer;
pub use fields::{Fields, Line};
pub use front::Front;
pub use future::ResponseFuture;
pub use guard::Guard;
pub use head::{Head, Room};
pub use later::Later;
pub use layer::TollgateLayer;
pub use operations::BodyWanted;
pub use peer::Peer;
pub use refusal::refused;
pub use rule::{By, Rule};
pub use rules::{NAME_CHARS_MAX, Rules, RulesError};
pub use service::Tollgate;
