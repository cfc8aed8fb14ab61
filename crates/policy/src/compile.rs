//! From parsed documents to one immutable policy.

mod base_path;
pub(crate) mod default_names;
pub(crate) mod header_names;
pub(crate) mod inherit;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod named;
mod openapi_path;
mod overlap;
pub(crate) mod required;
mod route_group;
pub(crate) mod routes;
pub(crate) mod suffix;
pub(crate) mod uses;
pub(crate) mod variants;
