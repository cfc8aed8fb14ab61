//! Responses to bytes that are not a valid request: replaces hyper's bare status with a problem response.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::{BufMut, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, DATE};
use http::{HeaderValue, StatusCode};
use tokio::io::AsyncWriteExt;
use tollgate_tower::{ErrorResponse, problem};

use super::client_connection::ClientConnection;
use super::client_io::ClientIo;
use super::error_response::Rejected;
use crate::settings::ResourceLimits;
use crate::telemetry::logs::X_REQUEST_ID;

/// Responds in hyper's place and closes the connection, unless part of a response has been sent already.
pub(crate) async fn answer(stream: &mut ClientIo, client: &Arc<ClientConnection>, error: &hyper::Error) {
    if !stream.is_settled() {
        return;
    }
    let made = GeneratedResponse::read(stream.take_withheld().as_deref().unwrap_or_default());
    let worker = &client.worker;
    let problem = problem(made.status, error, &worker.settings.bounds);
    let mut running = client.begin();
    let mut answer = worker.stopped(Rejected::Answer(Box::new(problem)));
    answer.headers.insert(X_REQUEST_ID, running.id().header());
    answer.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    answer.headers.insert(CONTENT_LENGTH, answer.body.len().into());
    answer.headers.extend(made.date.map(|date| (DATE, date)));
    let bytes = written(&answer);
    running.answered(answer.status, worker.noted_unreadable(client.peer));
    let sent = {
        let mut sending = pin!(async {
            stream.write_all(&bytes).await?;
            stream.flush().await
        });
        poll_fn(|cx| match sending.as_mut().poll(cx) {
            Poll::Ready(sent) => Poll::Ready(sent.is_ok()),
            Poll::Pending => running.watch().poll_late(cx).map(|_| false),
        })
        .await
    };
    if sent {
        running.over();
    }
}

/// The parts of hyper's own response that are kept.
struct GeneratedResponse {
    status: StatusCode,
    date: Option<HeaderValue>,
}

impl GeneratedResponse {
    /// Parses hyper's response. Without one, the status is 400.
    fn read(response: &[u8]) -> Self {
        let status = response.get(9..12).and_then(|status| StatusCode::from_bytes(status).ok());
        let lines = response.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let mut dates = lines.filter_map(|line| HeaderValue::from_bytes(line.strip_prefix(b"date: ")?).ok());
        Self { status: status.unwrap_or(StatusCode::BAD_REQUEST), date: dates.next() }
    }
}

fn problem(status: StatusCode, error: &hyper::Error, bounds: &ResourceLimits) -> ErrorResponse {
    match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            let (bytes, fields) = (bounds.head_bytes, bounds.header_fields);
            let detail = format!(
                "The request header is too large. This gateway accepts {bytes} bytes and {fields} header fields."
            );
            problem::answer(status, "Request Header Fields Too Large", &detail)
        }
        StatusCode::URI_TOO_LONG => {
            problem::answer(status, "URI Too Long", "The request target is too long.")
        }
        // hyper's messages are fixed sentences and contain none of the client's bytes.
        _ => {
            let detail = format!("The request is not valid HTTP/1.1: {error}");
            problem::answer(status, "Bad Request", &detail)
        }
    }
}

/// A response in HTTP/1.1 format.
fn written(answer: &ErrorResponse) -> BytesMut {
    let mut bytes = BytesMut::with_capacity(512);
    bytes.put_slice(b"HTTP/1.1 ");
    bytes.put_slice(answer.status.as_str().as_bytes());
    bytes.put_u8(b' ');
    bytes.put_slice(answer.status.canonical_reason().unwrap_or_default().as_bytes());
    for (name, value) in &answer.headers {
        bytes.put_slice(b"\r\n");
        bytes.put_slice(name.as_str().as_bytes());
        bytes.put_slice(b": ");
        bytes.put_slice(value.as_bytes());
    }
    bytes.put_slice(b"\r\n\r\n");
    bytes.put_slice(&answer.body);
    bytes
}

#[test]
fn hypers_own_response_is_read_for_its_status_and_date() {
    let made = GeneratedResponse::read(
        b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ndate: now\r\n\r\n",
    );
    assert_eq!((made.status.as_u16(), made.date), (431, Some(HeaderValue::from_static("now"))));
    let made = GeneratedResponse::read(b"");
    assert_eq!((made.status, made.date), (StatusCode::BAD_REQUEST, None));
}
