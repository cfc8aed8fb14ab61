//! Checks one key of one limit: the shortest way to a verdict.

use crate::error::HitError;
use crate::key::AsKey;
use crate::limit::NamedLimit;
use crate::verdict::Verdict;

impl NamedLimit {
    /// Charges a cost of 1 to a key. The future is ready at once unless the limit is in a shared store.
    ///
    /// A key is a value of any common type: text, bytes, a number, an address, or a tuple of them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tollgate::{Limit, Limiter};
    /// let limiter = Limiter::new()?;
    /// let api = limiter.limit("api", Limit::per_second(10).burst(1)?);
    /// assert!(api.check("user-42").await?.is_granted());
    /// let refused = api.check("user-42").await?;
    /// assert!(!refused.is_granted() && refused.retry_after().is_some());
    /// assert!(api.check(("organisation", 42)).await?.is_granted());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the key is too long: see [`HitError`]. Nothing is charged then.
    pub async fn check(&self, key: impl AsKey) -> Result<Verdict, HitError> {
        let bytes = key.key_bytes();
        self.1.charge(&[self.hit(&bytes)]).await
    }

    /// Like [`check`](Self::check), for callers without a runtime. Blocks the thread if the limit is in a shared
    /// store.
    ///
    /// # Errors
    /// Like [`check`](Self::check), and [`HitError::WouldBlock`] if it would block a thread of a runtime.
    pub fn try_check(&self, key: impl AsKey) -> Result<Verdict, HitError> {
        self.1.try_charge(&[self.hit(&key.key_bytes())])
    }
}
