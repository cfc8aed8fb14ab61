//! Runs the streams of an HTTP/2 connection, each as a task. A stalled or expired stream ends alone.
//!
//! hyper writes a response while there is room for it, and asks its body for nothing while there is none. So a body cannot
//! say that its client is late: the task that it is in does.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::rt::Executor;

use super::deadlines::Deadlines;

thread_local! {
    /// The watch of the exchange that has begun last. hyper asks for an exchange and then runs its stream, at once.
    static BEGUN: RefCell<Option<Arc<Deadlines>>> = const { RefCell::new(None) };
}

/// Runs streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamExecutor;

/// An exchange has begun in a stream: its deadlines are the stream's.
pub(crate) fn begun(watch: &Arc<Deadlines>) {
    BEGUN.set(Some(Arc::clone(watch)));
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let watch = BEGUN.take();
        tokio::spawn(async move {
            let mut stream = pin!(stream);
            poll_fn(|cx| {
                if stream.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                // To drop it is to reset it.
                watch.as_ref().map_or(Poll::Pending, |watch| watch.poll_cut(cx))
            })
            .await;
        });
    }
}
