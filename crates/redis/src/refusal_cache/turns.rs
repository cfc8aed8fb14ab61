//! Single-flight: one caller queries the server about a key, and the others wait for its result.

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::RefusalCache;
use crate::{LinkError, Name};

/// A question that is on its way, of which others wait for the answer.
#[derive(Debug)]
pub(crate) struct InFlightQuery {
    /// From then on nobody waits for it any more.
    until: Instant,
    /// How it ended: with an error, or not.
    ended: OnceLock<Option<LinkError>>,
    wake: Notify,
}

/// The right to ask about a key that was refused, alone. Who waits is woken when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    remembered: &'a RefusalCache,
    name: Name,
    asking: Arc<InFlightQuery>,
}

impl InFlightQuery {
    pub(super) fn new(until: Instant) -> Self {
        Self { until, ended: OnceLock::new(), wake: Notify::new() }
    }

    /// Whether it is worth waiting for. Who has the turn may sleep, or the server has become slow: then the others ask for themselves.
    pub(super) fn is_awaited(&self, now: Instant) -> bool {
        now < self.until
    }

    /// Waits until it has ended, but not beyond this instant, and not longer than it is worth.
    ///
    /// # Errors
    /// When it ended in one: so does what waits.
    pub(crate) async fn ended(&self, latest: Instant) -> Result<(), LinkError> {
        // Made before it is asked whether it has ended: so it is woken if it ends in between.
        let woken = self.wake.notified();
        if self.ended.get().is_none() {
            let _ = timeout_at(latest.min(self.until), woken).await;
        }
        self.ended.get().cloned().flatten().map_or(Ok(()), Err)
    }
}

impl<'a> Turn<'a> {
    pub(super) const fn new(remembered: &'a RefusalCache, name: Name, asking: Arc<InFlightQuery>) -> Self {
        Self { remembered, name, asking }
    }

    pub(crate) fn is_of(&self, name: &Name) -> bool {
        self.name == *name
    }

    /// Says how it ended to those who wait.
    pub(crate) fn end(self, error: Option<&LinkError>) {
        // It is set but once: the turn is taken.
        let _ = self.asking.ended.set(error.cloned());
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // What was asked about may have been pushed out meanwhile: who waits is woken all the same.
        self.remembered.ended(&self.name, &self.asking);
        let _ = self.asking.ended.set(None);
        self.asking.wake.notify_waiters();
    }
}
