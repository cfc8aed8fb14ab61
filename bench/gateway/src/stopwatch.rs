//! The clock of the measurements, and waiting. Nothing else here reads a clock or waits.

use std::time::{Duration, Instant};

/// How long a wait lasts before what is waited for is looked at again.
const PAUSE: Duration = Duration::from_millis(10);

/// Now, by the monotonic clock.
#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Asks again and again until there is an answer, or until the time is up. For what another program does: it cannot
/// tell us.
pub(crate) fn wait_for<T>(time: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = now() + time;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if now() >= deadline {
            return None;
        }
        pause(PAUSE);
    }
}

/// Lets so much time go by.
pub(crate) fn pause(time: Duration) {
    let end = now() + time;
    while let Some(left) = end.checked_duration_since(now()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}
