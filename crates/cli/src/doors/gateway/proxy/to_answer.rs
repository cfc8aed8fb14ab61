//! The response of a forwarded request: the upstream's, or the gateway's own if the request goes no further.

use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, request};
use tollgate_engine::{Admission, load_outcome};
use tollgate_tower::{ErrorResponse, grpc};

use super::super::access_log::AccessLogEntry;
use super::super::body::{RequestBody, ResponseBody, Source};
use super::super::body_rate::BodyRate;
use super::super::check_head::bad;
use super::super::client_connection::RunningExchange;
use super::super::deadlines::{BodyFault, DeadlineKind, UpgradeState};
use super::super::error_response::Rejected;
use super::super::rewrite_head::{self, ForwardedHead};
use super::super::time_left;
use super::super::tunnel::Tunnel;
use super::super::upstream::{RoutedRequest, SendStats, UpstreamError, UpstreamResponse};
use super::super::websocket;
use crate::active_policy::ActivePolicy;
use crate::telemetry::logs::X_REQUEST_ID;

/// What remains of a forwarded request: everything needed to respond to it.
pub(super) struct PendingResponse {
    /// Its name.
    pub(super) id: HeaderValue,
    /// What its line will say.
    pub(super) noted: Option<AccessLogEntry>,
    pub(super) running: RunningExchange,
    /// Whether it is a call of gRPC, and has to be answered as one.
    pub(super) grpc: bool,
    /// Whether it asks to switch to WebSocket.
    pub(super) websocket: bool,
}

impl PendingResponse {
    /// How long the client still waits for its response, as far as is known.
    pub(super) fn time_left(&self, headers: &HeaderMap) -> Option<Duration> {
        let total = self.running.client().worker.settings.timeouts.total;
        let passed = Duration::from_nanos(self.running.since().nanos());
        time_left::of(total, passed, headers, self.grpc)
    }

    /// How fast the body has to come. A call of gRPC may be a stream of messages that are far apart.
    pub(super) fn pace(&self) -> Option<BodyRate> {
        let settings = &self.running.client().worker.settings;
        let rate = settings.bounds.body_rate.filter(|_| !self.grpc)?;
        Some(BodyRate::new(rate, settings.timeouts.body, self.running.watch().patience(DeadlineKind::Pace)))
    }

    /// Writes a request anew, and chooses its way to the upstream.
    pub(super) fn sent_on(
        &self,
        mut parts: request::Parts,
        body: RequestBody,
        path: Option<&str>,
        behind: Option<IpAddr>,
    ) -> Result<RoutedRequest, Rejected> {
        let client = self.running.client();
        let worker = &client.worker;
        let http2 = worker.upstream.wants_http2(self.grpc);
        let behind = behind.filter(|address| *address != client.peer);
        let out = ForwardedHead { client, behind, id: &self.id, path, http2 };
        let settings = (&worker.settings.forwarding, &worker.settings.upstream);
        rewrite_head::request(&mut parts, &out, settings).map_err(bad)?;
        if !http2 && !body.is_empty() && http_body::Body::size_hint(&body).exact().is_none() {
            // Left to itself, hyper sends no body with a GET whose length is not known.
            parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        if self.websocket {
            websocket::set_request_fields(&mut parts.headers);
            return Ok(RoutedRequest::Switching(Box::new(Request::from_parts(parts, body))));
        }
        Ok(worker.upstream.depart(Request::from_parts(parts, body), http2))
    }

    /// Waits for the response of a request that is on its way, and passes it back.
    pub(super) async fn pass(
        mut self,
        live: Arc<ActivePolicy>,
        admission: Admission,
        departing: RoutedRequest,
    ) -> Response<ResponseBody> {
        match answered(departing, &self.running).await {
            Err(stopped) => {
                let has_max_hold = admission.max_hold().is_some();
                admission.record(stopped.load_outcome(has_max_hold));
                self.charged_and_stopped(stopped, &live, &admission)
            }
            Ok((mut head, source)) => {
                admission.record(load_outcome(head.status, &head.headers));
                live.responses.finish(&admission, head.status, &mut head.headers);
                let permits = admission.take_permits();
                if permits.is_void() {
                    self.running.client().worker.metrics.permits_void.inc();
                    return self.charged_and_stopped(Rejected::Void, &live, &admission);
                }
                self.running.hold(permits);
                if head.status == StatusCode::SWITCHING_PROTOCOLS {
                    return self.switched(head, source);
                }
                self.answered(head.status, head, source)
            }
        }
    }

    /// The gateway's own response to a request that was charged. It shows the limits like any other response.
    pub(super) fn charged_and_stopped(
        self,
        stopped: Rejected,
        live: &ActivePolicy,
        admission: &Admission,
    ) -> Response<ResponseBody> {
        let mut answer = self.running.client().worker.stopped(stopped);
        live.responses.write(admission, answer.status, &mut answer.headers);
        self.answered_here(answer)
    }

    /// The answer to a request that was checked, and does not go on.
    pub(super) fn rejected(self, answer: ErrorResponse) -> Response<ResponseBody> {
        self.running.client().worker.count_answer(&answer);
        self.answered_here(answer)
    }

    /// An answer of the gateway's own to a request that was not charged, or whose answer says so already.
    pub(super) fn stopped(self, stopped: Rejected) -> Response<ResponseBody> {
        let answer = self.running.client().worker.stopped(stopped);
        self.answered_here(answer)
    }

    fn answered_here(self, mut answer: ErrorResponse) -> Response<ResponseBody> {
        // To lines and metrics a call that was refused is a 429, whatever its client reads.
        let status = answer.status;
        if self.grpc {
            grpc::answer_call(&mut answer);
        }
        let mut head = Response::new(()).into_parts().0;
        head.status = answer.status;
        head.headers = answer.headers;
        let http2 = self.running.client().http2;
        if !http2 && matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_IMPLEMENTED) {
            // Who sends what could be read in two ways, or hopes for another protocol, may have sent more of that.
            head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.answered(status, head, Source::Whole(answer.body))
    }

    fn answered(
        self,
        status: StatusCode,
        mut head: http::response::Parts,
        source: Source,
    ) -> Response<ResponseBody> {
        let mut running = self.running;
        head.headers.insert(X_REQUEST_ID, self.id);
        if self.websocket {
            // What the client sends behind a handshake that has failed may be frames as well as a request.
            head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        running.answered(status, self.noted);
        Response::from_parts(head, ResponseBody::new(source, running))
    }

    /// The upstream has switched to WebSocket: the client is told, and its connection becomes a tunnel.
    fn switched(self, mut head: http::response::Parts, source: Source) -> Response<ResponseBody> {
        let Source::Http1(body) = source else {
            return self.stopped(Rejected::Upstream(UpstreamError::Switched));
        };
        let Some((wire, first)) = body.into_wire() else {
            return self.stopped(Rejected::Upstream(UpstreamError::Switched));
        };
        if self.running.watch().is_switching(UpgradeState::AskedAndNotSilent) {
            return self.stopped(bad("a WebSocket client must not send data before the server's 101"));
        }
        let mut running = self.running;
        head.headers.insert(X_REQUEST_ID, self.id);
        websocket::set_response_fields(&mut head.headers);
        running.answered(head.status, self.noted);
        let client = Arc::clone(running.client());
        client.set_tunnel(Tunnel::new(wire, first, running));
        Response::from_parts(head, ResponseBody::of_tunnel())
    }
}

/// Sends a request on, and waits for the head of its response.
async fn answered(
    departing: RoutedRequest,
    running: &RunningExchange,
) -> Result<(http::response::Parts, Source), Rejected> {
    let worker = &running.client().worker;
    let mut effort = SendStats::default();
    let answered = {
        let mut sending = pin!(worker.upstream.send(departing, running.watch(), &mut effort));
        poll_fn(|cx| match sending.as_mut().poll(cx) {
            Poll::Ready(answered) => Poll::Ready(answered.map_err(Rejected::Upstream)),
            Poll::Pending => running.watch().poll_late(cx).map(|due| Err(Rejected::Late(due))),
        })
        .await
    };
    // What a client does is not the upstream's failure, whatever its connection says of it.
    let answered = answered.map_err(|stopped| match running.watch().fault() {
        None => stopped,
        Some(BodyFault::Broken) => Rejected::Upstream(UpstreamError::Client),
        Some(BodyFault::TooLarge) => Rejected::TooLarge,
        Some(BodyFault::Void) => Rejected::Void,
    });
    worker.tried(effort, answered.as_ref().err(), running.id());
    let (mut head, source) = match answered? {
        UpstreamResponse::Http1(response) => {
            let (head, body) = response.into_parts();
            (head, Source::Http1(body))
        }
        UpstreamResponse::Http2(response, stream) => {
            let (head, body) = response.into_parts();
            (head, Source::Http2 { body, _stream: stream })
        }
    };
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        // An upstream may switch only where it was asked to.
        websocket::check_response(&head.headers)
            .map_err(|why| Rejected::Upstream(UpstreamError::Ambiguous(why)))?;
    }
    rewrite_head::response(&mut head.headers, head.version, &worker.via);
    head.version = Version::HTTP_11;
    Ok((head, source))
}
