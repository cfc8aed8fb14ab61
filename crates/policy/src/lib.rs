//! Policy as code: documents in, a policy out; a request in, hits out. No I/O, no clock, no state.

mod compile;
mod context;
mod document;
mod draft;
mod fields;
pub mod model;
pub mod numbers;
mod reading;
pub mod quantity;
pub mod text;

pub use document::read::{DEPTH_MAX, DOCUMENT_BYTES_MAX, NODES_MAX};
