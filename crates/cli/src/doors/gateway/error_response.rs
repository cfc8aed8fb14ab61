//! Why a request is not answered by the upstream, and what the client is told instead.

use http::StatusCode;
use tollgate_tower::{ErrorResponse, problem};

use super::deadlines::Due;
use super::upstream::UpstreamError;

/// Why a request is not answered by the upstream.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// It is answered here. In a box, so that what goes well does not carry room for it.
    Answer(Box<ErrorResponse>),
    /// The upstream gave no answer.
    Upstream(UpstreamError),
    /// Something is late.
    Late(Due),
    /// The body is larger than bodies may be.
    TooLarge,
    /// The head has more fields than heads may have.
    HeadTooLarge,
}

impl Stopped {
    /// What the client is told. Why exactly an upstream fails is for the log: it names addresses.
    pub(crate) fn into_answer(self) -> ErrorResponse {
        let (status, title, detail) = match self {
            Self::Answer(answer) => return *answer,
            Self::Upstream(UpstreamError::Client) => {
                (StatusCode::BAD_REQUEST, "Bad request", "the body of the request broke off: send it whole")
            }
            Self::Upstream(error) => (StatusCode::BAD_GATEWAY, "Bad gateway", bad_gateway(&error)),
            Self::Late(Due::Connect) => {
                (StatusCode::GATEWAY_TIMEOUT, "Gateway timeout", "the upstream takes no connection in time")
            }
            Self::Late(Due::Body | Due::Header | Due::Head | Due::Idle | Due::Write) => (
                StatusCode::REQUEST_TIMEOUT,
                "Request timeout",
                "the body of the request came to a standstill",
            ),
            Self::Late(Due::Pace) => (
                StatusCode::REQUEST_TIMEOUT,
                "Request timeout",
                "the body of the request came too slowly: send it faster, or in smaller requests",
            ),
            Self::Late(Due::Response | Due::ResponseBody | Due::Total) => {
                (StatusCode::GATEWAY_TIMEOUT, "Gateway timeout", "the upstream has not answered in time")
            }
            Self::HeadTooLarge => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "Request header fields too large",
                "the request has more header fields than this gateway takes",
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "Content too large",
                "the body is larger than this gateway takes",
            ),
        };
        problem::answer(status, title, detail)
    }
}

/// What a client is told of an upstream that failed. The client's own fault is answered with another status.
const fn bad_gateway(error: &UpstreamError) -> &'static str {
    match error {
        UpstreamError::Connect(_) => "the upstream cannot be reached: try again later",
        UpstreamError::Tls(_) => "no trusted connection to the upstream can be made: try again later",
        UpstreamError::Broken(_) | UpstreamError::Ended => {
            "the upstream broke off before it answered: the request may or may not have had an effect"
        }
        UpstreamError::Garbled(_) => {
            "the upstream's response is not valid HTTP: the request may or may not have had an effect"
        }
        UpstreamError::Ambiguous(_) => {
            "the upstream's response could be read in two ways, and is not passed on"
        }
        UpstreamError::TooLarge(_) => {
            "the head of the upstream's response is larger than this gateway takes, and is not passed on"
        }
        UpstreamError::Switched => "the upstream switched to another protocol, which was not asked for",
        UpstreamError::Interim => "the upstream sent too many interim responses, and none that was final",
        UpstreamError::Client => "the body of the request broke off: send it whole",
    }
}
