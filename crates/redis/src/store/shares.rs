//! Calls about shared permits and shared queues.

use tokio::time::Instant;
use tollgate_algorithms::Quota;

use super::Store;
use crate::{Exchange, ExchangeReply, KeyName, SlotAsk, SlotReply, StoreError};

impl Store {
    /// Asks about shared permits, within the time budget.
    ///
    /// # Errors
    /// If there is no answer. [`StoreError::may_have_run`] says whether something may have been recorded nevertheless.
    pub async fn exchange(&self, exchange: &Exchange) -> Result<ExchangeReply, StoreError> {
        let value = self.servers.carry(&exchange.call(), Instant::now() + self.budget).await;
        self.counted(value.map_err(StoreError::Link).and_then(|value| exchange.read(&value)))
    }

    /// Asks about the schedule of a shared queue, within the time budget.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    pub async fn slot(&self, ask: &SlotAsk, name: KeyName, quota: &Quota) -> Result<SlotReply, StoreError> {
        let value = self.servers.carry(&ask.call(name, quota), Instant::now() + self.budget).await;
        self.counted(value.map_err(StoreError::Link).and_then(|value| ask.read(name, quota, &value)))
    }

    /// Returns true if one call concerns one key only: the server is a cluster.
    pub(crate) const fn has_slots(&self) -> bool {
        self.servers.has_slots()
    }
}
