//! One window of samples: which requests belong to it, when it closes, and its result.

/// A window is open at least this long, in microseconds; longer if twice the baseline is longer.
const OPEN_MIN: u64 = 100_000;
/// A window this old closes with fewer samples, or a low limit on a slow server would never be measured.
const OPEN_LONG: u64 = 2_000_000;
/// A window this old with fewer than [`SAMPLES_FEW`] is thrown away: traffic this light needs no limit.
const OPEN_MAX: u64 = 10_000_000;
/// Samples with which a window closes as soon as it is long enough.
const SAMPLES: u64 = 64;
/// Samples with which a window closes after [`OPEN_LONG`].
const SAMPLES_FEW: u64 = 8;
/// Requests that start after a window has this many are admitted but teach nothing.
const SAMPLES_MAX: u64 = 1 << 20;
/// Responses are awaited for four baselines, but never longer than this, so that an inflated baseline recovers.
const GATHER_MAX: u64 = 60_000_000;
/// The longest latency that is told apart from longer ones: 2^36 µs, about 19 hours.
pub(super) const LATENCY_MAX: u64 = 1 << 36;

/// Samples of requests that started between two instants. All times are in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    opened: u64,
    /// When requests stopped joining. The window then waits for the responses of those that did.
    closed: Option<u64>,
    /// Requests that started in it and were not ignored.
    started: u64,
    succeeded: u64,
    dropped: u64,
    /// The latencies of successes, each at most the ceiling.
    sum: u64,
    /// The most requests in flight at a start.
    peak: u64,
    /// Whether the limit was reached, or nearly.
    limited: bool,
    /// What a latency counts at most, and what a dropped or unfinished request counts. None until a baseline is known.
    ceiling: Option<u64>,
}

/// What a window is doing at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// It admits samples, or waits for their responses.
    Running,
    /// Too few requests came: it shows nothing.
    Empty,
    /// Everything that it will show is known.
    Complete,
}

/// What a complete window showed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    /// The mean latency, at least 1. None if no request was answered and no ceiling is known.
    pub(super) latency: Option<u64>,
    /// At least half of the requests that ended were dropped: the latency of the rest says nothing.
    pub(super) blind: bool,
    /// At least 2 % of the requests that ended were dropped.
    pub(super) dropped: bool,
    /// The limit was reached, or nearly, or a request was refused.
    pub(super) limited: bool,
    /// The most requests in flight at a start.
    pub(super) peak: u64,
}

impl Window {
    /// A window that opens now.
    pub(super) const fn new(now: u64, ceiling: Option<u64>) -> Self {
        Self {
            opened: now,
            closed: None,
            started: 0,
            succeeded: 0,
            dropped: 0,
            sum: 0,
            peak: 0,
            limited: false,
            ceiling,
        }
    }

    /// A request starts, with this many in flight including itself. Returns whether it belongs to the window.
    pub(super) fn start(&mut self, in_flight: u64, limit: u64) -> bool {
        if self.closed.is_some() || self.started >= SAMPLES_MAX {
            return false;
        }
        self.started = self.started.saturating_add(1);
        self.peak = self.peak.max(in_flight);
        // Seven eighths: a limit that is almost always reached is limiting, and nobody needs to be refused to show it.
        self.limited |= in_flight.saturating_mul(8) >= limit.saturating_mul(7);
        true
    }

    /// A request was refused.
    pub(super) const fn refuse(&mut self) {
        // Priorities refuse long before the limit is reached, so the count in flight is not enough.
        self.limited = true;
    }

    /// A request of this window was answered after so long.
    pub(super) fn succeed(&mut self, latency: u64) {
        let latency = latency.clamp(1, self.ceiling.unwrap_or(LATENCY_MAX));
        self.succeeded = self.succeeded.saturating_add(1);
        self.sum = self.sum.saturating_add(latency);
    }

    /// A request of this window was dropped. Its own latency says nothing: a refusal is fast.
    pub(super) const fn drop_one(&mut self) {
        self.dropped = self.dropped.saturating_add(1);
    }

    /// A request of this window says nothing about the server.
    pub(super) const fn ignore(&mut self) {
        self.started = self.started.saturating_sub(1);
    }

    /// What the window is doing at `now`; closes it when its time has come.
    pub(super) fn advance(&mut self, now: u64, baseline: Option<u64>) -> Phase {
        let open = now.saturating_sub(self.opened);
        let Some(closed) = self.closed else {
            let long_enough = OPEN_MIN.max(baseline.unwrap_or(0).saturating_mul(2));
            if (open >= long_enough && self.started >= SAMPLES)
                || (open >= OPEN_LONG && self.started >= SAMPLES_FEW)
            {
                self.closed = Some(now);
                return self.gather(now, now);
            }
            return if open >= OPEN_MAX { Phase::Empty } else { Phase::Running };
        };
        self.gather(now, closed)
    }

    fn gather(&self, now: u64, closed: u64) -> Phase {
        let patience = self.ceiling.unwrap_or(GATHER_MAX).min(GATHER_MAX);
        if self.started <= self.ended() || now.saturating_sub(closed) >= patience {
            Phase::Complete
        } else {
            Phase::Running
        }
    }

    const fn ended(&self) -> u64 {
        self.succeeded.saturating_add(self.dropped)
    }

    /// What it showed.
    pub(super) fn summary(&self) -> Summary {
        let ended = self.ended();
        Summary {
            latency: self.latency(),
            blind: self.dropped > 0 && self.dropped.saturating_mul(2) >= ended,
            dropped: self.dropped > 0 && self.dropped.saturating_mul(50) >= ended,
            limited: self.limited,
            peak: self.peak,
        }
    }

    fn latency(&self) -> Option<u64> {
        let slow = self.started.saturating_sub(self.succeeded);
        let (sum, count) = match self.ceiling {
            Some(ceiling) => {
                (self.sum.saturating_add(slow.saturating_mul(ceiling)), self.succeeded.saturating_add(slow))
            }
            None => (self.sum, self.succeeded),
        };
        sum.checked_div(count).map(|mean| mean.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::{GATHER_MAX, Phase, Window};

    fn filled(count: u64) -> Window {
        let mut window = Window::new(0, Some(80_000));
        (0..count).for_each(|_| assert!(window.start(3, 8)));
        window
    }

    #[test]
    fn it_closes_with_enough_samples_or_after_two_seconds_with_a_few() {
        let phase = |count, now| filled(count).advance(now, None);
        assert_eq!(phase(63, 1_999_999), Phase::Running);
        let closed = |count, now| {
            let mut window = filled(count);
            window.advance(now, Some(20_000));
            !window.start(1, 8)
        };
        assert!(!closed(64, 99_999) && closed(64, 100_000));
        assert!(!closed(8, 1_999_999) && closed(8, 2_000_000));
        assert_eq!((phase(7, 9_999_999), phase(7, 10_000_000)), (Phase::Running, Phase::Empty));
    }

    #[test]
    fn it_waits_for_its_requests_but_not_for_ever() {
        let mut window = filled(8);
        assert_eq!(window.advance(2_000_000, None), Phase::Running);
        assert_eq!(window.advance(2_079_999, None), Phase::Running);
        assert_eq!(window.advance(2_080_000, None), Phase::Complete);
        let mut first = Window::new(0, None);
        (0..8).for_each(|_| assert!(first.start(3, 8)));
        first.advance(2_000_000, None);
        assert_eq!(first.advance(2_000_000 + GATHER_MAX, None), Phase::Complete);
        assert_eq!(first.summary().latency, None);
    }

    #[test]
    fn unfinished_and_dropped_requests_count_the_ceiling_and_ignored_ones_nothing() {
        let mut window = filled(5);
        window.succeed(20_000);
        window.succeed(1_000_000);
        window.drop_one();
        window.ignore();
        assert_eq!(window.summary().latency, Some((20_000 + 80_000 + 80_000 + 80_000) / 4));
        window.succeed(0);
        assert_eq!(window.summary().latency, Some((20_000 + 80_000 + 1 + 80_000) / 4));
    }

    #[test]
    fn half_dropped_is_blind() {
        let mut window = filled(4);
        window.succeed(20_000);
        assert!(!window.summary().blind && !window.summary().dropped);
        window.drop_one();
        assert!(window.summary().blind && window.summary().dropped);
        window.succeed(20_000);
        assert!(!window.summary().blind && window.summary().dropped);
    }

    #[test]
    fn a_limit_is_reached_at_seven_eighths_or_with_a_refusal() {
        let limited = |in_flight| {
            let mut window = Window::new(0, None);
            window.start(in_flight, 16);
            window.summary().limited
        };
        assert!(!limited(13) && limited(14));
        let mut refused = Window::new(0, None);
        refused.refuse();
        assert!(refused.summary().limited);
    }
}
