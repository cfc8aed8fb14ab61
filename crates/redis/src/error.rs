//! Why the store gave no decision, by name. None of these is a refusal, and none of them is a grant.

use std::fmt;

use crate::LinkError;

/// Why there is no decision. What is done then is the limit's `when_store_fails`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There was no answer.
    Link(LinkError),
    /// The server answered with something that no script of ours says, or its decision is not the core's.
    Disagrees(String),
    /// A key holds something that is not a state of ours.
    Foreign(String),
}

impl StoreError {
    /// Its name, one of a fixed set: for metrics and logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Link(error) => error.name(),
            Self::Disagrees(_) => "disagrees",
            Self::Foreign(_) => "foreign",
        }
    }

    /// Whether something may have been charged. "No" is certain.
    #[must_use]
    pub const fn may_have_run(&self) -> bool {
        match self {
            Self::Link(error) => error.may_have_run(),
            Self::Disagrees(_) => true,
            Self::Foreign(_) => false,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => write!(f, "{error}"),
            Self::Disagrees(what) => write!(f, "Redis gave an answer that cannot be one of ours: {what}"),
            Self::Foreign(what) => write!(f, "a key of ours holds something else: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}
