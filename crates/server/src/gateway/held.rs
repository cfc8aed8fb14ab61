//! A body that is read before its request is asked about, because its cost is in it. It is never longer than the policy says.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use hyper::body::Incoming;
use tollgate_tower::{BodyWanted, operations};

use super::stopped::Stopped;
use super::upstream::UpstreamError;
use super::watch::{Due, Watch};

/// What was read.
#[derive(Debug)]
pub(crate) struct Held {
    /// What was read.
    pub(crate) bytes: Bytes,
    /// What was not, because it is too long.
    pub(crate) rest: Option<Incoming>,
    /// How many operations it carries, if that could be told.
    pub(crate) operations: Option<u64>,
}

/// Reads a body, up to what is wanted of it.
pub(crate) async fn hold(
    mut body: Incoming,
    wanted: BodyWanted,
    watch: &Arc<Watch>,
) -> Result<Held, Stopped> {
    let most = usize::try_from(wanted.max_body).unwrap_or(usize::MAX);
    let mut bytes = BytesMut::new();
    watch.wait_for(Due::Body);
    loop {
        let frame = poll_fn(|cx| match Pin::new(&mut body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
            Poll::Pending => watch.poll_late(cx).map(|due| Err(Stopped::Late(due))),
        });
        match frame.await? {
            None => {
                watch.set_unread(false);
                break;
            }
            Some(Err(_)) => return Err(Stopped::Upstream(UpstreamError::Client)),
            Some(Ok(frame)) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
        }
        watch.wait_for(Due::Body);
        if bytes.len() > most {
            return Ok(Held { bytes: bytes.freeze(), rest: Some(body), operations: None });
        }
    }
    watch.rest();
    let operations = operations::count(wanted.kind, &bytes);
    Ok(Held { bytes: bytes.freeze(), rest: None, operations })
}
