//! Timers that wake futures at instants of the limiter's clock: driven by a thread, or by the manual clock. Nothing polls.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate_algorithms::Micros;

use crate::clock::{Clock, ClockSource};

/// The timers of a limiter. The thread begins with the first one, and ends with the limiter.
#[derive(Debug)]
pub(crate) struct Timers(Arc<Shared>);

/// What the thread, the clock and the sleepers share.
#[derive(Debug)]
pub(crate) struct Shared {
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    sleepers: BTreeMap<At, Waker>,
    next: u64,
    /// Whether somebody fires them.
    is_driven: bool,
    is_over: bool,
}

/// When a sleeper is woken, and a number that tells it from others.
type At = (Micros, u64);

/// A coarse clock may say that it is early when the thread wakes; it looks again after this.
const EARLY: Duration = Duration::from_micros(100);

impl Timers {
    pub(crate) fn new(clock: Clock) -> Self {
        let (state, changed) = (Mutex::new(State::default()), Condvar::new());
        Self(Arc::new(Shared { clock, state, changed }))
    }

    /// Waits until an instant.
    pub(crate) fn sleep_until(&self, until: Micros) -> Sleep {
        Sleep { timers: Arc::clone(&self.0), until, at: None }
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first instant that somebody waits for.
    pub(crate) fn next(&self) -> Option<Micros> {
        self.lock().sleepers.first_key_value().map(|((until, _), _)| *until)
    }

    /// Wakes everybody whose time has come.
    pub(crate) fn fire(&self) {
        let now = self.clock.now();
        let due = {
            let mut state = self.lock();
            let later = state.sleepers.split_off(&(now.saturating_add(Micros::new(1)), 0));
            std::mem::replace(&mut state.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Puts a sleeper in, or changes who is woken for it.
    fn set(self: &Arc<Self>, at: Option<At>, until: Micros, waker: &Waker) -> At {
        let mut state = self.lock();
        let at = at.unwrap_or_else(|| {
            state.next += 1;
            (until, state.next)
        });
        state.sleepers.insert(at, waker.clone());
        let is_first = state.sleepers.first_key_value().is_some_and(|(first, _)| *first == at);
        let is_driven = std::mem::replace(&mut state.is_driven, true);
        drop(state);
        if !is_driven && !self.drive() {
            self.lock().is_driven = false;
        } else if is_first {
            self.changed.notify_all();
        }
        at
    }

    /// Sees to it that somebody fires the timers. `false` if there can be no thread: then the next sleeper tries again.
    fn drive(self: &Arc<Self>) -> bool {
        let timers = Arc::downgrade(self);
        if self.clock.source() == ClockSource::Manual {
            self.clock.on_advance(timers);
            return true;
        }
        let name = "tollgate timers".to_owned();
        std::thread::Builder::new().name(name).spawn(move || run(&timers)).is_ok()
    }
}

/// The thread: sleeps until the next instant, and wakes whoever waits for it.
fn run(timers: &Weak<Shared>) {
    while let Some(timers) = timers.upgrade() {
        timers.fire();
        let state = timers.lock();
        if state.is_over {
            return;
        }
        let wait =
            state.sleepers.first_key_value().map(|((until, _), _)| until.saturating_sub(timers.clock.now()));
        let wait = wait.map(|wait| Duration::from(wait).max(EARLY));
        // Whoever is woken sees the state anew, so that it does not matter why.
        match wait {
            Some(wait) => drop(timers.changed.wait_timeout(state, wait)),
            None => drop(timers.changed.wait(state)),
        }
    }
}

/// A future that is ready at an instant of the limiter's clock.
#[derive(Debug)]
pub(crate) struct Sleep {
    timers: Arc<Shared>,
    until: Micros,
    at: Option<At>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.timers.clock.now() >= this.until {
            return Poll::Ready(());
        }
        this.at = Some(this.timers.set(this.at, this.until, cx.waker()));
        // Not before: the clock may have gone on in between.
        if this.timers.clock.now() >= this.until { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(at) = self.at {
            self.timers.lock().sleepers.remove(&at);
        }
    }
}
