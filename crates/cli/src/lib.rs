//! The command `tollgate`: documents and requests in from files, sentences out. What they mean is decided in `tollgate-policy`.
//!
//! `main.rs` parses and dispatches; every command is one file below `commands`, and takes its arguments as plain data and
//! two writers, so that a test calls it without a process.

pub mod cli;
mod codes;
pub mod commands;
mod doctor;
mod documents;
pub mod draw;
mod exit;
mod files;
mod formats;
pub mod gateway;
mod report;
pub mod serve;
pub mod settings;
mod table;
mod unusable;

pub use exit::Exit;
pub use files::{environment, wall_clock};
