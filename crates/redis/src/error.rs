//! Why the store made no decision. None of these errors is a refusal or a grant.

use std::fmt;

use crate::{Cause, LinkError};

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
    /// A key holds a state of another [kind](crate::StateKind) than its name says.
    ForeignKind(String),
}

impl StoreError {
    /// Its cause, one of a fixed set.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        match self {
            Self::Link(error) => error.cause(),
            Self::Disagrees(_) => Cause::Disagrees,
            Self::Foreign(_) => Cause::Foreign,
            Self::ForeignKind(_) => Cause::ForeignKind,
        }
    }

    /// Its name, for metrics and logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.cause().name()
    }

    /// Whether something may have been charged. "No" is certain.
    #[must_use]
    pub const fn may_have_run(&self) -> bool {
        match self {
            Self::Link(error) => error.may_have_run(),
            Self::Disagrees(_) => true,
            Self::Foreign(_) | Self::ForeignKind(_) => false,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => write!(f, "{error}"),
            Self::Disagrees(what) => write!(f, "Redis returned an unexpected reply: {what}"),
            Self::Foreign(what) | Self::ForeignKind(what) => {
                write!(f, "a Tollgate key holds foreign data: {what}")
            }
        }
    }
}

impl std::error::Error for StoreError {}
