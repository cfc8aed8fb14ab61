//! The listeners through which requests come in, one module per protocol.

pub mod gateway;
pub mod tls;
