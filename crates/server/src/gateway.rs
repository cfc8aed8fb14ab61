//! The gateway: limits in front of an upstream. What is said on the command line and in files is `settings`'.

pub mod live;
pub mod logs;
pub mod metrics;
pub mod operations;
pub mod reload;
