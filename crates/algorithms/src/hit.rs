//! One charge against one limit, enforced or in shadow mode. The store knows the key.

use crate::{Limit, State};

/// What a [batch](crate::decide_batch) charges: a limit, and the state of one key under it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target<'a> {
    /// The limit.
    pub limit: &'a Limit,
    /// The state of the key; `None` for a key never seen.
    pub state: Option<&'a State>,
}

/// One charge against one limit, as part of a [batch](crate::decide_batch).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// The index of the target to charge.
    pub target: usize,
    /// The cost to charge.
    pub cost: u64,
    /// Whether the hit is enforced or in shadow mode.
    pub mode: Mode,
}

/// Whether a hit is enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// If it does not fit, the batch is refused.
    Enforced,
    /// Counted and reported only: if it does not fit, the batch continues without it.
    Shadow,
}
