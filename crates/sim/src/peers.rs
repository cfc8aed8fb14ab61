//! Limits of other projects, written anew from their published formulas and defaults. They are not the projects' own code.

mod envoy;
mod netflix;

pub use envoy::Envoy;
pub use netflix::Netflix;
