//! The store: a question in, the core's decisions out, within the link's budget. What is done when it fails is the caller's.

use crate::{Ask, Health, Link, Reply, StoreError};

/// Budgets that several processes share, on one Redis or Valkey server. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Store {
    link: Link,
}

impl Store {
    /// A store at the other end of a link.
    #[must_use]
    pub const fn new(link: Link) -> Self {
        Self { link }
    }

    /// Asks, and never takes longer than the link's budget.
    ///
    /// # Errors
    /// When there is no decision: that is neither a grant nor a refusal. [`StoreError::may_have_run`] says whether something
    /// may have been charged all the same.
    pub async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, StoreError> {
        let value = self.link.call(&ask.call()).await.map_err(StoreError::Link)?;
        Reply::read(ask, &value)
    }

    /// How the link is doing.
    #[must_use]
    pub fn health(&self) -> Health {
        self.link.health()
    }
}
