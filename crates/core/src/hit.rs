//! One charge against one key's limit, enforced or in the shadow. Whose key it is, the store knows.

use crate::{Limit, State};

/// A key of a [batch](crate::decide_batch): its limit, and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key<'a> {
    /// The limit that the key is under.
    pub limit: &'a Limit,
    /// Its state; `None` is a key never seen.
    pub state: Option<&'a State>,
}

/// One charge against one limit, as part of a [batch](crate::decide_batch).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Which of the batch's keys is charged.
    pub key: usize,
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
