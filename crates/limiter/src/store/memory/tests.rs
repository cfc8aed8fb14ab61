//! The store against the laws, the model and the core. What only the front door can show is in the crate's `tests`.

mod collisions;
mod common;
mod differential;
mod holding;
mod idle;
mod laws;
mod moving;
mod numbers;
mod over;
mod reference;
mod returning;
mod vectors;
