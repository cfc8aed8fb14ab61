//! One request and its response: asked, forwarded, answered. Which limits there are is the policy's; bytes are hyper's.

mod response_future;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, StatusCode, Version, request};
use hyper::body::Incoming;
use tollgate_tower::{Answer, Asked, BodyWanted, Head, Pass, Room, grpc};

pub(crate) use self::response_future::Exchange;
use self::response_future::Waiting;
use super::access_log::Noted;
use super::body::{RequestBody, ResponseBody, Rest, Source};
use super::body_rate::Pace;
use super::buffered_body::hold;
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
    /// Room that every decision of a thread uses.
    static ROOM: RefCell<Room> = RefCell::new(Room::default());
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

/// Answers a request.
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
    let mut came = Came { parts, live, reach: Reach::Upstream, to_answer, since };
    match came.asked_at_once(body) {
        Err(stopped) => Exchange::Ready(Some(came.to_answer.stopped(stopped))),
        Ok(AtOnce::Passes(pass, body)) => {
            came.pass(pass, Rest { held: None, body: Some(body), trailers: None })
        }
        Ok(AtOnce::Waits(body)) => Exchange::Waiting(Waiting(Box::pin(came.wait_and_pass(body)))),
        Ok(AtOnce::Wants(wanted, body)) => {
            Exchange::Waiting(Waiting(Box::pin(came.hold_and_ask(wanted, body))))
        }
    }
}

/// What can be said at once of a request that is not answered.
#[expect(clippy::large_enum_variant, reason = "it is moved once")]
enum AtOnce {
    /// It passes.
    Passes(Pass, Incoming),
    /// Its limits are counted in a shared store, which takes a while.
    Waits(Incoming),
    /// Some of its body has to be read first.
    Wants(BodyWanted, Incoming),
}

impl Came {
    /// Asks about a request whose head says all; else says how much of its body is wanted.
    fn asked_at_once(&mut self, body: Incoming) -> Result<AtOnce, Stopped> {
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
        let wanted = |room: &mut Room| self.live.guard.wants_body(&asked(&self.parts, client, None), room);
        match ROOM.with_borrow_mut(wanted) {
            Some(wanted) => Ok(AtOnce::Wants(wanted, body)),
            None if self.live.waits => Ok(AtOnce::Waits(body)),
            None => Ok(AtOnce::Passes(self.ask(None)?, body)),
        }
    }

    /// Asks, and writes down what came of it.
    fn ask(&mut self, body_operations: Option<u64>) -> Result<Pass, Stopped> {
        ROOM.with_borrow_mut(|room| {
            let head = asked(&self.parts, self.to_answer.running.client(), body_operations);
            let asked = self.live.guard.ask(&head, room);
            self.told(asked, room)
        })
    }

    /// As [`ask`](Self::ask), where it takes a while.
    async fn ask_and_wait(&mut self, body_operations: Option<u64>) -> Result<Pass, Stopped> {
        // Another request may be asked about meanwhile, and makes room of its own.
        let mut room = ROOM.take();
        let head = asked(&self.parts, self.to_answer.running.client(), body_operations);
        let asked = self.live.guard.ask_async(&head, &mut room).await;
        let told = self.told(asked, &room);
        ROOM.set(room);
        told
    }

    /// Writes down what came of asking.
    fn told(&mut self, asked: Asked, room: &Room) -> Result<Pass, Stopped> {
        let Self { parts, live, reach, since, to_answer: ToAnswer { running, noted, websocket, .. } } = self;
        let client = running.client();
        client.worker.decided(live, room, since);
        client.worker.note(live, &parts.headers, &asked, noted);
        match asked {
            // It was charged, and is told so.
            Asked::Pass(pass) if *websocket && !client.worker.upstream.can_switch() => {
                let mut answer = not_implemented("WebSocket needs HTTP/1.1, and the upstream speaks HTTP/2");
                pass.fields.write(&mut answer.headers);
                Err(Stopped::Answer(Box::new(answer)))
            }
            Asked::Pass(pass) if *reach == Reach::Here => {
                let mut answer = max_forwards::answer(parts);
                pass.fields.write(&mut answer.headers);
                Err(Stopped::Answer(Box::new(answer)))
            }
            Asked::Pass(pass) => Ok(pass),
            Asked::Answered(answer) => {
                client.worker.refused(live, &answer, parts, running);
                Err(Stopped::Answer(answer))
            }
        }
    }

    /// Asks a shared store, and goes on.
    async fn wait_and_pass(mut self, body: Incoming) -> Response<ResponseBody> {
        match self.ask_and_wait(None).await {
            Err(stopped) => self.to_answer.stopped(stopped),
            Ok(pass) => {
                let rest = Rest { held: None, body: Some(body), trailers: None };
                answer_of(self.pass(pass, rest)).await
            }
        }
    }

    /// Reads what is wanted of the body, asks, and goes on.
    async fn hold_and_ask(mut self, wanted: BodyWanted, body: Incoming) -> Response<ResponseBody> {
        let (rest, operations) =
            match hold(body, wanted, self.to_answer.pace(), self.to_answer.running.watch()).await {
                Ok(held) => held,
                Err(stopped) => return self.to_answer.stopped(stopped),
            };
        // How long the client took for it is not the decision's time.
        self.since = Stopwatch::start();
        let asked = if self.live.waits { self.ask_and_wait(operations).await } else { self.ask(operations) };
        match asked {
            Err(stopped) => self.to_answer.stopped(stopped),
            Ok(pass) => answer_of(self.pass(pass, rest)).await,
        }
    }

    /// Passes a request on. All that can be done without waiting is done here: a future has room for what it begins with.
    fn pass(self, pass: Pass, rest: Rest) -> Exchange {
        let Self { parts, live, mut to_answer, .. } = self;
        to_answer.running.passed_on();
        let bytes_max = to_answer.running.client().worker.settings.bounds.body_bytes;
        let bounds = (bytes_max, to_answer.pace());
        let body = RequestBody::of_client(rest, to_answer.running.watch(), &live, bounds);
        let trusted = &live.guard.gate().policy().settings().trusted_proxies;
        let behind =
            trusted.header().map(|_| trusted.client(to_answer.running.client().peer, &parts.headers).address);
        match to_answer.sent_on(parts, body, &pass, behind) {
            Err(stopped) => Exchange::Ready(Some(to_answer.charged_and_stopped(stopped, pass))),
            Ok(departing) => Exchange::Waiting(Waiting(Box::pin(to_answer.pass(pass, departing)))),
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
        pass: &Pass,
        behind: Option<IpAddr>,
    ) -> Result<Departing, Stopped> {
        let client = self.running.client();
        let worker = &client.worker;
        let http2 = worker.upstream.wants_http2(self.grpc);
        let behind = behind.filter(|address| *address != client.peer);
        let out = Outgoing { client, behind, id: &self.id, path: pass.path.as_deref(), http2 };
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
    async fn pass(self, pass: Pass, departing: Departing) -> Response<ResponseBody> {
        match answered(departing, &self.running).await {
            Err(stopped) => self.charged_and_stopped(stopped, pass),
            Ok((mut head, source)) => {
                pass.responded(head.status, &mut head.headers);
                if head.status == StatusCode::SWITCHING_PROTOCOLS {
                    return self.switched(head, source);
                }
                self.answered(head.status, head, source)
            }
        }
    }

    /// An answer of the gateway's own to a request that was charged: it is told so, whoever answers it in the end.
    fn charged_and_stopped(self, stopped: Stopped, pass: Pass) -> Response<ResponseBody> {
        let mut answer = self.running.client().worker.stopped(stopped);
        pass.fields.write(&mut answer.headers);
        self.answered_here(answer)
    }

    /// An answer of the gateway's own to a request that was not charged, or whose answer says so already.
    fn stopped(self, stopped: Stopped) -> Response<ResponseBody> {
        let answer = self.running.client().worker.stopped(stopped);
        self.answered_here(answer)
    }

    fn answered_here(self, mut answer: Answer) -> Response<ResponseBody> {
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

fn asked<'a>(parts: &'a request::Parts, client: &Client, body_operations: Option<u64>) -> Head<'a> {
    Head {
        method: &parts.method,
        uri: &parts.uri,
        headers: &parts.headers,
        peer: client.peer,
        body_operations,
    }
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
