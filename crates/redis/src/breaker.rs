//! The circuit breaker as a state machine: when to call the server, when not, and who probes. No clock, no I/O.

use std::time::Duration;

use crate::Settings;
use crate::backoff::Backoff;

/// Where a breaker stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BreakerState {
    /// Every call goes to the server.
    Closed,
    /// No call does, until the next probe is due.
    Open,
    /// One call does; its end decides.
    Probing,
}

/// Stops asking a server that fails, and finds out by one call at a time when it serves again.
///
/// Closed: it opens after so many failures in a row within a span. Any answer in between starts the count anew. Open: every
/// call is refused until a wait with jitter is over; then the next call that may probe is let through alone. If the server
/// wrote for it the breaker closes, and if it failed the breaker waits again, twice as long up to a bound. If it was answered and
/// nothing was written, as a refusal is by a server that takes no writes, the link's own probe decides, which is due at once. A probe that
/// says nothing for two budgets is not waited for: another may go, and the end of the first is not believed any more.
///
/// Instants are durations since any common start. One that lies before an earlier one is harmless: spans are then zero.
#[derive(Debug)]
pub(crate) struct Breaker {
    failures_max: u32,
    span: Duration,
    /// For how long a probe is believed to be under way: no call takes longer. One whose future is kept and not polled says nothing
    /// after that either, and must not stop all others.
    probe_max: Duration,
    backoff: Backoff,
    state: State,
    /// How many probes there have been: the last one's number. An end that comes with another number is not believed.
    probes: u64,
}

#[derive(Debug)]
enum State {
    /// So many failures in a row, the first of them then.
    Closed { failures: u32, first: Duration },
    /// The next probe is due then; it is the link's own, if it was told by another that nothing was written.
    Open { due: Duration, by_link: bool },
    /// The last probe is out. If it says nothing until then, another may go.
    Probing { until: Duration },
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallerKind {
    /// A call that only reads. It must not probe: a server that takes no writes would pass.
    Reader,
    /// A call that may write.
    Writer,
    /// The link's own probe, which always writes.
    Link,
}

/// What a call may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BreakerAdmission {
    /// Go. Its end is told by [`Breaker::succeeded`] or [`Breaker::failed`].
    Pass,
    /// Go alone. Its end must be told by [`Breaker::probed`], [`Breaker::unproved`] or [`Breaker::given_up`], with this number.
    Probe(u64),
    /// Do not go.
    Refuse,
}

impl Breaker {
    pub(crate) const fn new(settings: &Settings, seed: u64) -> Self {
        Self {
            failures_max: settings.breaker_failures,
            span: settings.breaker_span,
            probe_max: settings.budget.saturating_mul(2),
            backoff: Backoff::new(settings.backoff_min, settings.backoff_max, seed),
            state: State::Closed { failures: 0, first: Duration::ZERO },
            probes: 0,
        }
    }

    /// Whether a call may go.
    pub(crate) fn admit(&mut self, now: Duration, asker: CallerKind) -> BreakerAdmission {
        let (due, by_link) = match self.state {
            State::Closed { .. } => return BreakerAdmission::Pass,
            State::Open { due, by_link } => (due, by_link),
            State::Probing { until } => (until, false),
        };
        let may_probe = match asker {
            CallerKind::Reader => false,
            CallerKind::Writer => !by_link,
            CallerKind::Link => true,
        };
        if !may_probe || now < due {
            return BreakerAdmission::Refuse;
        }
        self.state = State::Probing { until: now.saturating_add(self.probe_max) };
        self.probes += 1;
        BreakerAdmission::Probe(self.probes)
    }

    /// A call that passed was answered. What was sent before the breaker opened does not close it.
    pub(crate) const fn succeeded(&mut self) {
        if let State::Closed { failures, .. } = &mut self.state {
            *failures = 0;
        }
    }

    /// A call that passed failed, in a way that is the server's fault.
    pub(crate) fn failed(&mut self, now: Duration) {
        let State::Closed { failures, first } = &mut self.state else { return };
        if *failures == 0 || now.saturating_sub(*first) > self.span {
            (*failures, *first) = (0, now);
        }
        *failures += 1;
        if *failures >= self.failures_max {
            self.backoff.reset();
            self.open(now);
        }
    }

    /// A probe ended, well or not.
    pub(crate) fn probed(&mut self, probe: u64, well: bool, now: Duration) {
        match self.state {
            State::Probing { .. } if probe == self.probes && well => {
                self.state = State::Closed { failures: 0, first: now };
            }
            State::Probing { .. } if probe == self.probes => self.open(now),
            State::Probing { .. } | State::Closed { .. } | State::Open { .. } => {}
        }
    }

    /// A probe's caller left before it ended, so nothing is known: the next call probes, and no wait becomes longer.
    pub(crate) const fn given_up(&mut self, probe: u64, now: Duration) {
        self.pass_on(probe, now, false);
    }

    /// A probe was answered, and nothing shows that the server takes writes: the link's own is due now, and no wait becomes longer. Nobody
    /// else probes until that has been: refusals could go on for ever.
    pub(crate) const fn unproved(&mut self, probe: u64, now: Duration) {
        self.pass_on(probe, now, true);
    }

    /// There is a new connection, and the server has spoken on it: a probe is due now.
    pub(crate) fn reachable(&mut self, now: Duration) {
        if let State::Open { due, .. } = &mut self.state {
            *due = now.min(*due);
        }
    }

    /// When the next probe is due, if the breaker is open: while one is out, when that is not waited for any more.
    pub(crate) const fn due(&self) -> Option<Duration> {
        match self.state {
            State::Open { due, .. } | State::Probing { until: due } => Some(due),
            State::Closed { .. } => None,
        }
    }

    /// When the link has to probe by itself: so long after the next probe is due, so that a caller could have gone first, if one may.
    pub(crate) fn link_due(&self, patience: Duration) -> Option<Duration> {
        let may_wait = !matches!(self.state, State::Open { by_link: true, .. });
        self.due().map(|due| if may_wait { due.saturating_add(patience) } else { due })
    }

    pub(crate) const fn standing(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::Probing { .. } => BreakerState::Probing,
        }
    }

    /// Whether it is closed and counts no failure: then neither asking it nor telling it of a success changes anything.
    pub(crate) const fn is_clean(&self) -> bool {
        matches!(self.state, State::Closed { failures: 0, .. })
    }

    fn open(&mut self, now: Duration) {
        self.state = State::Open { due: now.saturating_add(self.backoff.next()), by_link: false };
    }

    /// The last probe, if it is this one, has told nothing.
    const fn pass_on(&mut self, probe: u64, now: Duration, by_link: bool) {
        if matches!(self.state, State::Probing { .. }) && probe == self.probes {
            self.state = State::Open { due: now, by_link };
        }
    }
}

#[cfg(test)]
mod tests;
