//! Responses: the headers that show limits, and complete responses to rejected requests.

mod computed_limits;
pub(crate) mod config;
#[cfg(feature = "policy")]
mod cors;
pub(crate) mod error_response;
pub mod grpc;
mod headers;
mod jitter;
mod json;
mod numbers;
pub mod problem;
pub(crate) mod refusal;
mod remembered;
mod rendered_limit;
mod sf;
pub(crate) mod writer;
