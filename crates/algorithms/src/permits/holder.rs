//! What one process may use of a key's permits, and when it has to ask the store.

use super::{Exchanged, LEVEL_MAX, Request, Result};
use crate::Micros;

/// How many permits a key has, and for how long a record in the store lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The limit.
    pub limit: u32,
    /// How long the permits of a process that does not ask any more stay its own.
    pub lease: Micros,
}

/// A permit that nobody uses goes back to the store after this; at once if another process is short of them.
const IDLE_MAX: Micros = Micros::from_millis(2);
/// The shortest and the longest time after which a process that got fewer permits than it wants asks again.
const PACE_MIN: Micros = Micros::from_millis(2);
const PACE_MAX: Micros = Micros::from_millis(250);

/// The permits of one key in one process. All instants are of the process's own clock, which has to go on while the process or the machine
/// is stopped.
#[derive(Clone, Copy, Default, Debug)]
pub struct Holder {
    level: u32,
    used: u32,
    deadline: Micros,
    term: u64,
    flight: Option<Flight>,
    limit: u32,
    contenders: u32,
    is_short: bool,
    /// Whether the store has noted that it wants more than it has.
    wants: bool,
    renew_at: Micros,
    ask_at: Micros,
    retry_at: Micros,
    clear_at: Micros,
    idle_since: Micros,
}

/// A request that is on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    sent: Micros,
    wanted: u32,
    lease: Micros,
}

impl Holder {
    /// Whether its permits are valid. If not, they are void: whoever holds one must not go on.
    #[must_use]
    pub fn is_valid(&self, now: Micros) -> bool {
        now < self.deadline
    }

    /// When its permits end, unless they are renewed before.
    #[must_use]
    pub const fn deadline(&self) -> Micros {
        self.deadline
    }

    /// Counts how often its permits have become void. A permit of an earlier term is void.
    #[must_use]
    pub const fn term(&self) -> u64 {
        self.term
    }

    /// How many permits it may use at most, of which [`used`](Self::used) are in use.
    #[must_use]
    pub fn level(&self, now: Micros) -> u32 {
        if self.is_valid(now) { self.level } else { 0 }
    }

    /// How many permits of this term are in use.
    #[must_use]
    pub const fn used(&self) -> u32 {
        self.used
    }

    /// How many processes wanted permits when the store was asked last.
    #[must_use]
    pub const fn contenders(&self) -> u32 {
        self.contenders
    }

    /// Whether a request is on its way. Until it is answered or lost, no other may be sent.
    #[must_use]
    pub const fn is_asking(&self) -> bool {
        self.flight.is_some()
    }

    /// Whether it may be asked about again: if not, the store has just refused.
    #[must_use]
    pub fn may_ask(&self, now: Micros) -> bool {
        now >= self.ask_at.max(self.retry_at)
    }

    /// Whether there is nothing to remember.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.level == 0 && self.used == 0 && self.flight.is_none() && !self.wants
    }

    /// Ends the term if its permits have become void. Returns whether they have.
    pub fn expire(&mut self, now: Micros) -> bool {
        let is_over = !self.is_valid(now) && (self.level > 0 || self.used > 0);
        if is_over {
            self.end_term();
        }
        is_over
    }

    /// Uses one more permit, if there is one at hand.
    pub fn take(&mut self, now: Micros) -> bool {
        self.expire(now);
        let is_there = self.used < self.usable();
        if is_there {
            self.used = self.used.saturating_add(1);
        }
        is_there
    }

    /// A permit of this term is in use no longer.
    pub fn give_back(&mut self, term: u64, now: Micros) {
        if term == self.term {
            self.used = self.used.saturating_sub(1);
            self.idle_since = now;
        }
    }

    /// When the next request is due, with so many who wait for a permit. `None` if there is nothing to ask.
    #[must_use]
    pub fn due(&self, waiting: u32) -> Option<Micros> {
        if self.flight.is_some() {
            return None;
        }
        let idle = self.level > self.used;
        let is_over_part = self.is_short && self.level > self.used.max(self.part());
        let asks = (waiting > 0 && self.used >= self.usable()).then_some(self.ask_at);
        let returns = match (idle && waiting == 0, self.is_short) {
            (true, false) => Some(self.idle_since.saturating_add(IDLE_MAX)),
            (true, true) => Some(Micros::ZERO),
            (false, _) => is_over_part.then_some(Micros::ZERO),
        };
        let renews = (self.level > 0).then_some(self.renew_at);
        let clears = (self.wants && waiting == 0).then_some(self.clear_at);
        let first = [asks, returns, renews, clears].into_iter().flatten().min();
        first.map(|first| first.max(self.retry_at))
    }

    /// Sets aside what it keeps no longer, and says what to send: as process `id`, with a number larger than any before.
    pub fn send(&mut self, now: Micros, (id, seq): (u128, u64), waiting: u32, settings: Settings) -> Request {
        self.expire(now);
        let is_idle = now >= self.idle_since.saturating_add(IDLE_MAX);
        let keep = if waiting > 0 || self.is_short || is_idle { self.used } else { self.level };
        self.level = keep;
        self.limit = settings.limit;
        let want = waiting.min(LEVEL_MAX);
        let wanted = keep.saturating_add(want);
        self.flight = Some(Flight { sent: now, wanted, lease: settings.lease });
        Request { id, seq, keep, want, limit: settings.limit.min(LEVEL_MAX), lease: settings.lease }
    }

    /// The request was answered. If it got fewer permits than it wanted, it asks again after the [pace](Self::pace). Returns whether its
    /// permits have become void.
    pub fn answer(&mut self, now: Micros, answer: &Exchanged, pace: Micros) -> bool {
        let Some(flight) = self.flight.take() else { return false };
        (self.contenders, self.is_short) = (answer.contenders, answer.is_short);
        self.retry_at = Micros::ZERO;
        match answer.result {
            Result::Recorded => {
                self.level = answer.level;
                let margin =
                    Micros::new(flight.lease.get().div_ceil(1_000)).saturating_add(Micros::MILLISECOND);
                self.deadline = flight.sent.saturating_add(flight.lease).saturating_sub(margin);
                self.renew_at = renewal(flight);
                self.wants = answer.level < flight.wanted;
                self.ask_at = if self.wants { now.saturating_add(pace) } else { now };
                self.clear_at = now.saturating_add(PACE_MAX);
                self.idle_since = now;
                self.expire(now)
            }
            Result::Gone => {
                self.wants = false;
                let was_in_use = self.used > 0;
                self.end_term();
                self.ask_at = now;
                was_in_use
            }
            // What became of it nobody knows: as if it had been lost.
            Result::Stale | Result::Full => {
                self.ask_at = now.saturating_add(PACE_MAX);
                self.retry_at = self.ask_at;
                self.expire(now)
            }
        }
    }

    /// The request was not answered: it may or may not have been recorded. What it has from before stays valid.
    pub fn lose(&mut self, now: Micros, retry_after: Micros) {
        self.flight = None;
        self.retry_at = now.saturating_add(retry_after);
    }

    /// How long it waits before it asks again, if permits are held for this long on average: until about half a permit of its part is free.
    #[must_use]
    pub fn pace(&self, average_hold: Micros) -> Micros {
        let half_a_turn = u128::from(average_hold.get()).saturating_mul(self.contenders.max(1).into());
        let pace = half_a_turn.checked_div(u128::from(self.limit.max(1)).saturating_mul(2)).unwrap_or(0);
        let pace = u64::try_from(pace).map_or(PACE_MAX, Micros::new);
        pace.clamp(PACE_MIN, PACE_MAX)
    }

    /// How many it uses before it gives the rest back: all that it has, or its part if another process has less.
    fn usable(&self) -> u32 {
        if self.is_short { self.level.min(self.part()) } else { self.level }
    }

    /// An equal part of the permits for everybody who wants some.
    fn part(&self) -> u32 {
        self.limit.checked_div(self.contenders).unwrap_or(self.limit).max(1)
    }

    const fn end_term(&mut self) {
        (self.level, self.used) = (0, 0);
        self.term = self.term.saturating_add(1);
    }
}

/// When a record is renewed: a third of the lease after it was, or a little earlier. All keys are renewed at the same few instants, so that
/// one call renews many.
fn renewal(flight: Flight) -> Micros {
    let at = flight.sent.get().saturating_add(flight.lease.get() / 3);
    let early = at.checked_rem(flight.lease.get() / 16).unwrap_or(0);
    Micros::new(at.saturating_sub(early).max(flight.sent.get()))
}
