//! The listeners for requests, one module per protocol, and what the endpoints among them have in common.
//!
//! The gateway forwards requests, and has workers of its own. An *endpoint* answers clients that ask for decisions; endpoints share
//! a runtime, an accept loop (`listener`), and the check of who may ask (`access`).

pub(crate) mod access;
pub mod endpoints;
#[cfg(feature = "envoy")]
pub(crate) mod envoy;
pub mod gateway;
pub(crate) mod grpc;
pub(crate) mod http_api;
pub(crate) mod listener;
pub mod resp;
pub(crate) mod stream;
pub mod tls;
