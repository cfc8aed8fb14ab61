//! Where state lives. Today there is one place: memory.

pub(crate) mod memory;
