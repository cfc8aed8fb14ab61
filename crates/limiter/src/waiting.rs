//! Waits until hits fit, first come, first served per key. Only the first waiter of a key checks the limit.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tollgate_algorithms::{Limit, Micros, Retry};

use crate::error::HitError;
use crate::key::AsKey;
use crate::limit::{Hit, NamedLimit};
use crate::limiter::Limiter;
use crate::store::memory::queue::{Place, Queues};
use crate::timers::Sleep;
use crate::verdict::{Kind, Verdict};

/// Why a hit was not charged after all.
#[derive(Clone, Debug)]
pub enum WaitError {
    /// It would have to wait for longer than it may, it is never granted, or it cannot be told: the verdict says which.
    Refused(Box<Verdict>),
    /// Those who came before it take longer than it may wait: this long at least.
    LineTooLong(Duration),
    /// The hit is invalid.
    Hit(HitError),
}

/// Those who wait for limits, by key. Of each key, the first has the turn.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<Queues<bool>>);

/// A place in the line for one key, until it is dropped.
#[derive(Debug)]
struct InLine<'a> {
    turns: &'a Turns,
    key: u64,
    /// `None` if there are as many waiters as can be counted: then it waits for nobody.
    place: Option<Place>,
}

impl NamedLimit {
    /// Charges one key at a cost of 1, and waits until it fits: first come, first served for each key. Dropping the future leaves the
    /// line, charges nothing and delays nobody.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tollgate::{Limit, Limiter};
    /// let calls = Limiter::new()?.limit("calls", Limit::per_second(100).burst(1)?);
    /// for _ in 0..3 {
    ///     calls.acquire("user-42").await?; // one call every 10 ms
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// A verb that does not wait, such as [`check`](Self::check), is not in line: what it takes is not there for those who wait.
    ///
    /// # Errors
    /// [`WaitError::Refused`] if no wait helps, and [`WaitError::Hit`].
    pub async fn acquire(&self, key: impl AsKey) -> Result<Verdict, WaitError> {
        let bytes = key.key_bytes();
        self.1.charge_when_it_fits(&[self.hit(&bytes)], None).await
    }

    /// Like [`acquire`](Self::acquire), but waits this long at most. If it is known beforehand that the wait would be longer, it fails at
    /// once.
    ///
    /// # Errors
    /// Like [`acquire`](Self::acquire), and [`WaitError::Refused`] if the time does not suffice.
    pub async fn acquire_within(&self, key: impl AsKey, most: Duration) -> Result<Verdict, WaitError> {
        let bytes = key.key_bytes();
        self.1.charge_when_it_fits(&[self.hit(&bytes)], Some(most)).await
    }
}

impl Limiter {
    /// Like [`charge`](Self::charge), but waits until all hits fit, or for as long as `within` says.
    ///
    /// It waits for one key at a time, the one that refuses, and holds nothing meanwhile. So it is first come, first served among hits on
    /// one key; who needs several keys joins the line of the next when it has left that of the last.
    ///
    /// # Errors
    /// Like [`NamedLimit::acquire_within`]. Then nothing was charged.
    pub async fn charge_when_it_fits(
        &self,
        hits: &[Hit<'_>],
        within: Option<Duration>,
    ) -> Result<Verdict, WaitError> {
        let deadline = within.map(|most| self.0.clock.now().saturating_add(Micros::from_duration(most)));
        let mut line = self.join_before(hits, deadline).await?;
        loop {
            let verdict = self.charge(hits).await?;
            let (hit, wait) = match waits_for(hits, &verdict) {
                Some(refused) => refused,
                None if verdict.granted() => return Ok(verdict),
                None => return Err(WaitError::Refused(Box::new(verdict))),
            };
            let (key, until) = (self.0.id_of(hit)?, self.0.clock.now().saturating_add(wait));
            if deadline.is_some_and(|deadline| until > deadline) {
                return Err(WaitError::Refused(Box::new(verdict)));
            }
            if line.as_ref().is_none_or(|line| line.key != key) {
                // Nobody stands in two lines: two who do so could wait for each other.
                drop(line.take());
                let joined = self.0.turns.join(key, hit.asks());
                let had_to_wait = !joined.has_turn();
                self.turn(&joined, deadline).await?;
                line = Some(joined);
                if had_to_wait {
                    continue;
                }
            }
            self.0.timers.sleep_until(until).await;
        }
    }

    /// Joins the line for the first of the keys that somebody waits for, and waits for the turn.
    async fn join_before(
        &self,
        hits: &[Hit<'_>],
        deadline: Option<Micros>,
    ) -> Result<Option<InLine<'_>>, WaitError> {
        for hit in hits {
            let key = self.0.id_of(hit)?;
            let ahead = self.0.turns.weight(key);
            if ahead == 0 {
                continue;
            }
            if let Some(deadline) = deadline {
                let wait = self.wait_behind(hit, ahead).await?;
                if self.0.clock.now().saturating_add(wait) > deadline {
                    return Err(WaitError::LineTooLong(wait.into()));
                }
            }
            let joined = self.0.turns.join(key, hit.asks());
            self.turn(&joined, deadline).await?;
            return Ok(Some(joined));
        }
        Ok(None)
    }

    /// Waits for the turn, until the deadline.
    async fn turn(&self, line: &InLine<'_>, deadline: Option<Micros>) -> Result<(), WaitError> {
        let since = self.0.clock.now();
        let mut deadline = deadline.map(|until| self.0.timers.sleep_until(until));
        if poll_fn(|cx| line.poll_turn(deadline.as_mut(), cx)).await {
            return Ok(());
        }
        Err(WaitError::LineTooLong(self.0.clock.now().saturating_sub(since).into()))
    }

    /// How long a hit waits behind others, as far as that is known beforehand.
    async fn wait_behind(&self, hit: &Hit<'_>, ahead: u64) -> Result<Micros, HitError> {
        let limit = hit.limit.limit;
        let all = ahead.saturating_add(hit.asks());
        let (at_once, later) = (all.min(limit.capacity()), all.saturating_sub(limit.capacity()));
        let wait = match self.peek(&[hit.cost(at_once)]).await?.retry() {
            Some(Retry::After(wait)) => wait,
            Some(Retry::Never) | None => Micros::ZERO,
        };
        Ok(wait.saturating_add(time_for(&limit, later)))
    }
}

/// How long a limit takes to grant so much, from when it is used up. No time where that is not known.
fn time_for(limit: &Limit, cost: u64) -> Micros {
    let full = match limit {
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => quota.drain().get(),
        Limit::SlidingWindow(_)
        | Limit::SlidingWindowBuckets(_)
        | Limit::SlidingWindowLog(_)
        | Limit::FixedWindow(_)
        | Limit::Unlimited => 0,
    };
    let time = (u128::from(full) * u128::from(cost)).checked_div(limit.capacity().into()).unwrap_or(0);
    Micros::new(u64::try_from(time).unwrap_or(u64::MAX))
}

/// The hit that refuses for the longest, and for how long. `None` if the verdict does not refuse, or if no wait helps.
fn waits_for<'a, 'h>(hits: &'a [Hit<'h>], verdict: &Verdict) -> Option<(&'a Hit<'h>, Micros)> {
    if verdict.kind() != Kind::Refused {
        return None;
    }
    let hit = hits.get(verdict.refused_by()?)?;
    match verdict.retry()? {
        Retry::After(wait) => Some((hit, wait)),
        Retry::Never => None,
    }
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Queues<bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much those take who wait for a key.
    fn weight(&self, key: u64) -> u64 {
        self.lock().weight(key)
    }

    /// Joins the line for a key. Whoever is alone there has the turn.
    fn join(&self, key: u64, cost: u64) -> InLine<'_> {
        let mut queues = self.lock();
        let is_first = queues.first(key).is_none();
        // Whoever weighs nothing is still there.
        let place = queues.push((key, cost.max(1)), is_first, std::task::Waker::noop().clone());
        InLine { turns: self, key, place }
    }
}

impl InLine<'_> {
    fn has_turn(&self) -> bool {
        self.place.is_none_or(|place| self.turns.lock().get(place) == Some(&true))
    }

    /// `true` when it has the turn, `false` when the deadline has come before.
    fn poll_turn(&self, deadline: Option<&mut Sleep>, cx: &mut Context<'_>) -> Poll<bool> {
        let Some(place) = self.place else { return Poll::Ready(true) };
        let mut queues = self.turns.lock();
        if queues.get(place) == Some(&true) {
            return Poll::Ready(true);
        }
        queues.set_waker(place, cx.waker());
        drop(queues);
        deadline.map_or(Poll::Pending, |deadline| Pin::new(deadline).poll(cx).map(|()| false))
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let next = self.turns.lock().leave_turn(place, self.key);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

impl From<HitError> for WaitError {
    fn from(error: HitError) -> Self {
        Self::Hit(error)
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit(error) => error.fmt(f),
            Self::LineTooLong(wait) => write!(
                f,
                "others wait for the same key: it would take {} at least",
                Micros::from_duration(*wait)
            ),
            Self::Refused(verdict) => match (verdict.kind(), verdict.retry()) {
                (Kind::Unavailable(why), _) => write!(f, "the limits could not be decided: {why}"),
                (_, Some(Retry::After(wait))) => {
                    write!(f, "the wait would be too long: it is granted after {wait} at the earliest")
                }
                (_, Some(Retry::Never) | None) => f.write_str("it is never granted, however long it waits"),
            },
        }
    }
}

impl std::error::Error for WaitError {}
