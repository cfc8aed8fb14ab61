//! Responses: the headers that show limits, and complete responses to rejected requests.

mod computed_limits;
pub(crate) mod config;
#[cfg(feature = "policy")]
mod cors;
mod decimal;
pub(crate) mod error_response;
pub mod grpc;
mod header_cache;
mod headers;
mod jitter;
mod json;
pub mod problem;
pub(crate) mod refusal;
mod rendered_limit;
mod structured_fields;
pub(crate) mod writer;
