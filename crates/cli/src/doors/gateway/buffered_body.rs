//! Reads a body that contains a cost or a key, up to the policy's maximum, before the check.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use hyper::body::Incoming;
use tollgate_engine::RequiredBody;

use super::body::RemainingBody;
use super::body_rate::BodyRate;
use super::deadlines::{DeadlineKind, Deadlines};
use super::error_response::Rejected;
use super::upstream::UpstreamError;

/// What was read of a body.
#[derive(Debug)]
pub(crate) struct BufferedBody {
    /// What is to be sent on.
    pub(crate) rest: RemainingBody,
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
    mut pace: Option<BodyRate>,
    watch: &Arc<Deadlines>,
) -> Result<BufferedBody, Rejected> {
    let most = usize::try_from(wanted.max_read()).unwrap_or(usize::MAX);
    let (mut bytes, mut trailers) = (BytesMut::new(), None);
    loop {
        match pace.as_mut().and_then(|pace| pace.wait(watch.now())) {
            Some(until) => watch.wait_until_before_answer(DeadlineKind::Pace, until),
            None => watch.wait_for(DeadlineKind::Body),
        }
        let frame = poll_fn(|cx| match Pin::new(&mut body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
            Poll::Pending if watch.is_half_closed() => {
                Poll::Ready(Err(Rejected::Upstream(UpstreamError::Client)))
            }
            Poll::Pending => watch.poll_late(cx).map(|due| {
                Err(Rejected::Late(if due == DeadlineKind::Pace { due } else { DeadlineKind::Body }))
            }),
        });
        let frame = match frame.await? {
            None => {
                watch.set_unread(false);
                break;
            }
            Some(Err(_)) => return Err(Rejected::Upstream(UpstreamError::Client)),
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
            watch.wait_for(DeadlineKind::Body);
            let rest = RemainingBody { held: Some(bytes.freeze()), body: Some(body), trailers: None };
            return Ok(BufferedBody { rest, operations: None, text: None });
        }
    }
    watch.rest();
    let operations = wanted.count(&bytes);
    let bytes = bytes.freeze();
    let is_short = u64::try_from(bytes.len()).is_ok_and(|length| length <= wanted.max_key);
    let text = Some(bytes.clone()).filter(|_| is_short && wanted.max_key > 0);
    let held = Some(bytes).filter(|bytes| !bytes.is_empty());
    Ok(BufferedBody { rest: RemainingBody { held, body: None, trailers }, operations, text })
}
