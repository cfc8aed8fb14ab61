//! Rate limits in front of any HTTP service: a tower layer, and the responses that show limits to clients.
//!
#![cfg_attr(feature = "axum", doc = include_str!("docs/front.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod adaptive;
mod admitted;
mod body;
mod check;
#[cfg(feature = "axum")]
mod extract;
mod future;
mod layer;
mod live;
mod outcome;
mod pacer;
mod peer;
mod response;
mod service;

pub use adaptive::{Adaptive, AdaptiveFuture, AdaptiveLayer};
pub use admitted::Admitted;
pub use body::ResponseBody;
pub use check::check;
#[cfg(feature = "axum")]
pub use extract::MissingLayer;
pub use future::ResponseFuture;
pub use layer::TollgateLayer;
pub use live::LimitsHandle;
pub use outcome::RateLimitOutcome;
pub use pacer::{Paced, PacerLayer};
pub use peer::Peer;
pub use response::config::{HeaderFormats, ResetFormat, ResponseConfig};
pub use response::error_response::{ErrorKind, ErrorResponse};
pub use response::writer::{Reply, ResponseWriter};
pub use response::{grpc, problem};
pub use service::Tollgate;
pub use tollgate_engine::{
    CheckError, Degradation, DescriptorId, Enforcer, KeyExtractor, LimitDescriptor, LimitStatus,
    NAME_CHARS_MAX, Refusal, RefusalKind, RequestHead, Rule, RuleKey, RuleKeyError, Rules, RulesError,
    Undetermined, Visibility, ZeroStatus,
};
#[cfg(feature = "policy")]
pub use tollgate_engine::{PolicyLimits, RequiredBody, body_cost};

/// The library whose limits the layer enforces, so that a service needs no second dependency.
pub use tollgate;
#[doc(no_inline)]
pub use tollgate::{Limit, LimitError, Limiter, Window};
/// The engine behind the layer, for other protocols: the crate `tollgate-engine`.
pub use tollgate_engine as engine;
/// Where the client's address comes from: see [`Rules::trusted_proxies`] and [`Rules::prefixes`].
pub use tollgate_http::{
    address::{Client, PrefixError, Prefixes},
    trusted::{ForwardHeader, Networks, TrustedProxies},
};
/// Limits as reviewed documents, for `PolicyLimits`: the crate `tollgate-policy`.
#[cfg(feature = "policy")]
pub use tollgate_policy as policy;
#[cfg(feature = "policy")]
#[doc(no_inline)]
pub use tollgate_policy::{ConsumerIndex, Policy};

/// The README's snippets, so that they are compiled with the documentation's.
#[cfg(all(doctest, feature = "axum"))]
#[doc = include_str!("../README.md")]
mod readme {}
