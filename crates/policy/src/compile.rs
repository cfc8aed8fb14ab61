//! From parsed documents to one immutable policy.

pub(crate) mod default_names;
pub(crate) mod header_names;
pub(crate) mod inherit;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod routes;
pub(crate) mod variants;
