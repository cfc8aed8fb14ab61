//! One charge against one limit, enforced or in the shadow. Whose key it is, the store knows.

use crate::Limit;

/// One charge against one limit, as part of a [batch](crate::decide_batch).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit<'a> {
    /// The limit to charge.
    pub limit: &'a Limit,
    /// Which of the batch's states it is charged to: its key's. Hits on the same key have the same limit.
    pub slot: usize,
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
