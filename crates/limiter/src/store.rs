//! Stores of this process: currently only memory.

pub(crate) mod memory;
