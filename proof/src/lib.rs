//! The laws of `tollgate-algorithms` as executable properties, and an independent model of every algorithm. Not shipped.

pub mod calendar;
pub mod compare;
pub mod drift;
pub mod engine;
pub mod laws;
pub mod model;
pub use tollgate_testing::random;
pub mod spec;
pub mod trace;
