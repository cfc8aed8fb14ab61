//! The endpoints of a real process: the JSON API, forward authentication behind real proxies, and who may ask.

mod access;
mod api;
mod attacks;
mod forward_auth;
mod schemathesis;
mod support;
