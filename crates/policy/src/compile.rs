//! From documents to one immutable policy that can be asked. Requests are not read here.

pub(crate) mod effective;
pub(crate) mod header_names;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod names;
pub(crate) mod routes;
pub(crate) mod variants;
