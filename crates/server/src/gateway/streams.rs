//! The streams of an HTTP/2 connection, each a task. One whose client takes nothing, or that had its time, ends alone.
//!
//! hyper writes a response while there is room for it, and asks its body for nothing while there is none. So a body cannot
//! say that its client is late: the task that it is in does.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::rt::Executor;

use super::watch::Watch;

thread_local! {
    /// The watch of the exchange that has begun in the task that is being polled.
    static BEGUN: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

/// Runs streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams;

/// An exchange has begun in a stream: its deadlines are the stream's.
pub(crate) fn begun(watch: &Arc<Watch>) {
    BEGUN.set(Some(Arc::clone(watch)));
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        tokio::spawn(async move {
            let mut stream = pin!(stream);
            let mut watch = None;
            poll_fn(|cx| {
                if stream.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                if watch.is_none() {
                    watch = BEGUN.take();
                }
                // To drop it is to reset it.
                watch.as_ref().map_or(Poll::Pending, |watch| watch.poll_cut(cx))
            })
            .await;
        });
    }
}
