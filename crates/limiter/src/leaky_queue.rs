//! The leaky bucket as a queue: requests of a key wait in line and leave one interval apart. `tollgate-algorithms` computes the
//! schedule.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use foldhash::fast::FixedState;
use tollgate_algorithms::{Micros, Quota, Schedule};

use crate::error::HitError;
use crate::hash::KeyHash;
use crate::key::AsKey;
use crate::limiter::{KEY_BYTES_MAX, Limiter};
use crate::store::memory::queue::{Place, Queues};

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
    max_wait: Option<Micros>,
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

/// Why somebody was not let into a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum QueueError {
    /// As many wait as may wait. The first place is free after this time at the earliest.
    Full(Duration),
    /// It would have to wait this long, and may not.
    TooLong(Duration),
    /// There is no room for the schedule of another key.
    NoRoom,
    /// The store that keeps the schedule gave no answer, for this cause, and the failure rule lets nobody pass.
    Unavailable(&'static str),
    /// The key is too long.
    Hit(HitError),
}

/// A place in a queue, until it is dropped.
struct QueuePlace<'a> {
    family: &'a QueueFamily,
    id: u64,
    place: Option<Place>,
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

    /// How many of a key wait in this process.
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
        self.enter_by(key.key_bytes().as_ref(), self.max_wait).await
    }

    /// Like [`enter`](Self::enter), but waits this long at most, and never longer than the queue's own bound.
    ///
    /// # Errors
    /// Like [`enter`](Self::enter).
    pub async fn enter_within(&self, key: impl AsKey, most: Duration) -> Result<Departure, QueueError> {
        let most = Micros::from_duration(most);
        let most = self.max_wait.map_or(most, |other| other.min(most));
        self.enter_by(key.key_bytes().as_ref(), Some(most)).await
    }

    /// Leaves if nobody waits and the last departure is long enough ago.
    ///
    /// # Errors
    /// [`QueueError::TooLong`] if it would have to wait, and as [`enter`](Self::enter).
    pub fn try_enter(&self, key: impl AsKey) -> Result<Departure, QueueError> {
        let bytes = key.key_bytes();
        let id = self.id(bytes.as_ref())?;
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            let limit = || self.name().to_owned();
            let entered = shared.try_enter(self, bytes.as_ref());
            return entered.unwrap_or_else(|| Err(QueueError::Hit(HitError::WouldBlock { limit: limit() })));
        }
        // It may not wait, so it takes no place.
        let _ = self.join(id, Some(Micros::ZERO), self.limiter.0.clock.now())?;
        Ok(Departure { waited: Duration::ZERO, behind: 0 })
    }

    fn id(&self, key: &[u8]) -> Result<u64, QueueError> {
        if key.len() > KEY_BYTES_MAX {
            let (limit, bytes) = (self.name().to_owned(), key.len());
            return Err(QueueError::Hit(HitError::KeyTooLong { limit, bytes }));
        }
        Ok(self.family.hash.of(key))
    }

    async fn enter_by(&self, key: &[u8], most: Option<Micros>) -> Result<Departure, QueueError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            self.id(key)?;
            return shared.enter(self, key, most).await;
        }
        self.enter_here(key, most).await
    }

    /// Waits in the queue of this process.
    pub(crate) async fn enter_here(&self, key: &[u8], most: Option<Micros>) -> Result<Departure, QueueError> {
        let (id, since) = (self.id(key)?, self.limiter.0.clock.now());
        let Some(waiting) = self.join(id, most, since)? else {
            return Ok(Departure { waited: Duration::ZERO, behind: 0 });
        };
        // The wait only gets shorter, so nobody needs a deadline: only the first in line has a timer.
        poll_fn(|cx| waiting.poll_turn(cx)).await;
        loop {
            let now = self.limiter.0.clock.now();
            let next = {
                let mut lines = self.family.lock();
                let schedule = lines.schedules.entry(id).or_default();
                if schedule.wait(&self.quota, now, 0) == Micros::ZERO {
                    schedule.depart(&self.quota, now, self.slack);
                    let behind = lines.queues.length(id).saturating_sub(1);
                    return Ok(Departure { waited: now.saturating_sub(since).into(), behind });
                }
                now.saturating_add(schedule.wait(&self.quota, now, 0))
            };
            self.limiter.0.timers.sleep_until(next).await;
        }
    }

    /// Leaves at once (`None`), or takes a place behind the others.
    fn join(&self, id: u64, most: Option<Micros>, now: Micros) -> Result<Option<QueuePlace<'_>>, QueueError> {
        let mut lines = self.family.lock();
        let ahead = lines.queues.length(id);
        let schedule = lines.schedules.get(&id).copied().unwrap_or_default();
        let wait = schedule.wait(&self.quota, now, ahead.into());
        if wait > Micros::ZERO || ahead > 0 {
            if u64::from(ahead) >= self.quota.burst() {
                return Err(QueueError::Full(schedule.wait(&self.quota, now, 0).into()));
            }
            if most.is_some_and(|most| wait > most) {
                return Err(QueueError::TooLong(wait.into()));
            }
            let place = lines.queues.push((id, 1), ahead == 0, Waker::noop().clone());
            return Ok(Some(QueuePlace { family: &self.family, id, place }));
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
    fn poll_turn(&self, cx: &Context<'_>) -> Poll<()> {
        // As many waiters as can be counted do not fit into memory; one more would wait for nobody.
        let Some(place) = self.place else { return Poll::Ready(()) };
        let mut lines = self.family.lock();
        if lines.queues.get(place) == Some(&true) {
            return Poll::Ready(());
        }
        lines.queues.set_waker(place, cx.waker());
        Poll::Pending
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let next = self.family.lock().queues.leave_turn(place, self.id);
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

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wait = |wait: &Duration| Micros::from_duration(*wait);
        match self {
            Self::Full(next) => {
                write!(f, "the queue is full: a place is free after {} at the earliest", wait(next))
            }
            Self::TooLong(long) => write!(f, "the wait would be {}, which is too long", wait(long)),
            Self::NoRoom => f.write_str("there is no room for another key: give the limiter a larger budget"),
            Self::Unavailable(why) => {
                write!(f, "the store of the queue gave no answer ({why}), and its failure rule lets nobody pass")
            }
            Self::Hit(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QueueError {}
