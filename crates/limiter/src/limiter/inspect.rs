//! The verbs that charge nothing: peek at hits, inspect one key, reset one key.
#![cfg_attr(
    not(feature = "redis"),
    expect(clippy::unused_async, reason = "with a shared store the same verbs wait for its answer")
)]

use tollgate_algorithms::{Decision, Micros};

use crate::error::HitError;
use crate::event::Verb;
use crate::key::AsKey;
use crate::limit::{Hit, NamedLimit};
use crate::limiter::Limiter;
use crate::store::memory::{KeyRequest, KeyResult};
use crate::verdict::Verdict;

/// The status of one key of one limit, for diagnosis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KeyStatus {
    /// Whether the store holds a state for this key. A key that has not been charged for long has none.
    pub known: bool,
    /// Whether the key had no room of its own, and is counted in the overflow bucket together with other new keys.
    pub shared: bool,
    /// The key's numbers at this instant, uncharged.
    pub decision: Decision,
}

impl Limiter {
    /// Decides as [`charge`](Self::charge) would, with the numbers of the uncharged keys, and charges nothing.
    ///
    /// While a shared store does not answer the verdict is [unavailable](crate::Kind::Unavailable), whatever the limits' rule
    /// for store failures: neither a local share nor "allow" says what is left of the quota.
    ///
    /// # Errors
    /// Like [`charge`](Self::charge).
    pub async fn peek(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.peek(&self.0, hits).await;
        }
        self.try_peek(hits)
    }

    /// Like [`peek`](Self::peek), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`try_charge`](Self::try_charge).
    pub fn try_peek(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.block_on_hits(hits, shared.peek(&self.0, hits))?;
        }
        let (verdict, at) = self.0.peeked(hits)?;
        self.0.tell(Verb::Peek, hits, &verdict, at);
        Ok(verdict)
    }

    /// Removes the state of a key, as if the key had never been seen. Returns whether there was a state. Receipts of earlier
    /// charges become void.
    ///
    /// # Errors
    /// If the key is too long, when another limiter made the limit, or when the shared store does not answer.
    pub async fn reset(&self, limit: &NamedLimit, key: impl AsKey) -> Result<bool, HitError> {
        let key = key.key_bytes();
        self.reset_hit(&limit.hit(&key)).await
    }

    async fn reset_hit(&self, hit: &Hit<'_>) -> Result<bool, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(std::slice::from_ref(hit)) {
            self.0.check(hit)?;
            return shared.reset(&self.0, hit).await;
        }
        self.try_reset_hit(hit)
    }

    /// Like [`reset`](Self::reset), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`reset`](Self::reset), and [`HitError::WouldBlock`] if it would block a thread of a runtime.
    pub fn try_reset(&self, limit: &NamedLimit, key: impl AsKey) -> Result<bool, HitError> {
        self.try_reset_hit(&limit.hit(&key.key_bytes()))
    }

    fn try_reset_hit(&self, hit: &Hit<'_>) -> Result<bool, HitError> {
        let id = self.0.id_of(hit)?;
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(std::slice::from_ref(hit)) {
            return shared.block_on(hit, shared.reset(&self.0, hit))?;
        }
        Ok(self.0.memory.reset(hit.limit, id, &self.0.clock))
    }

    /// Reports the status of a key without charging it.
    ///
    /// # Errors
    /// If the key is too long, when another limiter made the limit, or when the shared store does not answer.
    pub async fn inspect(&self, limit: &NamedLimit, key: impl AsKey) -> Result<KeyStatus, HitError> {
        let key = key.key_bytes();
        self.inspect_hit(&limit.hit(&key).cost(0)).await
    }

    async fn inspect_hit(&self, hit: &Hit<'_>) -> Result<KeyStatus, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(std::slice::from_ref(hit)) {
            self.0.check(hit)?;
            return shared.inspect(hit).await;
        }
        self.try_inspect_hit(hit)
    }

    /// Like [`inspect`](Self::inspect), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`inspect`](Self::inspect), and [`HitError::WouldBlock`] if it would block a thread of a runtime.
    pub fn try_inspect(&self, limit: &NamedLimit, key: impl AsKey) -> Result<KeyStatus, HitError> {
        self.try_inspect_hit(&limit.hit(&key.key_bytes()).cost(0))
    }

    fn try_inspect_hit(&self, hit: &Hit<'_>) -> Result<KeyStatus, HitError> {
        let id = self.0.id_of(hit)?;
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(std::slice::from_ref(hit)) {
            return shared.block_on(hit, shared.inspect(hit))?;
        }
        let now = self.0.clock.now();
        let given = self.0.memory.act(hit.limit, id, KeyRequest::Peek(0), (&self.0.clock, now));
        let unknown = tollgate_algorithms::peek(&hit.limit.limit, None, now, 0);
        let given = given.unwrap_or(KeyResult { decision: unknown, refunded: 0, shared: true, known: false });
        let known = given.known && given.decision.reset_after > Micros::ZERO;
        Ok(KeyStatus { known, shared: given.shared, decision: given.decision })
    }
}
