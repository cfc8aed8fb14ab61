//! One request and its response: checked, forwarded, answered.

mod response_future;
mod to_answer;

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, request};
use hyper::body::Incoming;
use tollgate_engine::{Admission, Body, CheckError, Outcome, RequestHead, RequiredBody, Scratch};
use tollgate_policy::RequestMatch;
use tollgate_tower::{ErrorResponse, Reply, grpc};

pub(crate) use self::response_future::Exchange;
use self::response_future::Waiting;
use self::to_answer::PendingResponse;
use super::body::{RemainingBody, RequestBody, ResponseBody};
use super::buffered_body::{BufferedBody, hold};
use super::check_head::{bad, not_implemented, prepare, trusted_proxies};
use super::client_connection::ClientConnection;
use super::deadlines::UpgradeState;
use super::error_response::Rejected;
use super::max_forwards::{self, MaxForwards};
use super::stopwatch::Stopwatch;
use super::websocket;
use crate::active_policy::ActivePolicy;
use crate::telemetry::logs::RequestId;

thread_local! {
    /// The buffers of a thread's checks.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

/// A request that was asked about, or is about to be.
struct IncomingRequest {
    parts: request::Parts,
    live: Arc<ActivePolicy>,
    /// How far it may go.
    reach: MaxForwards,
    /// Since when it can be asked about.
    since: Stopwatch,
    to_answer: PendingResponse,
    /// The body, if it was read because a key may be in it.
    text: Option<Bytes>,
}

/// Handles a request.
pub(crate) fn exchange(client: &Arc<ClientConnection>, request: Request<Incoming>) -> Exchange {
    let mut running = client.begin();
    let (parts, body) = request.into_parts();
    running.watch().set_unread(!http_body::Body::is_end_stream(&body));
    let noted = client.worker.noted(client.peer, &parts.method);
    let live = Arc::clone(&client.worker.live.load());
    if let Some(kept) = RequestId::of_peer(&parts.headers)
        && trusted_proxies(&live).peer_is_trusted(client.peer)
    {
        running.keep_id(kept);
    }
    let id = running.id().header();
    let websocket = websocket::is_requested(&parts);
    if websocket {
        running.watch().set_switching(UpgradeState::Asked);
    }
    let grpc = grpc::is_call(&parts.headers);
    let since = *running.since();
    let to_answer = PendingResponse { id, noted, running, grpc, websocket };
    let mut came =
        IncomingRequest { parts, live, reach: MaxForwards::Upstream, to_answer, since, text: None };
    match came.check_at_once(body) {
        Err(stopped) => Exchange::Ready(Some(came.to_answer.stopped(stopped))),
        Ok(EarlyResult::Rejected(answer)) => Exchange::Ready(Some(came.to_answer.rejected(answer))),
        Ok(EarlyResult::Admitted(admission, body)) => {
            came.pass(admission, RemainingBody { held: None, body: Some(body), trailers: None })
        }
        Ok(EarlyResult::Waits(body)) => Exchange::Waiting(Waiting(Box::pin(came.wait_and_pass(body)))),
        Ok(EarlyResult::NeedsBody(wanted, matched, body)) => {
            Exchange::Waiting(Waiting(Box::pin(came.hold_and_check(wanted, matched, body))))
        }
    }
}

/// What is known of a request without waiting.
#[expect(clippy::large_enum_variant, reason = "it is moved once")]
enum EarlyResult {
    /// It is admitted.
    Admitted(Admission, Incoming),
    /// It is answered here.
    Rejected(ErrorResponse),
    /// Its limits are counted in a shared store, which takes a while.
    Waits(Incoming),
    /// Some of its body has to be read first.
    NeedsBody(RequiredBody, RequestMatch, Incoming),
}

/// What came of a check.
#[expect(clippy::large_enum_variant, reason = "it is moved once")]
enum CheckedRequest {
    Admitted(Admission),
    Rejected(ErrorResponse),
    NeedsBody(RequiredBody, RequestMatch),
}

impl IncomingRequest {
    /// Checks a request whose head is enough; otherwise says what else it takes.
    fn check_at_once(&mut self, body: Incoming) -> Result<EarlyResult, Rejected> {
        let client = self.to_answer.running.client();
        // Over HTTP/1.1 the parser has seen to it.
        if self.parts.headers.len() > client.worker.settings.bounds.header_fields {
            return Err(Rejected::HeadTooLarge);
        }
        let bytes_max = client.worker.settings.bounds.body_bytes;
        if bytes_max.is_some_and(|most| http_body::Body::size_hint(&body).lower() > most) {
            return Err(Rejected::TooLarge);
        }
        if self.to_answer.websocket {
            let has_body = !http_body::Body::is_end_stream(&body);
            websocket::check_request(&self.parts, has_body).map_err(bad)?;
        }
        prepare(&mut self.parts, client, &self.live)?;
        self.reach = max_forwards::step(&mut self.parts).map_err(bad)?;
        if self.live.waits {
            return Ok(EarlyResult::Waits(body));
        }
        Ok(match self.try_check(Body::Unread) {
            CheckedRequest::Admitted(admission) => EarlyResult::Admitted(admission, body),
            CheckedRequest::Rejected(answer) => EarlyResult::Rejected(answer),
            CheckedRequest::NeedsBody(wanted, matched) => EarlyResult::NeedsBody(wanted, matched, body),
        })
    }

    /// Checks a request, and records what came of it.
    fn try_check(&mut self, body: Body) -> CheckedRequest {
        SCRATCH.with_borrow_mut(|scratch| {
            let head = head_of(&self.parts, self.to_answer.running.client(), body);
            let head = head.with_body_text(self.text.as_deref());
            let checked = self.live.enforcer.try_check(&head, scratch);
            self.record(checked, scratch)
        })
    }

    /// As [`try_check`](Self::try_check), where it takes a while.
    async fn check(&mut self, body: Body) -> CheckedRequest {
        // Other requests may be checked meanwhile, with buffers of their own.
        let mut scratch = SCRATCH.take();
        let head = head_of(&self.parts, self.to_answer.running.client(), body);
        let head = head.with_time_left(self.to_answer.time_left(&self.parts.headers));
        let head = head.with_body_text(self.text.as_deref());
        let checked = self.live.enforcer.check(&head, &mut scratch).await;
        let checked = self.record(checked, &scratch);
        SCRATCH.set(scratch);
        checked
    }

    /// Records what came of a check.
    fn record(&mut self, checked: Result<Outcome, CheckError>, scratch: &Scratch) -> CheckedRequest {
        if let Ok(Outcome::NeedsBody { wanted, matched }) = checked {
            return CheckedRequest::NeedsBody(wanted, matched);
        }
        let Self { parts, live, reach, since, to_answer, text: _ } = self;
        let PendingResponse { running, noted, websocket, .. } = to_answer;
        let worker = &running.client().worker;
        worker.decided(live, scratch, since);
        worker.note(live, &parts.headers, &checked, noted);
        if let Ok(Outcome::Refused(refusal)) = &checked {
            worker.refused(live, refusal, parts, running);
        }
        let admission = match live.responses.reply(checked, &parts.headers) {
            Reply::Admitted(admission) => admission,
            Reply::Rejected(answer) => return CheckedRequest::Rejected(answer),
        };
        let mut answer = match reach {
            _ if *websocket && !worker.upstream.can_switch() => {
                not_implemented("WebSocket needs HTTP/1.1, and the upstream speaks HTTP/2")
            }
            MaxForwards::Here => max_forwards::answer(parts),
            MaxForwards::Upstream => return CheckedRequest::Admitted(admission),
        };
        // It was charged, and its answer shows that.
        live.responses.write(&admission, answer.status, &mut answer.headers);
        CheckedRequest::Rejected(answer)
    }

    /// Checks a request with a shared store, then continues.
    async fn wait_and_pass(mut self, body: Incoming) -> Response<ResponseBody> {
        match self.check(Body::Unread).await {
            CheckedRequest::NeedsBody(wanted, matched) => self.hold_and_check(wanted, matched, body).await,
            checked @ (CheckedRequest::Admitted(_) | CheckedRequest::Rejected(_)) => {
                self.proceed(checked, RemainingBody { held: None, body: Some(body), trailers: None }).await
            }
        }
    }

    /// Reads the wanted part of the body, checks the request, then continues.
    async fn hold_and_check(
        mut self,
        wanted: RequiredBody,
        matched: RequestMatch,
        body: Incoming,
    ) -> Response<ResponseBody> {
        let held = hold(body, wanted, self.to_answer.pace(), self.to_answer.running.watch()).await;
        let BufferedBody { rest, operations, text } = match held {
            Ok(held) => held,
            Err(stopped) => return self.to_answer.stopped(stopped),
        };
        self.text = text;
        // How long the client took for it is not the decision's time.
        self.since = Stopwatch::start();
        let body = Body::Read { operations, matched };
        let checked = if self.live.waits { self.check(body).await } else { self.try_check(body) };
        self.proceed(checked, rest).await
    }

    async fn proceed(self, checked: CheckedRequest, rest: RemainingBody) -> Response<ResponseBody> {
        match checked {
            CheckedRequest::Admitted(admission) => answer_of(self.pass(admission, rest)).await,
            CheckedRequest::Rejected(answer) => self.to_answer.rejected(answer),
            // A body is wanted once.
            CheckedRequest::NeedsBody(..) => self.to_answer.stopped(Rejected::TooLarge),
        }
    }

    /// Passes a request on. All that can be done without waiting is done here: a future has room for what it begins with.
    fn pass(self, admission: Admission, rest: RemainingBody) -> Exchange {
        let Self { parts, live, mut to_answer, .. } = self;
        if let Some(most) = admission.max_hold() {
            to_answer.running.watch().shorten_total(most);
        }
        let validities = admission.validities();
        if validities.is_void() {
            to_answer.running.client().worker.metrics.permits_void.inc();
            let answer = to_answer.charged_and_stopped(Rejected::Void, &live, &admission);
            return Exchange::Ready(Some(answer));
        }
        to_answer.running.passed_on();
        let bytes_max = to_answer.running.client().worker.settings.bounds.body_bytes;
        let bounds = (bytes_max, to_answer.pace());
        let body = RequestBody::of_client(rest, to_answer.running.watch(), &live, bounds)
            .with_validities(validities);
        let trusted = &live.limits.policy().settings().trusted_proxies;
        let behind =
            trusted.header().map(|_| trusted.client(to_answer.running.client().peer, &parts.headers).address);
        match to_answer.sent_on(parts, body, admission.path(), behind) {
            Err(stopped) => Exchange::Ready(Some(to_answer.charged_and_stopped(stopped, &live, &admission))),
            Ok(departing) => Exchange::Waiting(Waiting(Box::pin(to_answer.pass(live, admission, departing)))),
        }
    }
}

/// The response of an exchange.
async fn answer_of(exchange: Exchange) -> Response<ResponseBody> {
    match exchange.await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn head_of<'a>(parts: &'a request::Parts, client: &ClientConnection, body: Body) -> RequestHead<'a> {
    RequestHead::of_uri(&parts.method, &parts.uri, &parts.headers).with_peer(client.peer).with_body(body)
}
