//! Answers end to end: requests through the layer to a service behind it, on a clock that is moved by hand. No sockets.

mod bodies;
mod degraded;
mod denied;
mod fields;
mod grpc;
mod in_progress;
mod injection;
mod layer;
mod promises;
mod refusals;
mod responses;
mod rules;
mod support;
mod tokens;
mod upstream;
