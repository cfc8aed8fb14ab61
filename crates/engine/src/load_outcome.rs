//! What the head of a response says about the load of the service that sent it, for adaptive limits.

use http::{HeaderMap, StatusCode};
use tollgate::adaptive::Outcome;

/// gRPC statuses of an overloaded service: `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED` and `UNAVAILABLE`.
const GRPC_DROPPED: [&[u8]; 3] = [b"4", b"8", b"14"];

/// What a response's head says about the load of the service.
///
/// 429, 503 and 504, and the gRPC statuses that mean the same, say that it is overloaded. Other responses from 400 on, other gRPC
/// errors and switches of the protocol say nothing. The latency of all others counts.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use tollgate::adaptive::Outcome;
/// use tollgate_engine::load_outcome;
/// assert_eq!(load_outcome(StatusCode::OK, &HeaderMap::new()), Outcome::Success);
/// assert_eq!(load_outcome(StatusCode::SERVICE_UNAVAILABLE, &HeaderMap::new()), Outcome::Dropped);
/// assert_eq!(load_outcome(StatusCode::NOT_FOUND, &HeaderMap::new()), Outcome::Ignored);
/// ```
#[must_use]
pub fn load_outcome(status: StatusCode, headers: &HeaderMap) -> Outcome {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            Outcome::Dropped
        }
        StatusCode::SWITCHING_PROTOCOLS => Outcome::Ignored,
        status if status.is_client_error() || status.is_server_error() => Outcome::Ignored,
        _ => match headers.get("grpc-status").map(http::HeaderValue::as_bytes) {
            None | Some(b"0") => Outcome::Success,
            Some(code) if GRPC_DROPPED.contains(&code) => Outcome::Dropped,
            Some(_) => Outcome::Ignored,
        },
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::{HeaderMap, Outcome, StatusCode, load_outcome};

    #[test]
    fn every_kind_of_response_says_what_it_says() {
        let of = |status| load_outcome(StatusCode::from_u16(status).unwrap(), &HeaderMap::new());
        for (statuses, outcome) in [
            (&[200, 204, 206, 304, 302][..], Outcome::Success),
            (&[429, 503, 504], Outcome::Dropped),
            (&[101, 400, 401, 404, 408, 499, 500, 501, 502], Outcome::Ignored),
        ] {
            statuses.iter().for_each(|status| assert_eq!(of(*status), outcome, "{status}"));
        }
        let grpc = |code| {
            let headers = [("grpc-status".parse().unwrap(), HeaderValue::from_static(code))];
            load_outcome(StatusCode::OK, &headers.into_iter().collect())
        };
        assert_eq!(["0", "5", "13"].map(grpc), [Outcome::Success, Outcome::Ignored, Outcome::Ignored]);
        assert_eq!(["4", "8", "14"].map(grpc), [Outcome::Dropped; 3]);
    }
}
