//! Envoy's rate limit service (RLS v3) on Tollgate: requests become hits on named limits, and verdicts become responses.
//!
//! Limits come from files of envoyproxy/ratelimit or Limitador, which are read as they are: [`Limits::load`]. A
//! [`RateLimitService`] puts them in force on a [`Limiter`](tollgate::Limiter), and [`RateLimitService::routes`] are its gRPC services.
//! This crate opens no socket. Counting, shadow mode and what happens when a store fails are the limiter's.

mod bounds;
mod counters;
mod decide;
mod headers;
mod in_force;
mod kuadrant;
mod limits;
mod options;
mod plan;
mod receipts;
mod reflection;
mod response;
mod service;
mod unit;

pub use bounds::{DESCRIPTOR_BYTES_MAX, DESCRIPTORS_MAX, DOMAIN_BYTES_MAX, ENTRIES_MAX, MESSAGE_BYTES_MAX};
pub use counters::{Count, Counters, RuleCounters};
pub use in_force::OVERRIDES_MAX;
pub use limits::{
    DESCRIPTORS_OF_FILE_MAX, Limits, Match, Numbers, Outline, RULES_MAX, Rejected, Rule, Values, Wanted,
    Window,
};
pub use options::{Headers, Options, RECEIPTS_PER_KEY};
pub use receipts::RECEIPTS_MAX;
pub use service::{Observed, RateLimitService, unauthenticated};
pub use tonic::service::Routes;
pub use unit::Unit;
