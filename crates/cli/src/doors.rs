//! The listeners for requests, one module per protocol.

pub mod gateway;
pub mod resp;
pub mod tls;
