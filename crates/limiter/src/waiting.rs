//! Waits until hits fit, first come, first served per key. Only the first waiter of a key checks the limit.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate_algorithms::{Limit, Micros, Retry};

use crate::error::HitError;
use crate::key::AsKey;
use crate::limit::{Hit, NamedLimit};
use crate::limiter::{Inner, Limiter};
use crate::store::memory::lanes::NO_MEMBER;
use crate::store::memory::queue::{Place, Queues, Ticket};
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

/// A place in the line for one key of a limit, until it is dropped: see [`Limiter::join_line`].
#[derive(Debug)]
#[must_use = "who drops it leaves the line"]
pub struct PlaceInLine<'a> {
    limiter: &'a Inner,
    key: u64,
    /// `None` if there are as many waiters as can be counted: then it waits for nobody.
    place: Option<Place>,
    /// Whether it leaves because it got what it waited for.
    is_served: bool,
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
        let mut line: Option<PlaceInLine<'_>> = None;
        for hit in hits {
            if line.is_none() && self.has_line(hit)? {
                let joined = self.join_line(hit, deadline).await?;
                joined.wait(Micros::ZERO, deadline).await?;
                line = Some(joined);
            }
        }
        loop {
            let verdict = self.charge(hits).await?;
            let (hit, wait) = match waits_for(hits, &verdict) {
                Some(refused) => refused,
                None if verdict.is_granted() => {
                    line.into_iter().for_each(PlaceInLine::leave_served);
                    return Ok(verdict);
                }
                None => return Err(WaitError::Refused(Box::new(verdict))),
            };
            if deadline.is_some_and(|deadline| self.0.clock.now().saturating_add(wait) > deadline) {
                return Err(WaitError::Refused(Box::new(verdict)));
            }
            let is_there = line.as_ref().is_some_and(|line| line.is_for(hit));
            if !is_there {
                // Nobody stands in two lines: two who do so could wait for each other.
                drop(line.take());
                line = Some(self.join_line(hit, deadline).await?);
            }
            if let Some(line) = &line {
                line.wait(wait, deadline).await?;
            }
        }
    }

    /// Whether somebody waits for the key of a hit.
    ///
    /// # Errors
    /// When the hit is invalid.
    pub fn has_line(&self, hit: &Hit<'_>) -> Result<bool, HitError> {
        Ok(self.0.turns.lock().weight(self.0.id_of(hit)?) > 0)
    }

    /// Joins the line for the key of a hit, for callers who do more than charge when they have their turn: see
    /// [`charge_when_it_fits`](Self::charge_when_it_fits), which most want.
    ///
    /// The deadline is an instant of the limiter's [clock](Self::clock_now).
    ///
    /// # Errors
    /// [`WaitError::LineTooLong`] if it is known beforehand that the turn would come too late, and [`WaitError::Hit`].
    pub async fn join_line(
        &self,
        hit: &Hit<'_>,
        deadline: Option<Micros>,
    ) -> Result<PlaceInLine<'_>, WaitError> {
        self.join_lane((hit, NO_MEMBER), deadline).await
    }

    /// Like [`join_line`](Self::join_line), for a member of the key: members take turns, one hit for each, round about. So a member with
    /// many hits in line does not keep the others waiting.
    ///
    /// # Errors
    /// As [`join_line`](Self::join_line).
    pub async fn join_line_for(
        &self,
        hit: &Hit<'_>,
        member: &[u8],
        deadline: Option<Micros>,
    ) -> Result<PlaceInLine<'_>, WaitError> {
        let member = hit.limit.hash.of(member).max(NO_MEMBER + 1);
        self.join_lane((hit, member), deadline).await
    }

    async fn join_lane(
        &self,
        (hit, member): (&Hit<'_>, u64),
        deadline: Option<Micros>,
    ) -> Result<PlaceInLine<'_>, WaitError> {
        let key = self.0.id_of(hit)?;
        let ahead = self.0.turns.lock().weight_ahead(key, member);
        if let Some(deadline) = deadline.filter(|_| ahead > 0) {
            let wait = self.wait_behind(hit, ahead).await?;
            if self.0.clock.now().saturating_add(wait) > deadline {
                return Err(WaitError::LineTooLong(wait.into()));
            }
        }
        let mut queues = self.0.turns.lock();
        let is_first = queues.first(key).is_none();
        // Whoever weighs nothing is still there.
        let ticket = Ticket { key, member, weight: hit.get_cost().max(1) };
        let place = queues.push(ticket, is_first, Waker::noop().clone());
        Ok(PlaceInLine { limiter: &self.0, key, place, is_served: false })
    }

    /// What the limiter's clock reads, which its deadlines go by.
    #[must_use]
    pub fn clock_now(&self) -> Micros {
        self.0.clock.now()
    }

    /// How long a hit waits behind others, as far as that is known beforehand.
    async fn wait_behind(&self, hit: &Hit<'_>, ahead: u64) -> Result<Micros, HitError> {
        let limit = hit.limit.limit;
        let all = ahead.saturating_add(hit.get_cost());
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
}

impl PlaceInLine<'_> {
    /// Leaves the line with what it waited for: it is the turn of the next member. Whoever is dropped without leaves its turn to the
    /// next of its own member.
    pub fn leave_served(mut self) {
        self.is_served = true;
    }

    fn is_for(&self, hit: &Hit<'_>) -> bool {
        self.limiter.id_of(hit) == Ok(self.key)
    }

    fn has_turn(&self) -> bool {
        self.place.is_none_or(|place| self.limiter.turns.lock().get(place) == Some(&true))
    }

    /// Waits for the turn; whoever has it already waits for `wait`, which a refusal said. Then it is time to try, or to try again.
    ///
    /// # Errors
    /// [`WaitError::LineTooLong`] if the deadline comes first.
    pub async fn wait(&self, wait: Micros, deadline: Option<Micros>) -> Result<(), WaitError> {
        let (timers, since) = (&self.limiter.timers, self.limiter.clock.now());
        if self.has_turn() {
            timers.sleep_until(since.saturating_add(wait)).await;
            return Ok(());
        }
        let mut deadline = deadline.map(|until| timers.sleep_until(until));
        if poll_fn(|cx| self.poll_turn(deadline.as_mut(), cx)).await {
            return Ok(());
        }
        Err(WaitError::LineTooLong(self.limiter.clock.now().saturating_sub(since).into()))
    }

    /// `true` when it has the turn, `false` when the deadline has come before.
    fn poll_turn(&self, deadline: Option<&mut Sleep>, cx: &mut Context<'_>) -> Poll<bool> {
        let Some(place) = self.place else { return Poll::Ready(true) };
        let mut queues = self.limiter.turns.lock();
        if queues.get(place) == Some(&true) {
            return Poll::Ready(true);
        }
        queues.set_waker(place, cx.waker());
        drop(queues);
        deadline.map_or(Poll::Pending, |deadline| Pin::new(deadline).poll(cx).map(|()| false))
    }
}

impl Drop for PlaceInLine<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let next = self.limiter.turns.lock().leave_turn(place, self.key, self.is_served);
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
