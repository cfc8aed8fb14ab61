//! The time that a request may hold its permits, as a deadline of its exchange.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Deadlines;

impl Deadlines {
    /// The exchange may take no longer than this from now on.
    pub(crate) fn shorten_total(&self, most: Duration) {
        // The tick that is running is not counted.
        let end = self.now().saturating_add(self.ticks.of(most)).saturating_add(1);
        self.total.fetch_min(end, Ordering::Relaxed);
    }
}
