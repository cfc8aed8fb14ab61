//! Policy as code: documents in, a policy out; a request in, hits out. No I/O, no clock, no state.

#[cfg(test)]
mod chance;
pub mod path;
pub mod router;
pub mod template;
