//! The command `tollgate`: reads documents and requests, and prints results. `tollgate-policy` decides what they mean.
//!
//! `main.rs` parses and dispatches; every command is one file below `commands`, and takes its arguments as plain data and
//! two writers, so that a test calls it without a process.

pub mod active_policy;
pub mod admin;
pub mod cli;
pub mod commands;
mod doctor;
mod documents;
pub mod doors;
mod exit;
mod files;
mod finding;
mod formats;
mod lint_codes;
pub mod reload;
pub mod render;
mod report_errors;
pub mod serve;
pub mod settings;
mod table;
pub mod telemetry;

pub use exit::Exit;
pub use files::{environment, wall_clock};
