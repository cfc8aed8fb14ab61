//! Errors of a check: requests that cannot be charged. An error is neither a grant nor a refusal, and nothing was charged.

use std::fmt;

use tollgate::HitError;

/// Why a request was not checked against its limits. Nothing was charged.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CheckError {
    /// The request is malformed or ambiguous: HTTP's 400.
    BadRequest(String),
    /// The token that identifies the client is not valid: HTTP's 401.
    InvalidToken(String),
    /// No operation of the policy has this path: HTTP's 404.
    NotFound,
    /// No operation of this path has this method: HTTP's 405.
    MethodNotAllowed {
        /// The methods that the path has, separated by commas.
        allowed: String,
    },
    /// The head of the request names no peer, so the client cannot be identified. The server is misconfigured.
    UnknownPeer,
    /// The hits are wrong. The server is misconfigured.
    Hit(HitError),
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(why) | Self::InvalidToken(why) => f.write_str(why),
            Self::NotFound => f.write_str("no operation has this path"),
            Self::MethodNotAllowed { allowed } => {
                write!(f, "the path does not support this method; it supports {allowed}")
            }
            Self::UnknownPeer => f.write_str("the peer's address is unknown: set it on the request head"),
            Self::Hit(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for CheckError {}

impl From<HitError> for CheckError {
    fn from(error: HitError) -> Self {
        Self::Hit(error)
    }
}

#[cfg(feature = "policy")]
impl From<tollgate_policy::BadRequest> for CheckError {
    fn from(error: tollgate_policy::BadRequest) -> Self {
        let why = error.to_string();
        if matches!(error, tollgate_policy::BadRequest::InvalidToken { .. }) {
            Self::InvalidToken(why)
        } else {
            Self::BadRequest(why)
        }
    }
}
