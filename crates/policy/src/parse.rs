//! From syntax trees to parsed documents. How parts work together is decided when they are compiled.

pub(crate) mod condition;
pub(crate) mod context;
pub(crate) mod cors;
pub(crate) mod cost;
pub(crate) mod identity;
mod in_progress;
mod in_turn;
pub(crate) mod limit;
pub(crate) mod limit_use;
pub(crate) mod native;
mod not_a_limit;
pub(crate) mod numbers;
pub(crate) mod openapi;
mod parameters;
pub(crate) mod parsed_document;
mod priorities;
mod references;
pub(crate) mod schema_fields;
pub(crate) mod security;
pub(crate) mod servers;
pub(crate) mod settings;
mod stray_limits;
