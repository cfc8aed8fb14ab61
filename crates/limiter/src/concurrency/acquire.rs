//! Waits for a permit: a future in a queue, with an optional deadline.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tollgate_algorithms::Micros;

use super::{AcquireError, ConcurrencyLimit, Permit};
use crate::key::AsKey;
use crate::store::memory::in_flight::PermitMode;
use crate::store::memory::in_line::JoinResult;
use crate::store::memory::lanes::NO_MEMBER;
use crate::store::memory::queue::Place;
use crate::timers::Sleep;

/// A permit that is to come, made by [`ConcurrencyLimit::acquire`].
///
/// It joins the line when it is first polled. Of those who wait for the same key, who joined first is served first; a permit that is
/// released is handed to the first in line, and nobody who comes later can take it. Dropped, it leaves the line, and hands on a permit that
/// it got meanwhile.
///
/// It fails with [`AcquireError::TimedOut`] if there is no permit [within](Self::within) the time it has. It fails at once, with
/// [`AcquireError::Busy`], if no wait helps: the limit is 0, or the store is so full that the key has no room to wait.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Acquire {
    limit: ConcurrencyLimit,
    within: Option<Micros>,
    member: u64,
    state: State,
}

enum State {
    /// Not polled yet: the key's number.
    New(Result<u64, AcquireError>),
    /// In line.
    Waits { id: u64, place: Place, deadline: Option<Sleep> },
    /// A permit of a shared limit.
    #[cfg(feature = "redis")]
    Shared { permit: SharedFuture, deadline: Option<Sleep>, has_begun: bool },
    /// Done.
    Over,
}

#[cfg(feature = "redis")]
type SharedFuture = Pin<Box<dyn Future<Output = Result<Permit, AcquireError>> + Send>>;

impl Acquire {
    pub(super) const fn new(limit: ConcurrencyLimit, id: Result<u64, AcquireError>) -> Self {
        Self { limit, within: None, member: NO_MEMBER, state: State::New(id) }
    }

    /// Takes turns with other members of the key: one permit for each, round about. Within a member, who joined first is served first.
    /// So a member with many requests in line does not keep the others waiting.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tollgate::Limiter;
    /// let reports = Limiter::new()?.concurrency("reports", 2);
    /// let permit = reports.acquire("example.org").for_member("ada").await?;
    /// # Ok(()) }
    /// ```
    pub fn for_member(self, member: impl AsKey) -> Self {
        let mut acquire = self;
        acquire.member = acquire.limit.0.member(member.key_bytes().as_ref());
        acquire
    }

    #[cfg(feature = "redis")]
    pub(super) fn of_shared(limit: ConcurrencyLimit, key: &[u8]) -> Self {
        let (asking, key) = (limit.clone(), key.to_vec());
        let permit = Box::pin(async move { asking.ask_store(&key, tollgate_redis::Patience::Waits).await });
        Self {
            limit,
            within: None,
            member: NO_MEMBER,
            state: State::Shared { permit, deadline: None, has_begun: false },
        }
    }

    /// Waits for a permit of a shared limit.
    #[cfg(feature = "redis")]
    fn poll_shared(&mut self, cx: &mut Context<'_>) -> Poll<Result<Permit, AcquireError>> {
        let State::Shared { permit, deadline, has_begun } = &mut self.state else { return Poll::Pending };
        if !std::mem::replace(has_begun, true) {
            let limiter = &self.limit.0.limiter.0;
            let until = self.within.map(|most| limiter.clock.now().saturating_add(most));
            *deadline = until.map(|until| limiter.timers.sleep_until(until));
        }
        if let Poll::Ready(done) = permit.as_mut().poll(cx) {
            self.state = State::Over;
            return Poll::Ready(done);
        }
        let Some(deadline) = deadline else { return Poll::Pending };
        ready!(Pin::new(deadline).poll(cx));
        self.state = State::Over;
        Poll::Ready(Err(AcquireError::TimedOut(self.limit.0.busy(0, self.limit.limit()))))
    }

    /// Waits this long at most, from the first poll on.
    pub fn within(self, most: Duration) -> Self {
        // `self` has a destructor, so that it is changed in place.
        let mut acquire = self;
        acquire.within = Some(Micros::from_duration(most));
        acquire
    }

    /// Tries once, and joins the line if there is no permit.
    fn begin(&mut self, id: u64, cx: &Context<'_>) -> Poll<Result<Permit, AcquireError>> {
        let inner = &self.limit.0;
        let busy = match inner.take_by_id(id, PermitMode::Enforced, &self.limit) {
            Ok(permit) => return Poll::Ready(Ok(permit)),
            Err(busy) => busy,
        };
        let Some(books) = inner.books().filter(|_| inner.limit() > 0) else {
            return Poll::Ready(Err(AcquireError::Busy(busy)));
        };
        match inner.family.line.join(books, (id, self.member), &inner.limit, cx.waker()) {
            JoinResult::Granted(counted, before) => {
                Poll::Ready(Ok(inner.permit(id, PermitMode::Enforced, (counted, before), &self.limit)))
            }
            JoinResult::NoRoom => Poll::Ready(Err(AcquireError::Busy(busy))),
            JoinResult::Waits(place) => {
                let limiter = &inner.limiter.0;
                let until = self.within.map(|most| limiter.clock.now().saturating_add(most));
                let deadline = until.map(|until| limiter.timers.sleep_until(until));
                self.state = State::Waits { id, place, deadline };
                Poll::Pending
            }
        }
    }
}

impl Future for Acquire {
    type Output = Result<Permit, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let State::New(_) = &this.state {
            let State::New(id) = std::mem::replace(&mut this.state, State::Over) else {
                return Poll::Pending;
            };
            match id {
                Ok(id) => {
                    let begun = this.begin(id, cx);
                    if begun.is_ready() {
                        return begun;
                    }
                }
                Err(wrong) => return Poll::Ready(Err(wrong)),
            }
        }
        #[cfg(feature = "redis")]
        if matches!(this.state, State::Shared { .. }) {
            return this.poll_shared(cx);
        }
        let State::Waits { id, place, deadline } = &mut this.state else { return Poll::Pending };
        let (id, place, inner) = (*id, *place, &this.limit.0);
        if let Some(granted) = inner.family.line.poll(place, cx.waker()) {
            this.state = State::Over;
            return Poll::Ready(Ok(this.limit.0.permit(id, PermitMode::Enforced, granted, &this.limit)));
        }
        let Some(deadline) = deadline else { return Poll::Pending };
        ready!(Pin::new(deadline).poll(cx));
        let busy = inner.busy(id, inner.table().map_or(0, |table| table.counts(id).enforced));
        this.leave();
        Poll::Ready(Err(AcquireError::TimedOut(busy)))
    }
}

impl Acquire {
    fn leave(&mut self) {
        if let State::Waits { id, place, .. } = std::mem::replace(&mut self.state, State::Over)
            && let Some(books) = self.limit.0.books()
        {
            self.limit.0.family.line.leave(books, id, place);
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = matches!(self.state, State::Waits { .. });
        write!(f, "Acquire({:?}, {})", self.limit.name(), if waits { "waits" } else { "does not wait" })
    }
}
