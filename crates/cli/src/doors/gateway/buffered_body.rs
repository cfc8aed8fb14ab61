//! Reads a body that contains a cost or a key, up to the policy's maximum, before the check.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use hyper::body::Incoming;
use tollgate_engine::RequiredBody;

use super::body::Rest;
use super::body_rate::Pace;
use super::deadlines::{Due, Watch};
use super::error_response::Stopped;
use super::upstream::UpstreamError;

/// What was read of a body.
#[derive(Debug)]
pub(crate) struct Held {
    /// What is to be sent on.
    pub(crate) rest: Rest,
    /// How many operations it carries, if that could be told.
    pub(crate) operations: Option<u64>,
    /// The whole body, if a key may be in it.
    pub(crate) text: Option<Bytes>,
}

/// Reads a body, up to what is wanted of it.
///
/// # Errors
/// When the client breaks off, or is late: whatever is late, nobody but the client was asked for anything yet.
pub(crate) async fn hold(
    mut body: Incoming,
    wanted: RequiredBody,
    mut pace: Option<Pace>,
    watch: &Arc<Watch>,
) -> Result<Held, Stopped> {
    let most = usize::try_from(wanted.max_read()).unwrap_or(usize::MAX);
    let (mut bytes, mut trailers) = (BytesMut::new(), None);
    loop {
        match pace.as_mut().and_then(|pace| pace.wait(watch.now())) {
            Some(until) => watch.wait_until_before_answer(Due::Pace, until),
            None => watch.wait_for(Due::Body),
        }
        let frame = poll_fn(|cx| match Pin::new(&mut body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
            Poll::Pending if watch.is_half_closed() => {
                Poll::Ready(Err(Stopped::Upstream(UpstreamError::Client)))
            }
            Poll::Pending => watch
                .poll_late(cx)
                .map(|due| Err(Stopped::Late(if due == Due::Pace { due } else { Due::Body }))),
        });
        let frame = match frame.await? {
            None => {
                watch.set_unread(false);
                break;
            }
            Some(Err(_)) => return Err(Stopped::Upstream(UpstreamError::Client)),
            Some(Ok(frame)) => frame,
        };
        match frame.into_data() {
            Ok(data) => {
                if let Some(pace) = &mut pace {
                    pace.came(watch.now(), u64::try_from(data.len()).unwrap_or(u64::MAX));
                }
                bytes.extend_from_slice(&data);
            }
            Err(other) => trailers = other.into_trailers().ok().map(Box::new),
        }
        if bytes.len() > most {
            watch.wait_for(Due::Body);
            let rest = Rest { held: Some(bytes.freeze()), body: Some(body), trailers: None };
            return Ok(Held { rest, operations: None, text: None });
        }
    }
    watch.rest();
    let operations = wanted.count(&bytes);
    let bytes = bytes.freeze();
    let is_short = u64::try_from(bytes.len()).is_ok_and(|length| length <= wanted.max_key);
    let text = Some(bytes.clone()).filter(|_| is_short && wanted.max_key > 0);
    let held = Some(bytes).filter(|bytes| !bytes.is_empty());
    Ok(Held { rest: Rest { held, body: None, trailers }, operations, text })
}
