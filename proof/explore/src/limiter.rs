//! A stand-in for the limiter that a named limit belongs to: an exploration charges the store itself.

/// Not a limiter.
#[derive(Clone, Debug)]
pub(crate) struct Limiter;
