//! One request and its response: asked, forwarded, answered. Which limits there are is the policy's; bytes are hyper's.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use http::header::{CONNECTION, CONTENT_TYPE, HOST, TRANSFER_ENCODING, UPGRADE};
use http::uri::Scheme;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, request};
use hyper::body::Incoming;
use tollgate_tower::{Answer, Asked, Head, Pass, Room, problem};

use super::account::Noted;
use super::body::{RequestBody, ResponseBody, Source};
use super::client::{Client, Running};
use super::framing;
use super::head::{self, Outgoing, X_REQUEST_ID};
use super::held::{Held, hold};
use super::live::InForce;
use super::stopped::Stopped;
use super::strip;
use super::upstream::{Answered, Effort};

thread_local! {
    /// Room that every decision of a thread uses.
    static ROOM: RefCell<Room> = RefCell::new(Room::default());
}

/// A request as it came, but for what does not go on.
struct Came {
    parts: request::Parts,
    body: Incoming,
    /// Its name.
    id: HeaderValue,
}

/// Answers a request.
pub(crate) async fn exchange(
    client: Arc<Client>,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    let mut running = client.begin();
    let id = running.id().header();
    let (parts, body) = request.into_parts();
    let mut noted = client.worker.noted(client.peer, &parts.method);
    let http1 = parts.version != Version::HTTP_2;
    let answered = answered(Came { parts, body, id: id.clone() }, &running, &mut noted).await;
    let (mut head, source) = answered.unwrap_or_else(|stopped| ours(client.worker.stopped(stopped), http1));
    head.headers.insert(X_REQUEST_ID, id);
    running.answered(head.status, noted);
    Ok(Response::from_parts(head, ResponseBody::new(source, running)))
}

/// An answer of the gateway's own.
fn ours(answer: Answer, http1: bool) -> (http::response::Parts, Source) {
    let mut head = Response::new(()).into_parts().0;
    head.status = answer.status;
    head.headers = answer.headers;
    if http1 && matches!(answer.status, StatusCode::BAD_REQUEST | StatusCode::NOT_IMPLEMENTED) {
        // Who sends what could be read in two ways, or hopes for another protocol, may have sent more of that.
        head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    (head, Source::Whole(answer.body))
}

async fn answered(
    came: Came,
    running: &Running,
    noted: &mut Option<Noted>,
) -> Result<(http::response::Parts, Source), Stopped> {
    let client = running.client();
    let Came { mut parts, body, id } = came;
    // Over HTTP/1.1 the parser has seen to it.
    if parts.headers.len() > client.worker.settings.bounds.header_fields {
        return Err(Stopped::HeadTooLarge);
    }
    let upgrade = parts.headers.get(UPGRADE).is_some_and(is_websocket);
    let bytes_max = client.worker.settings.bounds.body_bytes;
    if bytes_max.is_some_and(|most| http_body::Body::size_hint(&body).lower() > most) {
        return Err(Stopped::TooLarge);
    }
    let live = Arc::clone(&client.worker.live.load());
    prepare(&mut parts, client, &live)?;
    let wanted = ROOM.with_borrow_mut(|room| live.guard.wants_body(&asked(&parts, client, None), room));
    let (held, body, body_operations) = match wanted {
        None => (None, Some(body), None),
        Some(wanted) => {
            let Held { bytes, rest, operations } = hold(body, wanted, running.watch()).await?;
            (Some(bytes).filter(|bytes| !bytes.is_empty()), rest, operations)
        }
    };
    let pass = ROOM.with_borrow_mut(|room| {
        let asked = live.guard.ask(&asked(&parts, client, body_operations), room);
        client.worker.decided(&live, room, &asked, running.since());
        client.worker.note(&live, &parts.headers, &asked, noted);
        match asked {
            Asked::Pass(pass) => Ok(pass),
            Asked::Answered(answer) => {
                client.worker.refused(&live, &answer, &parts, running);
                Err(Stopped::Answer(answer))
            }
        }
    })?;
    if upgrade {
        return Err(unable("this gateway does not speak WebSocket"));
    }
    let too_large = Arc::new(AtomicBool::new(false));
    let body =
        RequestBody::of_client(held, body, running.watch(), bytes_max.map(|bytes| (bytes, &too_large)));
    let sent = forward(parts, body, running, (&pass, &id)).await;
    let (mut head, source) =
        sent.map_err(|stopped| if too_large.load(Ordering::Relaxed) { Stopped::TooLarge } else { stopped })?;
    if let Some(later) = pass.later {
        later.responded(head.status, &mut head.headers);
    }
    pass.fields.write(&mut head.headers);
    Ok((head, source))
}

/// Refuses what could be read in two ways, and takes out what does not go on: what is asked about is what is forwarded.
fn prepare(parts: &mut request::Parts, client: &Client, live: &InForce) -> Result<(), Stopped> {
    framing::of_request(&parts.headers).map_err(bad)?;
    let nowhere = parts.version == Version::HTTP_11 && !parts.headers.contains_key(HOST);
    if nowhere || head::host(parts).is_none() {
        return Err(bad(head::NO_HOST));
    }
    if parts.uri.scheme().is_some_and(|scheme| *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS) {
        return Err(bad("the target is of another scheme: this gateway serves http and https"));
    }
    if parts.method == Method::CONNECT {
        return Err(unable("this gateway makes no tunnels"));
    }
    let trusted = &live.guard.gate().policy().settings().trusted_proxies;
    let peer_trusted = trusted.peer_is_trusted(client.peer);
    strip::request(&mut parts.headers, &client.worker.settings.forwarding, peer_trusted, trusted);
    if parts.version == Version::HTTP_2 {
        strip::join_cookies(&mut parts.headers);
    }
    Ok(())
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
async fn forward(
    mut parts: request::Parts,
    body: RequestBody,
    running: &Running,
    (pass, id): (&Pass, &HeaderValue),
) -> Result<(http::response::Parts, Source), Stopped> {
    let client = running.client();
    let worker = &client.worker;
    let grpc =
        parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    let http2 = worker.upstream.wants_http2(grpc);
    let out = Outgoing { client, id, path: pass.path.as_deref(), http2 };
    let settings = (&worker.settings.forwarding, &worker.settings.upstream);
    head::request(&mut parts, &out, settings).map_err(bad)?;
    if !http2 && !body.is_empty() && http_body::Body::size_hint(&body).exact().is_none() {
        // Left to itself, hyper sends no body with a GET whose length is not known.
        parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    let request = Request::from_parts(parts, body);
    let mut effort = Effort::default();
    let answered = {
        let mut sending = pin!(worker.upstream.send(request, http2, running.watch(), &mut effort));
        poll_fn(|cx| match sending.as_mut().poll(cx) {
            Poll::Ready(answered) => Poll::Ready(answered.map_err(Stopped::Upstream)),
            Poll::Pending => running.watch().poll_late(cx).map(|due| Err(Stopped::Late(due))),
        })
        .await
    };
    worker.tried(effort, answered.as_ref().err(), running.id());
    let (mut head, source) = match answered? {
        Answered::Http1(response) => {
            let (head, body) = response.into_parts();
            (head, Source::Http1(body))
        }
        Answered::Http2(response) => {
            let (head, body) = response.into_parts();
            (head, Source::Http2(body))
        }
    };
    head::response(&mut head.headers, head.version, &worker.settings.forwarding);
    head.version = Version::HTTP_11;
    Ok((head, source))
}

/// Whether WebSocket is among the protocols that a client would rather speak.
fn is_websocket(upgrade: &HeaderValue) -> bool {
    let mut protocols = upgrade.as_bytes().split(|byte| *byte == b',');
    protocols.any(|protocol| protocol.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}

fn bad(detail: &str) -> Stopped {
    Stopped::Answer(problem::answer(StatusCode::BAD_REQUEST, "Bad request", detail))
}

fn unable(detail: &str) -> Stopped {
    Stopped::Answer(problem::answer(StatusCode::NOT_IMPLEMENTED, "Not implemented", detail))
}
