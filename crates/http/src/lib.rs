//! HTTP parsing that rate limits depend on: client address, proxies, headers, cookies, queries and paths. Pure, no I/O.

pub mod address;
pub mod authorization;
pub mod cookie;
pub mod found;
pub mod header;
pub mod header_filter;
pub mod host;
pub mod method;
pub mod path;
pub mod query;
pub mod target;
pub mod text;
pub mod trusted;
