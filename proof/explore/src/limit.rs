//! A limit as the store knows it, as it ships.

include!(concat!(env!("OUT_DIR"), "/limit.rs"));
