//! Policies whose limits are counted in a real Redis by several processes.

mod namespaces;
mod parts;
mod scopes;
mod support;
