//! The command as people and scripts use it: what it prints, how it ends. Without a process, but for `process`.

mod annotate;
mod any_input;
mod codes;
mod colour;
mod diff;
mod explain;
mod help;
mod import;
mod lint;
mod outputs;
mod pages;
mod process;
mod sarif;
mod scenarios;
mod schema;
mod secrets;
mod serve;
mod support;
mod unusable;
