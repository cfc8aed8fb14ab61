//! The modules of the table, as they ship, on the memory of an exploration. Not the store around them.

pub(crate) mod look;
pub(crate) mod region;

include!(concat!(env!("OUT_DIR"), "/table.rs"));
