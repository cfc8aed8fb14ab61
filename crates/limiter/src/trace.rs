//! Events for `tracing`, target `tollgate`: refusals, and a shared store that fails or comes back. Feature `tracing`.
//!
//! No key is in an event: keys may be identities.

use crate::event::Verb;
use crate::limit::Hit;
use crate::verdict::{Kind, Verdict};

const TARGET: &str = "tollgate";

/// Tells of a verdict that is not a grant. A peek charges nothing and refuses nobody.
#[inline]
pub(crate) fn verdict(verb: Verb, hits: &[Hit<'_>], verdict: &Verdict) {
    if !verdict.is_granted() && verb != Verb::Peek && tracing::enabled!(target: TARGET, tracing::Level::DEBUG)
    {
        tell(hits, verdict);
    }
}

#[cold]
#[inline(never)]
fn tell(hits: &[Hit<'_>], verdict: &Verdict) {
    match verdict.kind() {
        Kind::Granted => {}
        Kind::Refused => {
            let hit = verdict.refused_by().and_then(|place| hits.get(place));
            let limit = hit.map(Hit::name).unwrap_or_default();
            match verdict.retry_after() {
                Some(wait) => tracing::debug!(target: TARGET, limit, retry_after = ?wait, "refused"),
                None => tracing::debug!(target: TARGET, limit, "refused: retrying will never succeed"),
            }
        }
        Kind::Unavailable(why) => tracing::debug!(target: TARGET, %why, "no decision"),
    }
}

/// Whether the shared store failed the last time it was asked: each outage is one event, however many requests meet it.
#[cfg(feature = "redis")]
#[derive(Debug, Default)]
pub(crate) struct StoreEvents(std::sync::atomic::AtomicBool);

#[cfg(feature = "redis")]
impl StoreEvents {
    /// It gave no decision.
    pub(crate) fn failed(&self, why: &str) {
        if !self.0.swap(true, std::sync::atomic::Ordering::Relaxed) {
            tracing::warn!(target: TARGET, why, "the shared store gives no decisions");
        }
    }

    /// It gave a decision.
    pub(crate) fn answered(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        if self.0.load(Relaxed) && self.0.swap(false, Relaxed) {
            tracing::info!(target: TARGET, "the shared store gives decisions again");
        }
    }
}
