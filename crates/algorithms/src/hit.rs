//! One charge against one limit, enforced or in shadow mode. The store knows the key.

use crate::{Limit, State};

/// What a [batch](crate::decide_batch) charges: a limit, and where one key stands under it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target<'a> {
    /// The limit.
    pub limit: &'a Limit,
    /// Where the key stands; `None` is a key never seen.
    pub state: Option<&'a State>,
}

/// One charge against one limit, as part of a [batch](crate::decide_batch).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Which of the batch's targets is charged.
    pub target: usize,
    /// How much to charge.
    pub cost: u64,
    /// Whether a refusal refuses the batch.
    pub mode: Mode,
}

/// Whether a hit's refusal counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// If it does not fit, nothing in the batch is charged.
    Enforced,
    /// Counted and reported only: if it does not fit it is left out, and the others go on without it.
    Shadow,
}
