//! The memory store as it ships, with the names that it has there. What explores it is `view.rs` and `whole.rs`.

pub(crate) mod memory;
