//! Metrics and logs, shared by every listener of the process.

pub mod logs;
pub mod metrics;
