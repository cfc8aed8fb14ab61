//! Answers end to end: requests through the layer to a service behind it, on a clock that is moved by hand. No sockets.

mod bodies;
mod degraded;
mod denied;
mod fields;
mod grpc;
mod handle;
mod in_progress;
mod injection;
mod layer;
mod nested;
mod promises;
mod refusal_hook;
mod refusals;
mod responses;
mod rules;
mod support;
mod tenants;
mod tokens;
mod upstream;
mod wider;
