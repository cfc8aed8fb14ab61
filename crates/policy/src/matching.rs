//! From a request to its hits: the operation it matches, the consumer it belongs to, and the cost. Pure; no state.

pub(crate) mod body;
pub(crate) mod condition;
pub(crate) mod cost;
pub(crate) mod hits;
pub(crate) mod identity;
pub(crate) mod key_builder;
mod limit_charge;
pub(crate) mod operation;
mod priority;
pub(crate) mod request;
