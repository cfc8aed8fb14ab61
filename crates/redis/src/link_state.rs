//! Whether there is a connection, and since when: one value for all threads.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// Whether any lane is up, and since when that is so.
#[derive(Debug)]
pub(crate) struct LinkState(Mutex<(bool, Instant)>);

impl LinkState {
    /// Nothing is up yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new((false, Instant::now())))
    }

    pub(crate) fn read(&self) -> (bool, Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks again whether any is up. That is done under the lock: else a thread that has looked before a change could write after
    /// one that has looked behind it, and what it wrote would stay.
    pub(crate) fn look(&self, is_up: impl FnOnce() -> bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let up = is_up();
        if known.0 != up {
            *known = (up, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// One thread has looked and not written yet, when another changes the state and looks. Whoever writes last must have looked last.
    #[test]
    fn a_look_that_was_overtaken_does_not_stay() {
        let (up, state) = (LinkState::new(), AtomicBool::new(true));
        let (has_looked, looked) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                up.look(|| {
                    let seen = state.load(Ordering::SeqCst);
                    has_looked.send(()).unwrap();
                    // Whoever comes meanwhile has to wait for the lock: if it could be had, the other one would write first.
                    assert!(up.0.try_lock().is_err(), "it was looked at outside the lock");
                    seen
                });
            });
            looked.recv().unwrap();
            state.store(false, Ordering::SeqCst);
            up.look(|| state.load(Ordering::SeqCst));
        });
        assert!(!up.read().0, "the lane went down last");
    }
}
