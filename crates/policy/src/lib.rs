//! Policy as code: documents in, a policy out; a request in, hits out. No I/O, no clock, no state.

pub mod consumers;
#[cfg(test)]
mod draw;
pub mod jwt;
pub mod key;
