//! One request and its response: asked, forwarded, answered. Which limits there are is the policy's; bytes are hyper's.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use http::header::{CONTENT_TYPE, HOST, UPGRADE};
use http::{HeaderMap, Request, Response, StatusCode, Version, request};
use hyper::body::Incoming;
use tollgate_tower::{Asked, Head, Pass, Room, problem};

use super::body::{RequestBody, ResponseBody, Source};
use super::client::{Client, Running};
use super::head::{self, Outgoing};
use super::held::{Held, hold};
use super::stopped::Stopped;
use super::upstream::{Answered, Effort, UpstreamError};

thread_local! {
    /// Room that every decision of a thread uses.
    static ROOM: RefCell<Room> = RefCell::new(Room::default());
}

/// Answers a request.
pub(crate) async fn exchange(
    client: Arc<Client>,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    let mut running = client.begin();
    let (parts, body) = request.into_parts();
    Ok(match answered(parts, body, &running).await {
        Ok((head, source)) => {
            running.answered(head.status);
            Response::from_parts(head, ResponseBody::new(source, running))
        }
        Err(stopped) => {
            let answer = client.worker.stopped(stopped);
            running.answered(answer.status);
            let mut response = Response::new(ResponseBody::new(Source::Whole(answer.body), running));
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            response
        }
    })
}

async fn answered(
    parts: request::Parts,
    body: Incoming,
    running: &Running,
) -> Result<(http::response::Parts, Source), Stopped> {
    let client = running.client();
    if parts.version == Version::HTTP_11 && !parts.headers.contains_key(HOST) {
        return Err(bad("the request names no host: send one Host header"));
    }
    // Over HTTP/1.1 the parser has seen to it.
    if parts.headers.len() > client.worker.settings.bounds.header_fields {
        return Err(Stopped::HeadTooLarge);
    }
    let bytes_max = client.worker.settings.bounds.body_bytes;
    if bytes_max.is_some_and(|most| http_body::Body::size_hint(&body).lower() > most) {
        return Err(Stopped::TooLarge);
    }
    let live = Arc::clone(&client.worker.live.load());
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
        match asked {
            Asked::Pass(pass) => Ok(pass),
            Asked::Answered(answer) => Err(Stopped::Answer(answer)),
        }
    })?;
    if is_websocket(&parts.headers) {
        return Err(Stopped::Answer(problem::answer(
            StatusCode::NOT_IMPLEMENTED,
            "Not implemented",
            "this gateway does not speak WebSocket",
        )));
    }
    let trusted = live.guard.gate().policy().settings().trusted_proxies.peer_is_trusted(client.peer);
    let too_large = Arc::new(AtomicBool::new(false));
    let body =
        RequestBody::of_client(held, body, running.watch(), bytes_max.map(|bytes| (bytes, &too_large)));
    let sent = forward(parts, body, running, (&pass, trusted)).await;
    let (mut head, source) =
        sent.map_err(|stopped| if too_large.load(Ordering::Relaxed) { Stopped::TooLarge } else { stopped })?;
    if let Some(later) = pass.later {
        later.responded(head.status, &mut head.headers);
    }
    pass.fields.write(&mut head.headers);
    Ok((head, source))
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
    (pass, peer_trusted): (&Pass, bool),
) -> Result<(http::response::Parts, Source), Stopped> {
    let client = running.client();
    let worker = &client.worker;
    let grpc =
        parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    let http2 = worker.upstream.wants_http2(grpc);
    let out = Outgoing { client, peer_trusted, path: pass.path.as_deref(), http2 };
    let settings = (&worker.settings.forwarding, &worker.settings.upstream);
    head::request(&mut parts, &out, settings).map_err(bad)?;
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
    worker.tried(effort, &answered);
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
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        // It was not asked for.
        return Err(Stopped::Upstream(UpstreamError::Ended));
    }
    head::response(&mut head.headers, head.version, &worker.settings.forwarding);
    head.version = Version::HTTP_11;
    Ok((head, source))
}

fn is_websocket(headers: &HeaderMap) -> bool {
    headers.get(UPGRADE).is_some_and(|upgrade| upgrade.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

fn bad(detail: &str) -> Stopped {
    Stopped::Answer(problem::answer(StatusCode::BAD_REQUEST, "Bad request", detail))
}
