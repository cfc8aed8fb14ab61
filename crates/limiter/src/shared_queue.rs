//! Queues that several processes share: their requests leave one interval apart, all together. `tollgate-algorithms` computes the schedule,
//! in the store.

mod server_clock;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use tollgate_algorithms::slots::{Reserved, Slot};
use tollgate_algorithms::{Limit, Micros, Quota};
use tollgate_redis::{KeyName, Name, Naming, SlotAsk, SlotReply, StateKind, Store};

use crate::clock::Clock;
use crate::fraction::share;
use crate::leaky_queue::{Departure, LeakyQueue, QueueError};
use crate::limit::FailureRule;
use crate::limiter::Limiter;
use server_clock::ServerClock;

/// The shared queues of a limiter, by namespace and name.
#[derive(Debug, Default)]
pub(crate) struct SharedQueues(Mutex<HashMap<(String, String), Arc<Family>>>);

/// What a shared queue has besides.
#[derive(Clone, Debug)]
pub(crate) struct SharedQueue {
    family: Arc<Family>,
    fails: FailureRule,
}

impl LeakyQueue {
    /// Whether its schedule is in a store that several processes share.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The same queue in this process alone: for requests that are only looked at.
    #[must_use]
    pub fn local(&self) -> Self {
        let mut queue = self.clone();
        queue.shared = None;
        queue
    }

    fn with_shared(mut self, shared: SharedQueue) -> Self {
        self.shared = Some(shared);
        self
    }

    /// The queue of this process with other numbers.
    fn local_part(&self, quota: Quota) -> Self {
        let mut queue = self.local();
        queue.quota = quota;
        queue
    }

    /// Waits in the queue of this process, also if the schedule is in a store.
    async fn enter_here(&self, key: &[u8], most: Option<Duration>) -> Result<Departure, QueueError> {
        self.enter_by(self.request(key, None, most)?).await
    }

    async fn sleep_until(&self, until: Micros) {
        self.limiter.0.timers.sleep_until(until).await;
    }
}

/// What all shared queues of one name have in common.
struct Family {
    store: Store,
    naming: Naming,
    name: String,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: HashMap<Name, Line>,
    server: ServerClock,
    tickets: u64,
}

/// One key in this process. Slots belong to the process: the first in line takes the first.
#[derive(Default)]
struct Line {
    waiters: VecDeque<(u64, Waker)>,
    slots: VecDeque<Slot>,
}

/// What came of waiting, beside a departure.
enum Ended {
    Refused(QueueError),
    /// The store did not answer, for this cause.
    Failed(&'static str),
}

/// What one request waits by.
#[derive(Clone, Copy)]
struct Terms {
    name: Name,
    quota: Quota,
    slack: Micros,
    most: Option<Micros>,
    since: Micros,
}

impl Limiter {
    /// A queue whose schedule is in the [store](crate::Builder::store): the requests of all processes together leave one interval apart.
    /// Without a store it is in this process.
    ///
    /// The order is that in which slots are reserved; within a process it is that of arrival. A gap on the wire is shorter than the interval
    /// by at most the slack of [`LeakyQueue::with_strict`], and by what the fastest of the latest replies of the store took on its way back.
    /// While the store fails, [`FailureRule::Local`] queues in this process with a fraction of the rate, and [`FailureRule::Allow`]
    /// lets everybody pass.
    #[must_use]
    pub fn shared_leaky_queue(&self, name: &str, quota: Quota, fails: FailureRule) -> LeakyQueue {
        self.shared_leaky_queue_in("", name, quota, fails)
    }

    /// The same in a [namespace](Naming::in_namespace) of the store.
    #[must_use]
    pub fn shared_leaky_queue_in(
        &self,
        namespace: &str,
        name: &str,
        quota: Quota,
        fails: FailureRule,
    ) -> LeakyQueue {
        let local = self.leaky_queue(name, quota);
        let Some(remote) = &self.0.shared else { return local };
        let mut families = remote.queues.0.lock().unwrap_or_else(PoisonError::into_inner);
        let family = families.entry((namespace.to_owned(), name.to_owned())).or_insert_with(|| {
            let naming = remote.naming_in(namespace);
            let (store, clock) = (remote.store().clone(), self.0.clock.clone());
            Arc::new(Family { store, naming, name: name.to_owned(), clock, state: Mutex::default() })
        });
        local.with_shared(SharedQueue { family: Arc::clone(family), fails })
    }
}

impl SharedQueue {
    /// Waits for a slot, and leaves in it.
    pub(crate) async fn enter(
        &self,
        queue: &LeakyQueue,
        key: &[u8],
        most: Option<Duration>,
    ) -> Result<Departure, QueueError> {
        queue.id(key)?;
        let family = &self.family;
        let given = most;
        let most = [most.map(Micros::from_duration), queue.max_wait].into_iter().flatten().min();
        let (quota, slack, since) = (*queue.quota(), queue.slack, family.clock.now());
        let terms = Terms { name: family.naming.name(&family.name, key), quota, slack, most, since };
        let failed = match family.enter(terms, queue).await {
            Ok(departure) => return Ok(departure),
            Err(Ended::Refused(refused)) => return Err(refused),
            Err(Ended::Failed(why)) => why,
        };
        match self.fails {
            FailureRule::Deny => Err(QueueError::Unavailable(failed)),
            FailureRule::Allow => Ok(Departure { waited: family.waited(since), behind: 0 }),
            FailureRule::Local { share: part, of } => {
                let Limit::LeakyBucket(part) = share(&Limit::LeakyBucket(quota), part, of) else {
                    return Err(QueueError::Unavailable(failed));
                };
                queue.local_part(part).enter_here(key, given).await
            }
        }
    }

    /// As [`enter`](Self::enter), without waiting, on a thread that may be blocked. `None` if it may not.
    pub(crate) fn try_enter(&self, queue: &LeakyQueue, key: &[u8]) -> Option<Result<Departure, QueueError>> {
        self.family.store.block_on(self.enter(queue, key, Some(Duration::ZERO)))
    }

    /// How many of a key wait in this process.
    pub(crate) fn waiting(&self, key: &[u8]) -> usize {
        let name = self.family.naming.name(&self.family.name, key);
        self.family.lock().lines.get(&name).map_or(0, |line| line.waiters.len())
    }
}

impl Family {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waited(&self, since: Micros) -> Duration {
        self.clock.now().saturating_sub(since).into()
    }

    async fn enter(self: &Arc<Self>, terms: Terms, queue: &LeakyQueue) -> Result<Departure, Ended> {
        let place = Place::join(self, terms);
        if place.needs_slot() {
            self.reserve(terms).await?;
        }
        place.turn().await;
        loop {
            let Some(at) = place.departure() else {
                self.reserve(terms).await?;
                continue;
            };
            queue.sleep_until(at).await;
            let now = self.clock.now();
            if let Some(behind) = place.take_slot(now) {
                return Ok(Departure { waited: now.saturating_sub(terms.since).into(), behind });
            }
        }
    }

    /// Reserves a slot. The call goes on if nobody waits for it any more, so that the slot is known and given back.
    async fn reserve(self: &Arc<Self>, terms: Terms) -> Result<(), Ended> {
        let family = Arc::clone(self);
        let reserved = self.store.spawn(async move { family.reserve_one(terms).await });
        reserved.await.unwrap_or(Err(Ended::Failed("closed")))
    }

    async fn reserve_one(self: Arc<Self>, terms: Terms) -> Result<(), Ended> {
        let sent = self.clock.now();
        let most = terms.most.map(|most| most.saturating_sub(sent.saturating_sub(terms.since)));
        let ask = SlotAsk::Reserve(most);
        let said = self.store.slot(&ask, terms.name.of(StateKind::Queue), &terms.quota).await;
        let (instant, reserved) = match said {
            Ok(SlotReply::Reserved(instant, reserved)) => (instant, reserved),
            Ok(SlotReply::GivenBack(_)) => return Err(Ended::Failed("disagrees")),
            Err(error) => return Err(Ended::Failed(error.name())),
        };
        let mut state = self.lock();
        state.server.note(sent, self.clock.now(), instant);
        match reserved {
            Reserved::Slot(slot) => {
                state.lines.entry(terms.name).or_default().add(slot);
                drop(state);
                self.give_back_spare(terms.name, terms.quota);
                Ok(())
            }
            Reserved::Full(wait) => Err(Ended::Refused(QueueError::Full(wait.into()))),
            Reserved::TooLong(wait) => Err(Ended::Refused(QueueError::TooLong(wait.into()))),
        }
    }

    /// Gives the last slot back if there are more than waiters. If it is not the last one in the store, the next arrival has it.
    fn give_back_spare(self: &Arc<Self>, name: Name, quota: Quota) {
        let Some(slot) = self.take_spare(name) else { return };
        let family = Arc::clone(self);
        drop(self.store.spawn(async move {
            let key: KeyName = name.of(StateKind::Queue);
            let said = family.store.slot(&SlotAsk::GiveBack(slot), key, &quota).await;
            if !matches!(said, Ok(SlotReply::GivenBack(true))) {
                let mut state = family.lock();
                let now = state.server.now(family.clock.now());
                if now.is_some_and(|now| slot.instant() > now) {
                    state.lines.entry(name).or_default().add(slot);
                }
            }
        }));
    }

    fn take_spare(&self, name: Name) -> Option<Slot> {
        let mut state = self.lock();
        let line = state.lines.get_mut(&name)?;
        let spare = if line.slots.len() > line.waiters.len() { line.slots.pop_back() } else { None };
        if line.waiters.is_empty() && line.slots.is_empty() {
            state.lines.remove(&name);
        }
        spare
    }
}

impl Line {
    fn add(&mut self, slot: Slot) {
        let place = self.slots.partition_point(|other| other.instant() <= slot.instant());
        self.slots.insert(place, slot);
        self.wake_first();
    }

    fn wake_first(&self) {
        if let Some((_, waker)) = self.waiters.front() {
            waker.wake_by_ref();
        }
    }
}

/// A place in the line of a key in this process, until it is dropped.
struct Place<'a> {
    family: &'a Arc<Family>,
    terms: Terms,
    ticket: u64,
}

impl<'a> Place<'a> {
    fn join(family: &'a Arc<Family>, terms: Terms) -> Self {
        let mut state = family.lock();
        state.tickets += 1;
        let ticket = state.tickets;
        state.lines.entry(terms.name).or_default().waiters.push_back((ticket, Waker::noop().clone()));
        drop(state);
        Self { family, terms, ticket }
    }

    /// Whether it has to reserve a slot: there is none to spare, or it would be too late.
    fn needs_slot(&self) -> bool {
        let mut state = self.family.lock();
        let now = state.server.now(self.family.clock.now());
        let Some(line) = state.lines.get_mut(&self.terms.name) else { return true };
        if let Some(now) = now {
            line.slots.retain(|slot| slot.instant() > now || line.waiters.len() > 1);
        }
        let spare = line.slots.len() >= line.waiters.len();
        let in_time = line.slots.back().is_some_and(|slot| {
            let wait = now.map(|now| slot.instant().saturating_sub(now));
            wait.is_some_and(|wait| self.terms.most.is_none_or(|most| wait <= most))
        });
        !(spare && in_time)
    }

    /// Waits until it is the first in line.
    async fn turn(&self) {
        poll_fn(|cx| {
            let mut state = self.family.lock();
            let Some(line) = state.lines.get_mut(&self.terms.name) else { return Poll::Ready(()) };
            if line.waiters.front().is_none_or(|(ticket, _)| *ticket == self.ticket) {
                return Poll::Ready(());
            }
            if let Some((_, waker)) = line.waiters.iter_mut().find(|(ticket, _)| *ticket == self.ticket) {
                waker.clone_from(cx.waker());
            }
            Poll::Pending
        })
        .await;
    }

    /// When the first slot is, by the clock of this process.
    fn departure(&self) -> Option<Micros> {
        let state = self.family.lock();
        let slot = state.lines.get(&self.terms.name)?.slots.front()?;
        state.server.local(slot.instant())
    }

    /// Takes the first slot. If it is too late for it, the slot passes unused: who left now would leave beside the next one.
    fn take_slot(&self, now: Micros) -> Option<u32> {
        let mut state = self.family.lock();
        let line = state.lines.get_mut(&self.terms.name)?;
        let slot = line.slots.pop_front()?;
        let behind = u32::try_from(line.waiters.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let at = state.server.local(slot.instant())?;
        (now >= at && now.saturating_sub(at) <= self.terms.slack.max(Micros::new(1))).then_some(behind)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.family.lock();
        if let Some(line) = state.lines.get_mut(&self.terms.name) {
            line.waiters.retain(|(ticket, _)| *ticket != self.ticket);
            line.wake_first();
        }
        drop(state);
        self.family.give_back_spare(self.terms.name, self.terms.quota);
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedQueue({:?})", self.name)
    }
}
