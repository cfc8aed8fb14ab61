//! Why bodies cannot be passed on.

use std::fmt;

use super::deadlines::DeadlineKind;
use super::upstream::UpstreamError;

/// Why a body cannot be passed on.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The client's connection.
    Client(hyper::Error),
    /// The client ended its side of the connection before the end of the body.
    Truncated,
    /// It is larger than bodies may be.
    TooLarge,
    /// The upstream's connection.
    Upstream(UpstreamError),
    /// It came to a standstill.
    Late(DeadlineKind),
    /// A permit of the request became void.
    Void,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => write!(f, "reading the client's body failed: {error}"),
            Self::Truncated => f.write_str("the client's body ended early"),
            Self::TooLarge => f.write_str("the body exceeds the limit"),
            Self::Upstream(error) => write!(f, "reading the upstream's body failed: {error}"),
            Self::Late(due) => write!(f, "the body timed out ({due:?})"),
            Self::Void => f.write_str("a permit of the request became void"),
        }
    }
}

impl std::error::Error for BodyError {}

/// Why a request's body is not passed on, as its exchange remembers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyFault {
    /// It broke off.
    Broken = 1,
    /// It is larger than bodies may be.
    TooLarge,
    /// A permit of its request became void.
    Void,
}
