//! From parsed documents to one immutable policy.

pub(crate) mod default_names;
pub(crate) mod header_names;
pub(crate) mod inherit;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod named;
pub(crate) mod required;
pub(crate) mod routes;
pub(crate) mod uses;
pub(crate) mod variants;
