//! The log line for full memory.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::active_policy::PolicyHandle;
use crate::telemetry::logs::Logs;

/// How often it is looked at whether memory is full.
const LOOK: Duration = Duration::from_millis(200);

/// After so long in which every key had room, memory that is full has another line.
const QUIET: Duration = Duration::from_secs(60);

/// Whether memory was full lately, by how many hits had found no room for their key.
#[derive(Debug, Default)]
struct OverflowTracker {
    overflowed: u64,
    /// When a key last found no room.
    last: Option<Duration>,
}

/// Writes a line when memory is full, for as long as the gateway runs.
pub(super) async fn tell(live: Arc<PolicyHandle>, logs: Arc<Logs>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let begun: Instant = looks.tick().await;
    let mut fullness = OverflowTracker::default();
    loop {
        let now = looks.tick().await.saturating_duration_since(begun);
        let stats = live.load().limits.limiter().stats();
        if fullness.is_due(stats.overflowed, now) {
            let (bytes, bytes_max, keys) = (stats.bytes, stats.bytes_max, stats.slots_used);
            logs.within(|| {
                tracing::warn!(
                    bytes,
                    bytes_max,
                    keys,
                    "memory is full: new keys of a limit share an overflow bucket until there is room; raise `memory` (TOLLGATE_MEMORY)"
                );
            });
        }
    }
}

impl OverflowTracker {
    /// Whether a line is due, given how many hits have found no room so far.
    fn is_due(&mut self, overflowed: u64, now: Duration) -> bool {
        if overflowed == self.overflowed {
            return false;
        }
        self.overflowed = overflowed;
        let before = self.last.replace(now);
        before.is_none_or(|last| now.saturating_sub(last) >= QUIET)
    }
}

#[test]
fn memory_that_is_full_has_one_line_however_long_it_is() {
    let mut fullness = OverflowTracker::default();
    let looks = [(0, 0), (1, 7), (2, 9), (59, 10), (118, 11), (150, 11), (179, 12)];
    let due: Vec<_> = looks
        .into_iter()
        .filter(|(second, overflowed)| fullness.is_due(*overflowed, Duration::from_secs(*second)))
        .collect();
    assert_eq!(due, [(1, 7), (179, 12)]);
}
