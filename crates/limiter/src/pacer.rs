//! A client that stays within the limits of the servers it calls: it waits before it sends, and reads what responses say.

mod date;
mod headers;
mod pace;

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tollgate_algorithms::Micros;

use crate::limiter::Limiter;
use crate::store::memory::lanes::NO_MEMBER;
use crate::store::memory::queue::{Place, Queues, Ticket};
use crate::timers::Sleep;
use headers::Seen;
use pace::{Pace, Step};

/// A pacer tells so many servers apart. When there are more, those of which nothing is known that would be missed are forgotten, and if
/// there are none, further servers count as one.
pub const ORIGINS_MAX: usize = 1_024;

/// Paces requests to servers, so that no server has to refuse them: see [`Limiter::pacer`]. Cheap to clone; clones share what they know.
///
/// It obeys `Retry-After` of a 429 and of a 503, and the fields `RateLimit` and `RateLimit-Policy`. Requests to one server are sent in the
/// order in which they asked. While it is unknown what a server allows, one request asks and the others wait; a server that says
/// nothing about limits is sent everything at once.
///
/// A server that counts a client's requests from several processes can still refuse some: each knows its own only.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tollgate::Limiter;
/// let pacer = Limiter::new()?.pacer();
/// let mut pass = pacer.ready("https://api.example.org").await;
/// // ... send the request, and when the head of its response has come:
/// pass.observe(200, [("RateLimit", &b"\"per client\";r=4;t=10"[..])]);
/// // ... read the body ...
/// drop(pass);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Pacer(Arc<Inner>);

struct Inner {
    limiter: Limiter,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    numbers: HashMap<Box<str>, u64>,
    paces: HashMap<u64, Pace>,
    /// Of each server, the first has the turn.
    queues: Queues<bool>,
    next: u64,
}

/// The right to send one request, until its response has ended: see [`Pacer::ready`].
///
/// Report the head of the response with [`observe`](Self::observe). A pass that is dropped without counts as a request that the server may
/// have got and did not answer.
#[must_use = "a pass that is dropped at once counts as a lost request"]
pub struct Pass {
    pacer: Pacer,
    origin: u64,
    /// Its number; `None` if its response was observed.
    sent: Option<u64>,
}

/// A place among those who wait for one server, until it is dropped.
struct Waiting<'a> {
    pacer: &'a Inner,
    origin: u64,
    place: Option<Place>,
    timer: Option<(Micros, Sleep)>,
}

/// The server of all for which there is no room.
const OTHERS: u64 = 0;

impl Limiter {
    /// A pacer for requests to other servers, by this limiter's clock.
    #[must_use]
    pub fn pacer(&self) -> Pacer {
        Pacer(Arc::new(Inner { limiter: self.clone(), state: Mutex::default() }))
    }
}

impl Pacer {
    /// Waits until a request to this server may be sent. A server is any text that names one, such as `https://api.example.org`.
    ///
    /// Dropping the future leaves the line and delays nobody.
    pub async fn ready(&self, origin: &str) -> Pass {
        let mut waiting = self.0.join(origin);
        let sent = poll_fn(|cx| waiting.poll_send(cx)).await;
        Pass { pacer: self.clone(), origin: waiting.origin, sent: Some(sent) }
    }

    /// How many requests to a server wait.
    #[must_use]
    pub fn waiting(&self, origin: &str) -> u32 {
        let state = self.0.lock();
        state.numbers.get(origin).map_or(0, |number| state.queues.length(*number))
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, origin: &str) -> Waiting<'_> {
        let now = self.limiter.clock_now();
        let mut state = self.lock();
        let origin = state.number(origin, now);
        let is_first = state.queues.first(origin).is_none();
        let ticket = Ticket { key: origin, member: NO_MEMBER, weight: 1 };
        let place = state.queues.push(ticket, is_first, Waker::noop().clone());
        Waiting { pacer: self, origin, place, timer: None }
    }

    /// Changes what is known of a server, and wakes the first who waits for it.
    fn change(&self, origin: u64, change: impl FnOnce(&mut Pace)) {
        let waker = {
            let mut state = self.lock();
            change(state.paces.entry(origin).or_default());
            state.queues.first(origin).and_then(|first| state.queues.take_waker(first))
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl State {
    fn number(&mut self, origin: &str, now: Micros) -> u64 {
        if let Some(number) = self.numbers.get(origin) {
            return *number;
        }
        if self.numbers.len() >= ORIGINS_MAX {
            let Self { numbers, paces, queues, .. } = self;
            numbers.retain(|_, number| {
                let is_idle = paces.get(number).is_none_or(|pace| pace.is_idle(now));
                let kept = !is_idle || queues.first(*number).is_some();
                if !kept {
                    paces.remove(number);
                }
                kept
            });
            if self.numbers.len() >= ORIGINS_MAX {
                return OTHERS;
            }
        }
        self.next = self.next.saturating_add(1);
        self.numbers.insert(origin.into(), self.next);
        self.next
    }
}

impl Waiting<'_> {
    /// Sends the request when it has the turn and may be sent.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<u64> {
        loop {
            let until = {
                let mut state = self.pacer.lock();
                let has_turn = self.place.is_none_or(|place| state.queues.get(place) == Some(&true));
                let now = self.pacer.limiter.clock_now();
                let pace = state.paces.entry(self.origin).or_default();
                let step = if has_turn { pace.step(now) } else { Step::Wait(None) };
                match step {
                    Step::Send => return Poll::Ready(pace.sent()),
                    Step::Wait(until) => {
                        // Before the lock is given up, so that no answer is missed.
                        if let Some(place) = self.place {
                            state.queues.set_waker(place, cx.waker());
                        }
                        until
                    }
                }
            };
            let Some(until) = until else {
                self.timer = None;
                return Poll::Pending;
            };
            if self.timer.as_ref().is_none_or(|(known, _)| *known != until) {
                self.timer = Some((until, self.pacer.limiter.0.timers.sleep_until(until)));
            }
            let Some((_, timer)) = &mut self.timer else { return Poll::Pending };
            if Pin::new(timer).poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let next = self.pacer.lock().queues.leave_turn(place, self.origin, true);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

impl Pass {
    /// Reports the head of the response: its status and its fields. Only the first report counts.
    pub fn observe<'a>(&mut self, status: u16, fields: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
        let Some(sent) = self.sent.take() else { return };
        let (seen, inner) = (Seen::read(status, fields), &self.pacer.0);
        let now = inner.limiter.clock_now();
        inner.change(self.origin, |pace| pace.answered(sent, seen, now));
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let is_lost = self.sent.is_some();
        self.pacer.0.change(self.origin, |pace| {
            if is_lost {
                pace.lost();
            }
            pace.ended();
        });
    }
}

impl fmt::Debug for Pacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pacer({} servers)", self.0.lock().numbers.len())
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pass({})", if self.sent.is_some() { "not answered" } else { "answered" })
    }
}
