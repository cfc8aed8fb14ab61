//! The endpoints of a real process: the JSON API, forward authentication behind real proxies, and who may ask.

#![expect(clippy::panic, reason = "what helps tests fails them")]

mod access;
mod api;
mod attacks;
mod forward_auth;
mod schemathesis;
mod support;
