//! The laws of adaptive limits as executable properties, on the machines as they ship and with one operator broken.
#![cfg(test)]

mod bounds;
mod laws;
mod machine;
mod model;
mod mutants;
