//! The circuit breaker as all callers share it: one atomic load on the fast path, a lock on the slow one.
//!
//! The machine is changed under its lock only, so two callers can never both become the probe: that is decided in one
//! visit. The flag in front is a copy of "closed, and no failure counted", made under the lock. Read late it is harmless.
//! A call that still sees it after the breaker has opened passes as if it had come a moment earlier. A success that still
//! sees it after the first failure is not told, as if it had come before that failure.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::breaker::{Breaker, BreakerAdmission, BreakerState, CallerKind};
use crate::cause::HealthSignal;

#[derive(Debug)]
pub(crate) struct SharedBreaker {
    breaker: Mutex<Breaker>,
    clean: AtomicBool,
    /// Told when the next probe is due at another time than before: somebody has to probe even if no call comes.
    opened: Notify,
    started: Instant,
}

/// A call that may go. How it ended must be told; of a probe that is dropped without a word nothing is known.
#[derive(Debug)]
pub(crate) struct AdmittedCall<'a> {
    shared: &'a SharedBreaker,
    asker: CallerKind,
    probe: Option<u64>,
}

impl SharedBreaker {
    pub(crate) fn new(breaker: Breaker) -> Self {
        Self {
            clean: AtomicBool::new(breaker.is_clean()),
            breaker: Mutex::new(breaker),
            opened: Notify::new(),
            started: Instant::now(),
        }
    }

    /// Whether a call may go now.
    pub(crate) fn admit(&self, asker: CallerKind) -> Option<AdmittedCall<'_>> {
        if self.clean.load(Ordering::Acquire) {
            return Some(AdmittedCall { shared: self, asker, probe: None });
        }
        match self.visit(|breaker, now| breaker.admit(now, asker)) {
            BreakerAdmission::Pass => Some(AdmittedCall { shared: self, asker, probe: None }),
            BreakerAdmission::Probe(number) => {
                Some(AdmittedCall { shared: self, asker, probe: Some(number) })
            }
            BreakerAdmission::Refuse => None,
        }
    }

    /// There is a new connection: see [`Breaker::reachable`].
    pub(crate) fn reachable(&self) {
        self.visit(Breaker::reachable);
    }

    pub(crate) fn standing(&self) -> BreakerState {
        self.visit(|breaker, _| breaker.standing())
    }

    /// Waits until the breaker is open and the link has to probe by itself: see [`Breaker::link_due`].
    pub(crate) async fn overdue(&self, patience: Duration) {
        loop {
            match self.visit(|breaker, now| breaker.link_due(patience).map(|due| (due, now))) {
                None => self.opened.notified().await,
                Some((due, now)) if due <= now => return,
                // A new connection may make it due earlier, and so may an answer that tells nothing.
                Some((due, _)) => {
                    drop(tokio::time::timeout_at(self.started + due, self.opened.notified()).await);
                }
            }
        }
    }

    fn visit<R>(&self, visit: impl FnOnce(&mut Breaker, Duration) -> R) -> R {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        let before = breaker.due();
        let result = visit(&mut breaker, self.started.elapsed());
        self.clean.store(breaker.is_clean(), Ordering::Release);
        if breaker.due().is_some() && breaker.due() != before {
            self.opened.notify_one();
        }
        result
    }
}

impl AdmittedCall<'_> {
    /// Tells what the call's end says about the server.
    pub(crate) fn tell(mut self, sign: HealthSignal) {
        match self.probe.take() {
            Some(number) => self.shared.visit(|breaker, now| match sign {
                HealthSignal::Serving => breaker.probed(number, true, now),
                // An error that is about the link's own probe alone, because a right is missing, would come for ever.
                HealthSignal::Alive if self.asker == CallerKind::Link => breaker.probed(number, true, now),
                HealthSignal::Alive => breaker.unproved(number, now),
                HealthSignal::Failing | HealthSignal::Silent => breaker.probed(number, false, now),
            }),
            None => match sign {
                HealthSignal::Serving | HealthSignal::Alive if self.shared.clean.load(Ordering::Acquire) => {}
                HealthSignal::Serving | HealthSignal::Alive => {
                    self.shared.visit(|breaker, _| breaker.succeeded())
                }
                HealthSignal::Failing => self.shared.visit(Breaker::failed),
                HealthSignal::Silent => {}
            },
        }
    }
}

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.probe.take() {
            self.shared.visit(|breaker, now| breaker.given_up(number, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    fn opened() -> SharedBreaker {
        let settings = Settings {
            breaker_failures: 1,
            backoff_min: Duration::from_millis(1),
            backoff_max: Duration::from_millis(1),
            ..Settings::default()
        };
        let shared = SharedBreaker::new(Breaker::new(&settings, 3));
        shared.admit(CallerKind::Writer).unwrap().tell(HealthSignal::Failing);
        assert_eq!(shared.standing(), BreakerState::Open);
        shared
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn a_probe_whose_caller_goes_away_is_followed_by_another_at_once() {
        let (shared, runtime) = (opened(), runtime());
        runtime.block_on(shared.overdue(Duration::ZERO));
        for _ in 0..3 {
            let probe = shared.admit(CallerKind::Writer).expect("a probe is due");
            assert!(shared.admit(CallerKind::Writer).is_none(), "two probes at once");
            drop(probe);
        }
        shared.admit(CallerKind::Writer).unwrap().tell(HealthSignal::Serving);
        assert!(shared.admit(CallerKind::Reader).is_some());
    }

    #[test]
    fn an_answer_that_shows_no_write_leaves_it_to_the_links_own_probe_which_is_due_at_once() {
        let (shared, runtime) = (opened(), runtime());
        runtime.block_on(shared.overdue(Duration::ZERO));
        shared.admit(CallerKind::Writer).unwrap().tell(HealthSignal::Alive);
        assert!(shared.standing() == BreakerState::Open && shared.admit(CallerKind::Writer).is_none());
        runtime.block_on(async {
            let due = tokio::time::timeout(Duration::from_secs(20), shared.overdue(Duration::from_secs(60)));
            due.await.expect("nobody could go first");
        });
        shared.admit(CallerKind::Link).unwrap().tell(HealthSignal::Alive);
        assert!(
            shared.admit(CallerKind::Reader).is_some(),
            "an error about that call alone would come for ever"
        );
    }

    #[test]
    fn who_waits_for_the_next_probe_hears_that_it_is_due_earlier() {
        let wait = Duration::from_secs(60);
        let settings =
            Settings { breaker_failures: 1, backoff_min: wait, backoff_max: wait, ..Settings::default() };
        let shared = std::sync::Arc::new(SharedBreaker::new(Breaker::new(&settings, 3)));
        shared.admit(CallerKind::Writer).unwrap().tell(HealthSignal::Failing);
        runtime().block_on(async {
            let waiting = tokio::spawn({
                let shared = std::sync::Arc::clone(&shared);
                async move { shared.overdue(Duration::ZERO).await }
            });
            tokio::task::yield_now().await;
            assert!(!waiting.is_finished());
            shared.reachable();
            tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it is due").unwrap();
        });
    }

    #[test]
    fn of_many_threads_one_probes() {
        let (shared, runtime) = (opened(), runtime());
        for _ in 0..50 {
            runtime.block_on(shared.overdue(Duration::ZERO));
            let (start, stop) = (std::sync::Barrier::new(4), std::sync::Barrier::new(4));
            let probe = || {
                start.wait();
                let admitted = shared.admit(CallerKind::Writer);
                stop.wait();
                usize::from(admitted.is_some())
            };
            let probes: usize = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(probe)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!(probes, 1);
        }
    }
}
