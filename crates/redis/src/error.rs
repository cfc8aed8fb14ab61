//! Why the store made no decision. None of these errors is a refusal or a grant.

use std::fmt;

use crate::{Cause, LinkError};

/// Why the store made no decision. The limit's `when_store_fails` applies.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There was no reply, or an error reply.
    Link(LinkError),
    /// The reply is not one of a Tollgate script, or its decision differs from the algorithm's.
    Disagrees(String),
    /// A key contains foreign data.
    Foreign(String),
    /// A key contains a state of another [kind](crate::StateKind) than its name says.
    ForeignKind(String),
}

impl StoreError {
    /// The cause, from a fixed set.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        match self {
            Self::Link(error) => error.cause(),
            Self::Disagrees(_) => Cause::Disagrees,
            Self::Foreign(_) => Cause::Foreign,
            Self::ForeignKind(_) => Cause::ForeignKind,
        }
    }

    /// The name of the cause, for metrics and logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.cause().name()
    }

    /// Returns false only if certainly nothing was charged.
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
