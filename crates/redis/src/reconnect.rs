//! Keeps one connection open: connects, runs it, and reconnects when it ends.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::time::{Instant, sleep, timeout};

use crate::backoff::Backoff;
use crate::connect::Stream;
use crate::driver::{Driver, SilenceBounds};
use crate::failed::ConnectionFailure;
use crate::send_queue::SendQueue;
use crate::shared::LinkInner;
use crate::{LinkError, Script};

/// One connection's place. Whoever changes what is in it says so by [`LinkInner::moved`].
#[derive(Debug)]
pub(crate) struct ConnectionSlot(RwLock<State>);

#[derive(Clone, Debug)]
pub(crate) enum State {
    /// The first try is under way: calls wait for it, within their budgets.
    Connecting,
    /// Calls go here.
    Up(Arc<SendQueue>),
    /// The last try failed: calls end at once.
    Down(LinkError),
}

impl ConnectionSlot {
    pub(crate) fn new() -> Self {
        Self(RwLock::new(State::Connecting))
    }

    pub(crate) fn state(&self) -> State {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, state: State) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Leaves a connection, if it is still the one in this lane.
    pub(crate) fn leave(&self, pipe: &Arc<SendQueue>, state: State) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*current, State::Up(current) if Arc::ptr_eq(current, pipe)) {
            *current = state;
        }
    }
}

/// Runs until it is aborted. One connection at a time, and one try at a time.
pub(crate) async fn keep(shared: Arc<LinkInner>, at: usize) {
    let settings = &shared.settings;
    let mut backoff = Backoff::new(settings.backoff_min, settings.backoff_max, seed());
    let Some(lane) = shared.lanes.get(at) else { return };
    loop {
        let began = Instant::now();
        let tried = warm(&shared).await;
        shared.counts.tried(tried.as_ref().err().map(|failed| failed.cause));
        let mut wait = backoff.next();
        match tried {
            Err(failed) => {
                lane.set(State::Down(failed.unreachable()));
                // Waits are between beginnings of tries: what a silent server took is not waited for twice. So one that is heard again
                // is found within the longer of the two, and not within both.
                wait = wait.saturating_sub(began.elapsed()).max(settings.backoff_min / 2);
            }
            Ok((stream, known)) => {
                let pipe = Arc::new(SendQueue::new().with_slots(shared.by_slot));
                let patience =
                    SilenceBounds { stall: settings.stall_timeout, ping_after: settings.ping_after };
                let driver = Driver::new(Arc::clone(&pipe), stream, patience).knowing(known);
                lane.set(State::Up(Arc::clone(&pipe)));
                shared.moved();
                shared.breaker.reachable();
                let (since, failed) = (Instant::now(), driver.await);
                shared.recent.note_connection(&failed.unreachable());
                if pipe.is_proved() || since.elapsed() > settings.backoff_max {
                    // It served until now, or nobody asked. Calls wait for the next one, which is tried nearly at once: not quite, since
                    // everybody else has lost theirs too.
                    backoff.reset();
                    wait = backoff.next() / 2;
                    backoff.reset();
                    lane.leave(&pipe, State::Connecting);
                } else {
                    lane.leave(&pipe, State::Down(failed.unreachable()));
                }
            }
        }
        shared.moved();
        sleep(wait).await;
    }
}

/// A new connection on which the scripts have run that will be needed, and those for several calls that its server knows.
async fn warm(shared: &LinkInner) -> Result<(Stream, Vec<&'static Script>), ConnectionFailure> {
    let mut stream = shared.connector.connect().await?;
    let limit = shared.settings.connect_timeout;
    let own_keys = shared.own_keys.load(Ordering::Relaxed);
    let known = timeout(limit, shared.warm_up.run(&mut stream, &shared.recent, own_keys)).await;
    Ok((stream, known.unwrap_or_else(|_| Err(ConnectionFailure::late(limit)))?))
}

/// Another one each time, so that no two processes wait alike.
pub(crate) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
