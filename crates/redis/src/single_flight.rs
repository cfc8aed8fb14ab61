//! Single-flight for an operation that may hang and cannot be cancelled: concurrent callers share one.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch::{Receiver, channel};

/// What comes of the one that is under way. It holds nothing until that has ended.
pub(crate) struct SingleFlight<T>(Mutex<Option<Receiver<Option<T>>>>);

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Waits for the one that is under way, or begins another if none is. It goes on if nobody waits any more. `None` if it ends without
    /// a result, as it does with its runtime.
    pub(crate) async fn join<F>(&self, begin: impl FnOnce() -> F) -> Option<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut under_way = self.under_way(begin);
        let ended = under_way.wait_for(Option::is_some).await.ok()?;
        ended.clone()
    }

    fn under_way<F>(&self, begin: impl FnOnce() -> F) -> Receiver<Option<T>>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What has ended is old: the next one may end in another way.
        let is_under_way =
            |last: &&Receiver<Option<T>>| last.borrow().is_none() && last.has_changed().is_ok();
        if let Some(last) = last.as_ref().filter(is_under_way) {
            return last.clone();
        }
        let (ended, receiver) = channel(None);
        let what = begin();
        tokio::spawn(async move { ended.send_replace(Some(what.await)) });
        *last = Some(receiver.clone());
        receiver
    }
}
