//! Policy as code: documents in, a policy out; a request in, hits out. No I/O, no clock, no state.

pub mod address;
pub mod cookie;
#[cfg(test)]
mod dice;
pub mod found;
pub mod header;
pub mod host;
pub mod method;
pub mod query;
pub mod target;
pub mod trusted;
