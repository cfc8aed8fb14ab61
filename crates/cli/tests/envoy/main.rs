//! The gRPC endpoint from outside: a real Envoy in front of it, and a real gRPC client in another language.

#![expect(clippy::panic, reason = "what helps tests fails them")]

mod client;
mod filter;
mod support;
