//! What the tests of several crates share. Not published, and no dependency of anything that ships.
//!
//! It knows nothing of Tollgate, so that every crate's tests can use it.

pub mod allocations;
pub mod cluster;
pub mod dice;
pub mod folder;
pub mod make;
pub mod patience;
pub mod random;
pub mod server;
pub mod snapshot;

/// The Python interpreter that has `grpcio`. `cargo xtask test install` puts it there.
pub const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/python/bin/python");
