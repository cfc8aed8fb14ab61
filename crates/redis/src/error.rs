//! Why the store gave no decision, by name. None of these is a refusal, and none of them is a grant.

use std::fmt;

/// Why there is no decision. What is done then is the limit's `when_store_fails`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The server answered with something that no script of ours says, or its decision is not the core's.
    Disagrees(String),
    /// A key holds something that is not a state of ours.
    Foreign(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disagrees(what) => write!(f, "Redis gave an answer that cannot be one of ours: {what}"),
            Self::Foreign(what) => write!(f, "a key of ours holds something else: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}
