//! From trees to the model: what each part of a document says. How parts work together is decided when they are compiled.

pub(crate) mod cors;
pub(crate) mod cost;
pub(crate) mod identity;
pub(crate) mod limit;
pub(crate) mod native;
pub(crate) mod numbers;
pub(crate) mod openapi;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod settings;
