//! The scripts of the shared store against the core, on real servers: the same decisions and the same states. Not shipped.

pub mod asked;
pub mod compare;
pub mod mutants;
pub mod permits;
pub mod scene;
pub mod server;
pub mod vectors;
pub mod wire;
pub mod world;
