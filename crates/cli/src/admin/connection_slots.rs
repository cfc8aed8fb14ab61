//! The open connections of the operations listener, and which of them a new one replaces.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{AbortHandle, JoinHandle};

/// The open connections, the oldest first.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    most: usize,
    open: Vec<(AbortHandle, RequestSeen)>,
}

/// Whether a connection has sent a whole request.
#[derive(Clone, Default, Debug)]
pub(super) struct RequestSeen(Arc<AtomicBool>);

impl RequestSeen {
    /// It has.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl ConnectionSlots {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, open: Vec::new() }
    }

    /// Begins a connection. If there is no free place, it closes another one first: the oldest one that has not sent a whole
    /// request, or the oldest one if all have.
    pub(super) fn take(&mut self, begin: impl FnOnce(RequestSeen) -> JoinHandle<()>) {
        self.open.retain(|(task, _)| !task.is_finished());
        if self.open.len() >= self.most {
            let silent = self.open.iter().position(|(_, asked)| !asked.is_set());
            self.open.remove(silent.unwrap_or(0)).0.abort();
        }
        let asked = RequestSeen::default();
        let task = begin(asked.clone());
        self.open.push((task.abort_handle(), asked));
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// The connections that are left of some, of which these have sent a request, when one more comes.
    async fn left(most: usize, has_asked: &[bool]) -> Vec<bool> {
        let mut places = ConnectionSlots::new(most);
        let mut tasks = Vec::new();
        for asks in has_asked.iter().chain(&[false]) {
            places.take(|asked| {
                if *asks {
                    asked.set();
                }
                let task = tokio::spawn(pending());
                tasks.push(task.abort_handle());
                task
            });
        }
        tokio::task::yield_now().await;
        tasks.iter().map(|task| !task.is_finished()).collect()
    }

    #[tokio::test]
    async fn a_new_connection_replaces_the_oldest_silent_one() {
        assert_eq!(left(3, &[false, false]).await, [true, true, true], "there is room");
        assert_eq!(left(2, &[false, false]).await, [false, true, true]);
        assert_eq!(left(2, &[true, false]).await, [true, false, true]);
        assert_eq!(left(2, &[true, true]).await, [false, true, true]);
    }

    #[tokio::test]
    async fn a_connection_that_has_ended_leaves_its_place() {
        let mut places = ConnectionSlots::new(1);
        let ended = tokio::spawn(async {});
        places.take(|_| ended);
        tokio::task::yield_now().await;
        places.take(|_| tokio::spawn(pending()));
        assert_eq!(places.open.len(), 1);
    }
}
