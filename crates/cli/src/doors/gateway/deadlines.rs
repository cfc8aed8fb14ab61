//! Deadlines without timers: one tick per worker sweeps over everything that is watched.
//!
//! A request that goes well sets a deadline several times, and none of them is ever reached. So setting one is a store to
//! memory, and a sweep looks at all of them a few times a second.

mod max_hold;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(crate) use super::body_error::BodyFault;
use super::deadline_kind::DUES;
pub(crate) use super::deadline_kind::DeadlineKind;
use crate::settings::Timeouts;

/// The longest tick. Deadlines are reached at most two ticks late, and never early.
const TICK_MAX: Duration = Duration::from_millis(250);
/// Minimum tick, for very short deadlines.
const TICK_MIN: Duration = Duration::from_millis(5);
/// A connection without a request gives its buffers back after so many ticks: a quarter of a second, or half of one.
const NAP_TICKS: u64 = 2;
/// No deadline.
const NEVER: u64 = u64::MAX;

/// How far an exchange has come with switching its connection to another protocol. Until it has, what the client sends
/// is not read: it may be meant as another request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UpgradeState {
    /// It does not.
    No,
    /// The client waits for an answer, and has to be silent until it has one.
    Asked,
    /// The client was not silent.
    AskedAndNotSilent,
    /// The answer is being written.
    Answered,
}

/// The time of a worker, in ticks since it began.
#[derive(Debug)]
pub(crate) struct Ticks {
    now: AtomicU64,
    length: Duration,
    /// The deadline of each due, in ticks.
    patience: [u64; DUES.len()],
}

impl Ticks {
    pub(crate) fn new(timeouts: &Timeouts) -> Self {
        let each = DUES.map(|due| duration(timeouts, due));
        let shortest = each.iter().flatten().min().copied().unwrap_or(TICK_MAX);
        let length = (shortest / 4).clamp(TICK_MIN, TICK_MAX);
        // The tick that is running is not counted.
        let ticks = |duration: Duration| duration.as_nanos().div_ceil(length.as_nanos()).saturating_add(1);
        let patience = each.map(|duration| {
            duration.map_or(NEVER, |duration| u64::try_from(ticks(duration)).unwrap_or(NEVER))
        });
        Self { now: AtomicU64::new(0), length, patience }
    }

    /// How long a tick is.
    pub(crate) const fn length(&self) -> Duration {
        self.length
    }

    /// The present tick.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// How many ticks a time is, rounded up.
    pub(crate) fn of(&self, time: Duration) -> u64 {
        u64::try_from(time.as_nanos().div_ceil(self.length.as_nanos())).unwrap_or(NEVER)
    }

    fn deadline(&self, due: DeadlineKind) -> u64 {
        let patience = self.patience.get(due as usize).copied().unwrap_or(NEVER);
        self.now().saturating_add(patience)
    }
}

const fn duration(timeouts: &Timeouts, due: DeadlineKind) -> Option<Duration> {
    match due {
        DeadlineKind::Header | DeadlineKind::Head => Some(timeouts.header),
        DeadlineKind::Idle => Some(timeouts.idle),
        DeadlineKind::Body | DeadlineKind::Pace => Some(timeouts.body),
        DeadlineKind::Write => Some(timeouts.write),
        DeadlineKind::Connect => Some(timeouts.connect),
        DeadlineKind::Response => Some(timeouts.response),
        DeadlineKind::ResponseBody => Some(timeouts.response_body),
        DeadlineKind::Total => timeouts.total,
    }
}

/// One deadline at a time, one for the whole of an exchange, and one for a client that takes nothing.
#[derive(Debug)]
pub(crate) struct Deadlines {
    ticks: Arc<Ticks>,
    at: AtomicU64,
    due: AtomicU8,
    total: AtomicU64,
    stuck: AtomicU64,
    /// Whether the response has begun: then it is the response that is waited for, and not what the client may still send.
    answered: AtomicBool,
    /// Whether a request has more of a body than was read.
    unread: AtomicBool,
    /// What is wrong with it; 0 is nothing.
    fault: AtomicU8,
    /// How many exchanges have begun.
    begun: AtomicU32,
    /// Whether the client has ended its side of the connection, and waits for a response.
    half_closed: AtomicBool,
    /// How far the exchange has come with switching the connection to another protocol.
    switching: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

impl Deadlines {
    fn new(ticks: Arc<Ticks>) -> Self {
        let never = || AtomicU64::new(NEVER);
        Self {
            ticks,
            at: never(),
            due: AtomicU8::new(0),
            total: never(),
            stuck: never(),
            answered: AtomicBool::new(false),
            unread: AtomicBool::new(false),
            fault: AtomicU8::new(0),
            begun: AtomicU32::new(0),
            half_closed: AtomicBool::new(false),
            switching: AtomicU8::new(UpgradeState::No as u8),
            waker: Mutex::new(None),
        }
    }

    /// From now on this is waited for.
    pub(crate) fn wait_for(&self, due: DeadlineKind) {
        self.due.store(due as u8, Ordering::Relaxed);
        self.at.store(self.ticks.deadline(due), Ordering::Relaxed);
    }

    /// The present tick.
    pub(crate) fn now(&self) -> u64 {
        self.ticks.now()
    }

    /// How many ticks this may take.
    pub(crate) fn patience(&self, due: DeadlineKind) -> u64 {
        self.ticks.patience.get(due as usize).copied().unwrap_or(NEVER)
    }

    /// Whether this is waited for. A request never is during an exchange.
    pub(crate) fn waits_for(&self, due: DeadlineKind) -> bool {
        let set = self.at.load(Ordering::Relaxed) != NEVER;
        set && self.due.load(Ordering::Relaxed) == due as u8
    }

    /// Whether a request has been waited for so long that the connection may give back what it does not need meanwhile.
    pub(crate) fn may_nap(&self) -> bool {
        self.waits_for(DeadlineKind::Idle)
            && self.idle_for() >= NAP_TICKS
            && self.stuck.load(Ordering::Relaxed) == NEVER
    }

    /// For how many ticks a request has been waited for, if one is.
    fn idle_for(&self) -> u64 {
        let since = self.at.load(Ordering::Relaxed).saturating_sub(self.patience(DeadlineKind::Idle));
        self.ticks.now().saturating_sub(since)
    }

    /// There is something for the client to take, and it takes nothing.
    pub(crate) fn stuck(&self) {
        if self.stuck.load(Ordering::Relaxed) == NEVER {
            self.stuck.store(self.ticks.deadline(DeadlineKind::Write), Ordering::Relaxed);
        }
    }

    /// It takes something.
    pub(crate) fn taken(&self) {
        if self.stuck.load(Ordering::Relaxed) == NEVER {
            return;
        }
        self.stuck.store(NEVER, Ordering::Relaxed);
        if self.waits_for(DeadlineKind::Idle) {
            // It was still busy with the end of a response.
            self.wait_for(DeadlineKind::Idle);
        }
    }

    /// Nothing is waited for.
    pub(crate) fn rest(&self) {
        self.at.store(NEVER, Ordering::Relaxed);
    }

    /// An exchange begins: it has its time.
    pub(crate) fn begin(&self) {
        self.answered.store(false, Ordering::Relaxed);
        self.fault.store(0, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.total.store(self.ticks.deadline(DeadlineKind::Total), Ordering::Relaxed);
        self.rest();
    }

    /// How many exchanges have begun. The number wraps around.
    pub(crate) fn begun(&self) -> u32 {
        self.begun.load(Ordering::Relaxed)
    }

    /// The client has ended its side of the connection: all that it sent was read.
    pub(crate) fn set_half_closed(&self) {
        self.half_closed.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub(crate) fn is_half_closed(&self) -> bool {
        self.half_closed.load(Ordering::Relaxed)
    }

    /// The exchange has come so far with switching the connection to another protocol.
    pub(crate) fn set_switching(&self, switching: UpgradeState) {
        self.switching.store(switching as u8, Ordering::Relaxed);
    }

    /// Whether it has come so far with that.
    pub(crate) fn is_switching(&self, switching: UpgradeState) -> bool {
        self.switching.load(Ordering::Relaxed) == switching as u8
    }

    /// Whether no exchange is running: the connection waits for a request.
    pub(crate) fn is_between_requests(&self) -> bool {
        [DeadlineKind::Header, DeadlineKind::Head, DeadlineKind::Idle]
            .into_iter()
            .any(|due| self.waits_for(due))
    }

    /// Whether there is, as far as is known, more of the request's body than was read.
    pub(crate) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Ordering::Relaxed);
    }

    /// Whether the client may still be sending a body that nobody reads.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// The client's body failed: whatever becomes of its request is not the upstream's fault.
    pub(crate) fn set_fault(&self, fault: BodyFault) {
        self.fault.store(fault as u8, Ordering::Relaxed);
    }

    /// What is wrong with the client's body.
    pub(crate) fn fault(&self) -> Option<BodyFault> {
        let fault = self.fault.load(Ordering::Relaxed);
        [BodyFault::Broken, BodyFault::TooLarge, BodyFault::Void]
            .into_iter()
            .find(|known| *known as u8 == fault)
    }

    /// The response has begun.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
        self.rest();
    }

    /// As [`wait_for`](Self::wait_for), unless the response has begun.
    pub(crate) fn wait_for_before_answer(&self, due: DeadlineKind) {
        if !self.answered.load(Ordering::Relaxed) {
            self.wait_for(due);
        }
    }

    /// As [`wait_for_before_answer`](Self::wait_for_before_answer), until this tick.
    pub(crate) fn wait_until_before_answer(&self, due: DeadlineKind, until: u64) {
        if !self.answered.load(Ordering::Relaxed) {
            self.due.store(due as u8, Ordering::Relaxed);
            self.at.store(until, Ordering::Relaxed);
        }
    }

    /// An exchange has ended.
    pub(crate) fn end(&self) {
        self.set_switching(UpgradeState::No);
        self.total.store(NEVER, Ordering::Relaxed);
        self.rest();
    }

    /// What is late. Whoever asks is woken when something is.
    pub(crate) fn poll_late(&self, cx: &Context<'_>) -> Poll<DeadlineKind> {
        if let Some(due) = self.late() {
            return Poll::Ready(due);
        }
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Whether a response that has begun has to be broken off: the client takes none of it, or it had its time.
    pub(crate) fn poll_cut(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.answered.load(Ordering::Relaxed) {
            // The exchange sees to it itself, and answers.
            return Poll::Pending;
        }
        match self.poll_late(cx) {
            Poll::Ready(DeadlineKind::Write | DeadlineKind::Total) => Poll::Ready(()),
            // The body sees to it itself, and says why.
            Poll::Ready(
                DeadlineKind::Header
                | DeadlineKind::Head
                | DeadlineKind::Idle
                | DeadlineKind::Body
                | DeadlineKind::Pace
                | DeadlineKind::Connect
                | DeadlineKind::Response
                | DeadlineKind::ResponseBody,
            )
            | Poll::Pending => Poll::Pending,
        }
    }

    fn late(&self) -> Option<DeadlineKind> {
        let (now, stuck) = (self.ticks.now(), self.stuck.load(Ordering::Relaxed));
        // While the end of a response is being taken, its client is not idle.
        let idle = stuck != NEVER && self.waits_for(DeadlineKind::Idle);
        if !idle && now >= self.at.load(Ordering::Relaxed) {
            return DUES.get(usize::from(self.due.load(Ordering::Relaxed))).copied();
        }
        if now >= stuck {
            return Some(DeadlineKind::Write);
        }
        (now >= self.total.load(Ordering::Relaxed)).then_some(DeadlineKind::Total)
    }

    /// Wakes the waiting task.
    pub(crate) fn wake(&self) {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// All that a worker watches.
#[derive(Debug)]
pub(crate) struct WorkerDeadlines {
    pub(crate) ticks: Arc<Ticks>,
    all: Mutex<Vec<Weak<Deadlines>>>,
}

impl WorkerDeadlines {
    pub(crate) fn new(timeouts: &Timeouts) -> Self {
        Self { ticks: Arc::new(Ticks::new(timeouts)), all: Mutex::new(Vec::new()) }
    }

    /// One more to be watched, until it is dropped.
    pub(crate) fn watch(&self) -> Arc<Deadlines> {
        let watch = Arc::new(Deadlines::new(Arc::clone(&self.ticks)));
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&watch));
        watch
    }

    /// Wakes all, whatever they wait for.
    pub(crate) fn wake_all(&self) {
        let all: Vec<_> = {
            let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        all.iter().for_each(|watch| watch.wake());
    }

    /// A tick has passed: wakes those that wait for something late, and those that may give something back.
    pub(crate) fn tick(&self) {
        self.ticks.now.fetch_add(1, Ordering::Relaxed);
        let mut late = Vec::new();
        self.all.lock().unwrap_or_else(PoisonError::into_inner).retain(|watch| {
            let watch = watch.upgrade();
            let due = |watch: &&Arc<Deadlines>| {
                watch.late().is_some()
                    || (watch.waits_for(DeadlineKind::Idle) && watch.idle_for() == NAP_TICKS)
            };
            late.extend(watch.iter().filter(due).cloned());
            watch.is_some()
        });
        // Outside the lock, because the woken task may register another watch.
        late.iter().for_each(|watch| watch.wake());
    }
}

#[cfg(test)]
mod tests;
