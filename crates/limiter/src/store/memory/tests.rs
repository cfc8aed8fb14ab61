//! The store against the laws, the model and the reference algorithms.

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
