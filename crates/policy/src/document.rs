//! Texts that people write, as trees that know where everything stands. What a tree means is not decided here.

pub(crate) mod diagnostic;
mod json;
pub(crate) mod read;
pub(crate) mod sources;
pub(crate) mod suggest;
mod syntax;
pub(crate) mod tree;
