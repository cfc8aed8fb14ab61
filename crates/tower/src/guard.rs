//! A gate with its answers: a place for it, until it does more than to hold them. It answers nothing.

use tollgate::Gate;

use crate::Answers;

/// A policy in force, and what clients are told about it.
#[derive(Debug)]
pub struct Guard {
    gate: Gate,
    answers: Answers,
}

impl Guard {
    /// A guard.
    #[must_use]
    pub const fn new(gate: Gate, answers: Answers) -> Self {
        Self { gate, answers }
    }

    /// The gate.
    #[must_use]
    pub const fn gate(&self) -> &Gate {
        &self.gate
    }

    /// What clients are told.
    #[must_use]
    pub const fn answers(&self) -> &Answers {
        &self.answers
    }
}
