//! The gateway's own error responses, for requests that the upstream does not answer.

use http::StatusCode;
use tollgate::adaptive::Outcome;
use tollgate_tower::{ErrorResponse, problem};

use super::deadlines::DeadlineKind;
use super::upstream::UpstreamError;

/// Why a request is not answered by the upstream.
#[derive(Debug)]
pub(crate) enum Rejected {
    /// The gateway answers with this response. Boxed to keep the success path small.
    Answer(Box<ErrorResponse>),
    /// The upstream failed.
    Upstream(UpstreamError),
    /// A deadline passed.
    Late(DeadlineKind),
    /// The body exceeds the limit.
    TooLarge,
    /// The head has too many fields.
    HeadTooLarge,
    /// A permit of the request became void.
    Void,
}

impl Rejected {
    /// What this says about the load of the upstream, for adaptive limits: that it did not accept a connection, closed one, or was
    /// late says that it is overloaded. What the client did, what the gateway rejects and a limit's `max_hold` say nothing.
    pub(crate) const fn load_outcome(&self, has_max_hold: bool) -> Outcome {
        match self {
            Self::Upstream(UpstreamError::Connect(_) | UpstreamError::Broken(_) | UpstreamError::Ended)
            | Self::Late(DeadlineKind::Connect | DeadlineKind::Response) => Outcome::Dropped,
            Self::Late(DeadlineKind::Total) if !has_max_hold => Outcome::Dropped,
            Self::Answer(_)
            | Self::Upstream(_)
            | Self::Late(_)
            | Self::TooLarge
            | Self::HeadTooLarge
            | Self::Void => Outcome::Ignored,
        }
    }

    /// The response for the client. Details of an upstream failure go to the log only, because they contain addresses.
    pub(crate) fn into_answer(self) -> ErrorResponse {
        let (status, title, detail) = match self {
            Self::Answer(answer) => return *answer,
            Self::Upstream(UpstreamError::Client) => (
                StatusCode::BAD_REQUEST,
                "Bad Request",
                "The request body is incomplete. Send the whole body.",
            ),
            Self::Upstream(error) => (StatusCode::BAD_GATEWAY, "Bad Gateway", bad_gateway(&error)),
            Self::Late(DeadlineKind::Connect) => {
                (StatusCode::GATEWAY_TIMEOUT, "Gateway Timeout", "Connecting to the upstream timed out.")
            }
            Self::Late(
                DeadlineKind::Body
                | DeadlineKind::Header
                | DeadlineKind::Head
                | DeadlineKind::Idle
                | DeadlineKind::Write,
            ) => (StatusCode::REQUEST_TIMEOUT, "Request Timeout", "The request body stopped arriving."),
            Self::Late(DeadlineKind::Pace) => (
                StatusCode::REQUEST_TIMEOUT,
                "Request Timeout",
                "The request body arrived too slowly. Send it faster, or in smaller requests.",
            ),
            Self::Late(DeadlineKind::Response | DeadlineKind::ResponseBody | DeadlineKind::Total) => {
                (StatusCode::GATEWAY_TIMEOUT, "Gateway Timeout", "The upstream did not respond in time.")
            }
            Self::HeadTooLarge => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "Request Header Fields Too Large",
                "The request has more header fields than this gateway accepts.",
            ),
            Self::Void => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Service Unavailable",
                "The gateway was stopped for so long that others may have the request's place. The request may have taken effect.",
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "Content Too Large",
                "The request body is larger than this gateway accepts.",
            ),
        };
        problem::answer(status, title, detail)
    }
}

/// The detail of a 502. Errors that the client caused get another status.
const fn bad_gateway(error: &UpstreamError) -> &'static str {
    match error {
        UpstreamError::Connect(_) => "The upstream is unreachable. Try again later.",
        UpstreamError::Tls(_) => "The TLS connection to the upstream failed. Try again later.",
        UpstreamError::Broken(_) | UpstreamError::Ended => {
            "The upstream closed the connection before it responded. The request may have taken effect."
        }
        UpstreamError::Garbled(_) => {
            "The upstream's response is not valid HTTP. The request may have taken effect."
        }
        UpstreamError::Ambiguous(_) => {
            "The framing of the upstream's response is ambiguous, so the response was discarded."
        }
        UpstreamError::TooLarge(_) => {
            "The header of the upstream's response is too large, so the response was discarded."
        }
        UpstreamError::Switched => "The upstream switched protocols without being asked to.",
        UpstreamError::Interim => "The upstream sent too many interim responses and no final one.",
        UpstreamError::Client => "The request body is incomplete. Send the whole body.",
    }
}
