//! One request and its response: asked, forwarded, answered. Which limits there are is the policy's; bytes are hyper's.

mod response_future;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, StatusCode, Version, request};
use hyper::body::Incoming;
use tollgate_engine::{Admission, Body, BodyWanted, CheckError, Outcome, RequestHead, Scratch};
use tollgate_policy::Matched;
use tollgate_tower::{ErrorResponse, Reply, grpc};

pub(crate) use self::response_future::Exchange;
use self::response_future::Waiting;
use super::access_log::Noted;
use super::body::{RequestBody, ResponseBody, Rest, Source};
use super::body_rate::Pace;
use super::buffered_body::{Held, hold};
use super::check_head::{bad, not_implemented, prepare, trusted_proxies};
use super::client_connection::{Client, Running};
use super::deadlines::{Due, Fault, Switching};
use super::error_response::Stopped;
use super::max_forwards::{self, Reach};
use super::rewrite_head::{self, Outgoing};
use super::stopwatch::Stopwatch;
use super::tunnel::Tunnel;
use super::upstream::{Answered, Departing, Effort, UpstreamError};
use super::websocket;
use crate::active_policy::InForce;
use crate::telemetry::logs::{RequestId, X_REQUEST_ID};

thread_local! {
    /// The buffers of a thread's checks.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

/// A request that was asked about, or is about to be.
struct Came {
    parts: request::Parts,
    live: Arc<InForce>,
    /// How far it may go.
    reach: Reach,
    /// Since when it can be asked about.
    since: Stopwatch,
    to_answer: ToAnswer,
    /// The body, if it was read because a key may be in it.
    text: Option<Bytes>,
}

/// What is left of a request when it is on its way: what it takes to answer it, whoever does.
struct ToAnswer {
    /// Its name.
    id: HeaderValue,
    /// What its line will say.
    noted: Option<Noted>,
    running: Running,
    /// Whether it is a call of gRPC, and has to be answered as one.
    grpc: bool,
    /// Whether it asks to switch to WebSocket.
    websocket: bool,
}

/// ResponseConfig a request.
pub(crate) fn exchange(client: &Arc<Client>, request: Request<Incoming>) -> Exchange {
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
        running.watch().set_switching(Switching::Asked);
    }
    let grpc = grpc::is_call(&parts.headers);
    let since = *running.since();
    let to_answer = ToAnswer { id, noted, running, grpc, websocket };
    let mut came = Came { parts, live, reach: Reach::Upstream, to_answer, since, text: None };
    match came.check_at_once(body) {
        Err(stopped) => Exchange::Ready(Some(came.to_answer.stopped(stopped))),
        Ok(AtOnce::Rejected(answer)) => Exchange::Ready(Some(came.to_answer.rejected(answer))),
        Ok(AtOnce::Admitted(admission, body)) => {
            came.pass(admission, Rest { held: None, body: Some(body), trailers: None })
        }
        Ok(AtOnce::Waits(body)) => Exchange::Waiting(Waiting(Box::pin(came.wait_and_pass(body)))),
        Ok(AtOnce::NeedsBody(wanted, matched, body)) => {
            Exchange::Waiting(Waiting(Box::pin(came.hold_and_check(wanted, matched, body))))
        }
    }
}

/// What is known of a request without waiting.
#[expect(clippy::large_enum_variant, reason = "it is moved once")]
enum AtOnce {
    /// It is admitted.
    Admitted(Admission, Incoming),
    /// It is answered here.
    Rejected(ErrorResponse),
    /// Its limits are counted in a shared store, which takes a while.
    Waits(Incoming),
    /// Some of its body has to be read first.
    NeedsBody(BodyWanted, Matched, Incoming),
}

/// What came of a check.
#[expect(clippy::large_enum_variant, reason = "it is moved once")]
enum Checked {
    Admitted(Admission),
    Rejected(ErrorResponse),
    NeedsBody(BodyWanted, Matched),
}

impl Came {
    /// Checks a request whose head is enough; otherwise says what else it takes.
    fn check_at_once(&mut self, body: Incoming) -> Result<AtOnce, Stopped> {
        let client = self.to_answer.running.client();
        // Over HTTP/1.1 the parser has seen to it.
        if self.parts.headers.len() > client.worker.settings.bounds.header_fields {
            return Err(Stopped::HeadTooLarge);
        }
        let bytes_max = client.worker.settings.bounds.body_bytes;
        if bytes_max.is_some_and(|most| http_body::Body::size_hint(&body).lower() > most) {
            return Err(Stopped::TooLarge);
        }
        if self.to_answer.websocket {
            let has_body = !http_body::Body::is_end_stream(&body);
            websocket::check_request(&self.parts, has_body).map_err(bad)?;
        }
        prepare(&mut self.parts, client, &self.live)?;
        self.reach = max_forwards::step(&mut self.parts).map_err(bad)?;
        if self.live.waits {
            return Ok(AtOnce::Waits(body));
        }
        Ok(match self.try_check(Body::Unread) {
            Checked::Admitted(admission) => AtOnce::Admitted(admission, body),
            Checked::Rejected(answer) => AtOnce::Rejected(answer),
            Checked::NeedsBody(wanted, matched) => AtOnce::NeedsBody(wanted, matched, body),
        })
    }

    /// Checks a request, and records what came of it.
    fn try_check(&mut self, body: Body) -> Checked {
        SCRATCH.with_borrow_mut(|scratch| {
            let head = head_of(&self.parts, self.to_answer.running.client(), body);
            let head = head.with_body_text(self.text.as_deref());
            let checked = self.live.enforcer.try_check(&head, scratch);
            self.record(checked, scratch)
        })
    }

    /// As [`try_check`](Self::try_check), where it takes a while.
    async fn check(&mut self, body: Body) -> Checked {
        // Other requests may be checked meanwhile, with buffers of their own.
        let mut scratch = SCRATCH.take();
        let head = head_of(&self.parts, self.to_answer.running.client(), body);
        let head = head.with_body_text(self.text.as_deref());
        let checked = self.live.enforcer.check(&head, &mut scratch).await;
        let checked = self.record(checked, &scratch);
        SCRATCH.set(scratch);
        checked
    }

    /// Records what came of a check.
    fn record(&mut self, checked: Result<Outcome, CheckError>, scratch: &Scratch) -> Checked {
        if let Ok(Outcome::NeedsBody { wanted, matched }) = checked {
            return Checked::NeedsBody(wanted, matched);
        }
        let Self { parts, live, reach, since, to_answer: ToAnswer { running, noted, websocket, .. }, .. } =
            self;
        let worker = &running.client().worker;
        worker.decided(live, scratch, since);
        worker.note(live, &parts.headers, &checked, noted);
        if let Ok(Outcome::Refused(refusal)) = &checked {
            worker.refused(live, refusal, parts, running);
        }
        let admission = match live.responses.reply(checked, &parts.headers) {
            Reply::Admitted(admission) => admission,
            Reply::Rejected(answer) => return Checked::Rejected(answer),
        };
        let mut answer = match reach {
            _ if *websocket && !worker.upstream.can_switch() => {
                not_implemented("WebSocket needs HTTP/1.1, and the upstream speaks HTTP/2")
            }
            Reach::Here => max_forwards::answer(parts),
            Reach::Upstream => return Checked::Admitted(admission),
        };
        // It was charged, and its answer shows that.
        live.responses.write(&admission, answer.status, &mut answer.headers);
        Checked::Rejected(answer)
    }

    /// Checks a request with a shared store, and goes on.
    async fn wait_and_pass(mut self, body: Incoming) -> Response<ResponseBody> {
        match self.check(Body::Unread).await {
            Checked::NeedsBody(wanted, matched) => self.hold_and_check(wanted, matched, body).await,
            checked @ (Checked::Admitted(_) | Checked::Rejected(_)) => {
                self.proceed(checked, Rest { held: None, body: Some(body), trailers: None }).await
            }
        }
    }

    /// Reads what is wanted of the body, checks the request, and goes on.
    async fn hold_and_check(
        mut self,
        wanted: BodyWanted,
        matched: Matched,
        body: Incoming,
    ) -> Response<ResponseBody> {
        let held = hold(body, wanted, self.to_answer.pace(), self.to_answer.running.watch()).await;
        let Held { rest, operations, text } = match held {
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

    async fn proceed(self, checked: Checked, rest: Rest) -> Response<ResponseBody> {
        match checked {
            Checked::Admitted(admission) => answer_of(self.pass(admission, rest)).await,
            Checked::Rejected(answer) => self.to_answer.rejected(answer),
            // A body is wanted once.
            Checked::NeedsBody(..) => self.to_answer.stopped(Stopped::TooLarge),
        }
    }

    /// Passes a request on. All that can be done without waiting is done here: a future has room for what it begins with.
    fn pass(self, admission: Admission, rest: Rest) -> Exchange {
        let Self { parts, live, mut to_answer, .. } = self;
        to_answer.running.passed_on();
        let bytes_max = to_answer.running.client().worker.settings.bounds.body_bytes;
        let bounds = (bytes_max, to_answer.pace());
        let body = RequestBody::of_client(rest, to_answer.running.watch(), &live, bounds);
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

impl ToAnswer {
    /// How fast the body has to come. A call of gRPC may be a stream of messages that are far apart.
    fn pace(&self) -> Option<Pace> {
        let settings = &self.running.client().worker.settings;
        let rate = settings.bounds.body_rate.filter(|_| !self.grpc)?;
        Some(Pace::new(rate, settings.timeouts.body, self.running.watch().patience(Due::Pace)))
    }

    /// Writes a request anew, and chooses its way to the upstream.
    fn sent_on(
        &self,
        mut parts: request::Parts,
        body: RequestBody,
        path: Option<&str>,
        behind: Option<IpAddr>,
    ) -> Result<Departing, Stopped> {
        let client = self.running.client();
        let worker = &client.worker;
        let http2 = worker.upstream.wants_http2(self.grpc);
        let behind = behind.filter(|address| *address != client.peer);
        let out = Outgoing { client, behind, id: &self.id, path, http2 };
        let settings = (&worker.settings.forwarding, &worker.settings.upstream);
        rewrite_head::request(&mut parts, &out, settings).map_err(bad)?;
        if !http2 && !body.is_empty() && http_body::Body::size_hint(&body).exact().is_none() {
            // Left to itself, hyper sends no body with a GET whose length is not known.
            parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        if self.websocket {
            websocket::set_request_fields(&mut parts.headers);
            return Ok(Departing::Switching(Box::new(Request::from_parts(parts, body))));
        }
        Ok(worker.upstream.depart(Request::from_parts(parts, body), http2))
    }

    /// Waits for the response of a request that is on its way, and passes it back.
    async fn pass(
        self,
        live: Arc<InForce>,
        admission: Admission,
        departing: Departing,
    ) -> Response<ResponseBody> {
        match answered(departing, &self.running).await {
            Err(stopped) => self.charged_and_stopped(stopped, &live, &admission),
            Ok((mut head, source)) => {
                live.responses.finish(&admission, head.status, &mut head.headers);
                if head.status == StatusCode::SWITCHING_PROTOCOLS {
                    return self.switched(head, source);
                }
                self.answered(head.status, head, source)
            }
        }
    }

    /// An answer of the gateway's own to a request that was charged. It shows the limits, whoever answers in the end.
    fn charged_and_stopped(
        self,
        stopped: Stopped,
        live: &InForce,
        admission: &Admission,
    ) -> Response<ResponseBody> {
        let mut answer = self.running.client().worker.stopped(stopped);
        live.responses.write(admission, answer.status, &mut answer.headers);
        self.answered_here(answer)
    }

    /// The answer to a request that was checked, and does not go on.
    fn rejected(self, answer: ErrorResponse) -> Response<ResponseBody> {
        self.running.client().worker.count_answer(&answer);
        self.answered_here(answer)
    }

    /// An answer of the gateway's own to a request that was not charged, or whose answer says so already.
    fn stopped(self, stopped: Stopped) -> Response<ResponseBody> {
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
            return self.stopped(Stopped::Upstream(UpstreamError::Switched));
        };
        let Some((wire, first)) = body.into_wire() else {
            return self.stopped(Stopped::Upstream(UpstreamError::Switched));
        };
        if self.running.watch().is_switching(Switching::AskedAndNotSilent) {
            return self.stopped(bad("a WebSocket client sends nothing before the server's 101"));
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

fn head_of<'a>(parts: &'a request::Parts, client: &Client, body: Body) -> RequestHead<'a> {
    RequestHead::of_uri(&parts.method, &parts.uri, &parts.headers).with_peer(client.peer).with_body(body)
}

/// Sends a request on, and waits for the head of its response.
async fn answered(
    departing: Departing,
    running: &Running,
) -> Result<(http::response::Parts, Source), Stopped> {
    let worker = &running.client().worker;
    let mut effort = Effort::default();
    let answered = {
        let mut sending = pin!(worker.upstream.send(departing, running.watch(), &mut effort));
        poll_fn(|cx| match sending.as_mut().poll(cx) {
            Poll::Ready(answered) => Poll::Ready(answered.map_err(Stopped::Upstream)),
            Poll::Pending => running.watch().poll_late(cx).map(|due| Err(Stopped::Late(due))),
        })
        .await
    };
    // What a client does is not the upstream's failure, whatever its connection says of it.
    let answered = answered.map_err(|stopped| match running.watch().fault() {
        None => stopped,
        Some(Fault::Broken) => Stopped::Upstream(UpstreamError::Client),
        Some(Fault::TooLarge) => Stopped::TooLarge,
    });
    worker.tried(effort, answered.as_ref().err(), running.id());
    let (mut head, source) = match answered? {
        Answered::Http1(response) => {
            let (head, body) = response.into_parts();
            (head, Source::Http1(body))
        }
        Answered::Http2(response, stream) => {
            let (head, body) = response.into_parts();
            (head, Source::Http2 { body, _stream: stream })
        }
    };
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        // An upstream may switch only where it was asked to.
        websocket::check_response(&head.headers)
            .map_err(|why| Stopped::Upstream(UpstreamError::Ambiguous(why)))?;
    }
    rewrite_head::response(&mut head.headers, head.version, &worker.via);
    head.version = Version::HTTP_11;
    Ok((head, source))
}
