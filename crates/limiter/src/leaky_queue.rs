//! The leaky bucket as a queue: requests of a key wait in line and leave one interval apart. `tollgate-algorithms` computes the
//! schedule.

mod error;

pub use error::QueueError;

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use foldhash::fast::FixedState;
use tollgate_algorithms::{Micros, Quota, Schedule};

use crate::error::HitError;
use crate::hash::KeyHash;
use crate::key::AsKey;
use crate::limiter::{KEY_BYTES_MAX, Limiter};
use crate::store::memory::lanes::NO_MEMBER;
use crate::store::memory::queue::{Place, Queues, Ticket};
use crate::timers::Sleep;

/// A late timer makes a gap on the wire shorter by this at most.
const SLACK_MAX: Micros = Micros::MILLISECOND;
/// The names of queues are numbered apart from those of rates and of concurrency limits.
const NAMES_FROM: u64 = 3 << 62;
/// What the schedule of a key takes in memory, with its share of the room between schedules.
const SCHEDULE_BYTES: usize = 128;
/// The part of the budget that schedules may take.
const PART_OF_BUDGET: usize = 16;
/// Schedules that are over are looked for when there are so many, and whenever there are twice as many as were left.
const SWEPT_AT: usize = 1_024;
/// While there is no room, they are looked for this often.
const SWEPT_EVERY: Micros = Micros::from_millis(100);

/// A queue for each key, whose requests leave at a steady rate. Made by [`Limiter::leaky_queue`]; cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tollgate::{Limiter, Micros, Quota};
/// // 200 leave per second, and 20 may wait.
/// let mails = Limiter::new()?.leaky_queue("mails", Quota::new(20, 200, Micros::SECOND)?);
/// for _ in 0..3 {
///     mails.enter("ada").await?; // one every 5 ms
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct LeakyQueue {
    pub(crate) limiter: Limiter,
    family: Arc<QueueFamily>,
    pub(crate) quota: Quota,
    pub(crate) max_wait: Option<Micros>,
    pub(crate) slack: Micros,
    #[cfg(feature = "redis")]
    pub(crate) shared: Option<crate::shared_queue::SharedQueue>,
}

/// What all queues of one name share.
#[derive(Debug)]
struct QueueFamily {
    name: Arc<str>,
    hash: KeyHash,
    lines: Mutex<QueueLines>,
    keys_max: usize,
}

/// Who waits, and when the next of each key leaves.
#[derive(Debug)]
struct QueueLines {
    /// Of each key, the first has the turn.
    queues: Queues<bool>,
    schedules: HashMap<u64, Schedule, FixedState>,
    swept_at: usize,
    swept: Micros,
}

/// The queues of a limiter, by name.
#[derive(Debug, Default)]
pub(crate) struct LeakyQueues(Mutex<HashMap<Arc<str>, Arc<QueueFamily>>>);

/// Somebody has left a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// How long it waited.
    pub waited: Duration,
    /// How many wait behind it.
    pub behind: u32,
}

/// A place in a queue, until it is dropped.
struct QueuePlace<'a> {
    family: &'a QueueFamily,
    id: u64,
    place: Option<Place>,
    /// Whether it leaves because it was its turn.
    is_served: bool,
}

/// Who wants to leave, and when it is too late for that.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    id: u64,
    member: u64,
    most: Option<Micros>,
    since: Micros,
}

impl Limiter {
    /// A queue for each key: `quota` says how many may wait (its burst) and how fast they leave (its rate). It is in this process.
    #[must_use]
    pub fn leaky_queue(&self, name: &str, quota: Quota) -> LeakyQueue {
        let mut families = self.0.queues.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = NAMES_FROM | families.len() as u64;
        let keys_max = (self.0.memory.budget() / PART_OF_BUDGET / SCHEDULE_BYTES).max(1);
        let family = families.entry(name.into()).or_insert_with_key(|name| {
            let lines = QueueLines {
                queues: Queues::default(),
                schedules: HashMap::default(),
                swept_at: SWEPT_AT,
                swept: Micros::ZERO,
            };
            let (name, hash) = (Arc::clone(name), self.0.hashing.of_name(number));
            Arc::new(QueueFamily { name, hash, lines: Mutex::new(lines), keys_max })
        });
        let queue = LeakyQueue {
            limiter: self.clone(),
            family: Arc::clone(family),
            quota,
            max_wait: None,
            slack: Micros::ZERO,
            #[cfg(feature = "redis")]
            shared: None,
        };
        queue.with_strict(false)
    }
}

impl LeakyQueue {
    /// Sets the longest time that somebody may wait. Who would have to wait for longer is refused at once.
    #[must_use]
    pub fn with_max_wait(self, most: Duration) -> Self {
        Self { max_wait: Some(Micros::from_duration(most)), ..self }
    }

    /// Sets whether no gap may ever be shorter than the interval. If not, which is the default, one that follows a late timer may be shorter
    /// by what the timer was late, at most 1 ms or an eighth of the interval; so late timers do not slow the queue down.
    #[must_use]
    pub fn with_strict(self, strict: bool) -> Self {
        let eighth = Micros::new((self.quota.period() / self.quota.count()) / 8);
        Self { slack: if strict { Micros::ZERO } else { eighth.min(SLACK_MAX) }, ..self }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.family.name
    }

    /// How many may wait, and how fast they leave.
    #[must_use]
    pub const fn quota(&self) -> &Quota {
        &self.quota
    }

    /// The longest time that somebody may wait, if that is bounded.
    #[must_use]
    pub fn max_wait(&self) -> Option<Duration> {
        self.max_wait.map(Duration::from)
    }

    /// How many of all keys of this name wait.
    #[must_use]
    pub fn total_waiting(&self) -> u64 {
        self.family.lock().queues.taken() as u64
    }

    /// How many of a key wait.
    #[must_use]
    pub fn waiting(&self, key: impl AsKey) -> u32 {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            let waiting = shared.waiting(key.key_bytes().as_ref());
            return u32::try_from(waiting).unwrap_or(u32::MAX);
        }
        let id = self.family.hash.of(key.key_bytes().as_ref());
        self.family.lock().queues.length(id)
    }

    /// Waits for the turn of this request, behind all that came before with the same key. Dropping the future leaves the queue: those
    /// behind move up, and nobody is delayed.
    ///
    /// # Errors
    /// At once, if it could not leave in time or has no place: see [`QueueError`].
    pub async fn enter(&self, key: impl AsKey) -> Result<Departure, QueueError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            return shared.enter(self, key.key_bytes().as_ref(), None).await;
        }
        self.enter_by(self.request(key.key_bytes().as_ref(), None, None)?).await
    }

    /// Like [`enter`](Self::enter), but waits this long at most, and never longer than the queue's own bound.
    ///
    /// # Errors
    /// Like [`enter`](Self::enter).
    pub async fn enter_within(&self, key: impl AsKey, most: Duration) -> Result<Departure, QueueError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            return shared.enter(self, key.key_bytes().as_ref(), Some(most)).await;
        }
        self.enter_by(self.request(key.key_bytes().as_ref(), None, Some(most))?).await
    }

    /// Like [`enter`](Self::enter), for a member of the key, such as a client of an organisation. Members take turns: one request of each
    /// leaves, round about, on the schedule of the key. So a member with many requests does not keep the others waiting.
    ///
    /// It does not take all places either: a member may have no more requests in the queue than there are free places. One noisy member
    /// has at most half of them, and two a third each.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tollgate::{Limiter, Micros, Quota};
    /// let mails = Limiter::new()?.leaky_queue("mails", Quota::new(20, 200, Micros::SECOND)?);
    /// mails.enter_for("example.org", "ada", None).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Like [`enter_within`](Self::enter_within). Those who come later can push a member with several requests back. Then it fails as soon as
    /// it is known to be too late, and uses no turn.
    pub async fn enter_for(
        &self,
        key: impl AsKey,
        member: impl AsKey,
        most: Option<Duration>,
    ) -> Result<Departure, QueueError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            return shared.enter(self, key.key_bytes().as_ref(), most).await;
        }
        let (key, member) = (key.key_bytes(), member.key_bytes());
        self.enter_by(self.request(key.as_ref(), Some(member.as_ref()), most)?).await
    }

    /// Leaves if nobody waits and the last departure is long enough ago.
    ///
    /// # Errors
    /// [`QueueError::TooLong`] if it would have to wait, and as [`enter`](Self::enter).
    pub fn try_enter(&self, key: impl AsKey) -> Result<Departure, QueueError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            let limit = self.name().to_owned();
            let entered = shared.try_enter(self, key.key_bytes().as_ref());
            return entered.unwrap_or(Err(QueueError::Hit(HitError::WouldBlock { limit })));
        }
        // It may not wait, so it takes no place.
        let request = self.request(key.key_bytes().as_ref(), None, Some(Duration::ZERO))?;
        let _ = self.join(request)?;
        Ok(Departure { waited: Duration::ZERO, behind: 0 })
    }

    pub(crate) fn request(
        &self,
        key: &[u8],
        member: Option<&[u8]>,
        most: Option<Duration>,
    ) -> Result<Request, QueueError> {
        let most = [most.map(Micros::from_duration), self.max_wait].into_iter().flatten().min();
        let member = member.map_or(NO_MEMBER, |member| self.family.hash.of(member).max(NO_MEMBER + 1));
        Ok(Request { id: self.id(key)?, member, most, since: self.limiter.0.clock.now() })
    }

    pub(crate) fn id(&self, key: &[u8]) -> Result<u64, QueueError> {
        if key.len() > KEY_BYTES_MAX {
            let (limit, bytes) = (self.name().to_owned(), key.len());
            return Err(QueueError::Hit(HitError::KeyTooLong { limit, bytes }));
        }
        Ok(self.family.hash.of(key))
    }

    pub(crate) async fn enter_by(&self, request: Request) -> Result<Departure, QueueError> {
        let Request { id, member, most, since } = request;
        let Some(mut waiting) = self.join(request)? else {
            return Ok(Departure { waited: Duration::ZERO, behind: 0 });
        };
        // Without members the wait only gets shorter, so nobody needs a deadline: only the first in line has a timer.
        let until = most.map(|most| since.saturating_add(most)).filter(|_| member != NO_MEMBER);
        let mut deadline = until.map(|until| self.limiter.0.timers.sleep_until(until));
        let in_time = poll_fn(|cx| waiting.poll_turn(deadline.as_mut(), cx)).await;
        drop(deadline);
        loop {
            let now = self.limiter.0.clock.now();
            let next = {
                let mut lines = self.family.lock();
                let schedule = lines.schedules.entry(id).or_default();
                let wait = schedule.wait(&self.quota, now, 0);
                let next = now.saturating_add(wait);
                if !in_time || until.is_some_and(|until| next > until) {
                    return Err(QueueError::TooLong(next.saturating_sub(since).into()));
                }
                if wait == Micros::ZERO {
                    schedule.depart(&self.quota, now, self.slack);
                    waiting.is_served = true;
                    let behind = lines.queues.length(id).saturating_sub(1);
                    return Ok(Departure { waited: now.saturating_sub(since).into(), behind });
                }
                next
            };
            self.limiter.0.timers.sleep_until(next).await;
        }
    }

    /// Leaves at once (`None`), or takes a place behind the others.
    fn join(&self, request: Request) -> Result<Option<QueuePlace<'_>>, QueueError> {
        let Request { id, member, most, since: now } = request;
        let mut lines = self.family.lock();
        let (ahead, all) = (lines.queues.ahead(id, member), lines.queues.length(id));
        let schedule = lines.schedules.get(&id).copied().unwrap_or_default();
        let wait = schedule.wait(&self.quota, now, ahead.into());
        if wait > Micros::ZERO || all > 0 {
            // A member has as many places as are free after it took them.
            let own = if member == NO_MEMBER { 0 } else { lines.queues.length_of(id, member) };
            if u64::from(all).saturating_add(own.into()) >= self.quota.burst() {
                return Err(QueueError::Full(schedule.wait(&self.quota, now, 0).into()));
            }
            if most.is_some_and(|most| wait > most) {
                return Err(QueueError::TooLong(wait.into()));
            }
            let ticket = Ticket { key: id, member, weight: 1 };
            let place = lines.queues.push(ticket, all == 0, Waker::noop().clone());
            return Ok(Some(QueuePlace { family: &self.family, id, place, is_served: false }));
        }
        if !lines.has_room(id, now, self.family.keys_max) {
            return Err(QueueError::NoRoom);
        }
        lines.schedules.entry(id).or_default().depart(&self.quota, now, self.slack);
        Ok(None)
    }
}

impl QueueFamily {
    fn lock(&self) -> MutexGuard<'_, QueueLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueLines {
    /// Whether there is room for the schedule of a key. Those that are over go first.
    fn has_room(&mut self, id: u64, now: Micros, keys_max: usize) -> bool {
        let is_full = self.schedules.len() >= keys_max && now >= self.swept.saturating_add(SWEPT_EVERY);
        if self.schedules.len() >= self.swept_at || is_full {
            self.swept = now;
            // A key that somebody waits for is not over: its next departure is still to come, or due.
            let queues = &self.queues;
            self.schedules.retain(|id, schedule| !schedule.is_over(now) || queues.first(*id).is_some());
            self.schedules.shrink_to(self.schedules.len() * 2);
            self.swept_at = (self.schedules.len() * 2).max(SWEPT_AT);
        }
        self.schedules.len() < keys_max || self.schedules.contains_key(&id)
    }
}

impl QueuePlace<'_> {
    /// `true` when it has the turn, `false` when the deadline has come before.
    fn poll_turn(&self, deadline: Option<&mut Sleep>, cx: &mut Context<'_>) -> Poll<bool> {
        // As many waiters as can be counted do not fit into memory; one more would wait for nobody.
        let Some(place) = self.place else { return Poll::Ready(true) };
        let mut lines = self.family.lock();
        if lines.queues.get(place) == Some(&true) {
            return Poll::Ready(true);
        }
        lines.queues.set_waker(place, cx.waker());
        drop(lines);
        deadline.map_or(Poll::Pending, |deadline| Pin::new(deadline).poll(cx).map(|()| false))
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let next = self.family.lock().queues.leave_turn(place, self.id, self.is_served);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

impl fmt::Debug for LeakyQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeakyQueue({:?}, {})", self.name(), self.quota)
    }
}
