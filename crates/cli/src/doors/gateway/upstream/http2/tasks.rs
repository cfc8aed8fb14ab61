//! The tasks of an HTTP/2 connection to the upstream.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use hyper::rt::Executor;

/// Runs the tasks of a connection. Whoever waits for its beginning is woken after each turn of one, and nobody later.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// Whether somebody waits.
    is_there: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Tasks {
    /// From now on this one waits.
    pub(super) fn tell(&self, waker: &Waker) {
        *self.0.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
        self.0.is_there.store(true, Ordering::Relaxed);
    }

    /// Nobody waits any more.
    pub(super) fn tell_nobody(&self) {
        self.0.is_there.store(false, Ordering::Relaxed);
    }
}

impl Waiting {
    fn wake(&self) {
        if self.is_there.load(Ordering::Relaxed) {
            let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl<F> Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        let waiting = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut task = pin!(task);
            poll_fn(|cx| {
                let polled = task.as_mut().poll(cx);
                waiting.wake();
                polled
            })
            .await;
        });
    }
}
