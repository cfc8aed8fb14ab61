//! An independent model of the adaptive limit: it keeps every request of a window and evaluates the design's text literally.

use tollgate_algorithms::adaptive::Outcome;

use crate::machine::{Machine, MethodNumber, Range, TARGET};

/// A request that started in the current window.
struct Request {
    number: u64,
    in_flight: u32,
    /// How it ended, and after how long.
    end: Option<(u64, Outcome)>,
}

pub(crate) struct Model {
    method: MethodNumber,
    range: Range,
    seed: u64,
    /// In units of 1/1024.
    limit: u128,
    baseline: Option<u128>,
    probing: bool,
    slow_start: bool,
    bad: u64,
    since: u64,
    backoff: u64,
    probes: u64,
    window: Vec<Request>,
    opened: u64,
    closed: Option<u64>,
    refused: bool,
    /// Whether a request started close to the limit.
    near: bool,
    next: u64,
}

impl Machine for Model {
    /// The request's number, and when it started.
    type Ticket = (u64, u64);

    fn new(method: MethodNumber, range: Range, seed: u64) -> Self {
        Self {
            method,
            range,
            seed,
            limit: u128::from(range.1) * 1024,
            baseline: None,
            probing: false,
            slow_start: true,
            bad: 0,
            since: 0,
            backoff: 10,
            probes: 0,
            window: Vec::new(),
            opened: 0,
            closed: None,
            refused: false,
            near: false,
            next: 0,
        }
    }

    fn limit(&self) -> u32 {
        let lowered = match (self.probing, self.method) {
            (true, 0) => self.limit - self.limit / 4,
            (true, 1 | 2) => self.limit - self.limit / 2,
            _ => self.limit,
        };
        u32::try_from(lowered / 1024).unwrap().max(self.range.0)
    }

    fn baseline(&self) -> Option<u64> {
        self.baseline.map(|baseline| u64::try_from(baseline).unwrap())
    }

    fn probes(&self) -> u64 {
        self.probes
    }

    fn start(&mut self, now: u64, in_flight: u32) -> (u64, u64) {
        self.pass(now);
        self.next += 1;
        if self.closed.is_none() {
            self.near |= 8 * u64::from(in_flight) >= 7 * u64::from(self.limit());
            self.window.push(Request { number: self.next, in_flight, end: None });
        }
        (self.next, now)
    }

    fn refuse(&mut self, now: u64) {
        self.pass(now);
        self.refused = true;
    }

    fn end(&mut self, now: u64, (number, started): (u64, u64), outcome: Outcome) {
        if let Some(request) = self.window.iter_mut().find(|request| request.number == number) {
            request.end = Some((now.saturating_sub(started), outcome));
        }
        self.pass(now);
    }
}

impl Model {
    fn counted(&self) -> impl Iterator<Item = &Request> {
        self.window.iter().filter(|request| !matches!(request.end, Some((_, Outcome::Ignored))))
    }

    fn pass(&mut self, now: u64) {
        let (age, count) = (now.saturating_sub(self.opened), self.counted().count());
        let two_baselines = u64::try_from(2 * self.baseline.unwrap_or(0)).unwrap();
        if self.closed.is_none() {
            if (age >= 100_000.max(two_baselines) && count >= 64) || (age >= 2_000_000 && count >= 8) {
                self.closed = Some(now);
            } else if age >= 10_000_000 {
                if self.probing {
                    (self.bad, self.since) = (0, 0);
                }
                self.probing = false;
                self.open(now);
            }
        }
        if let Some(closed) = self.closed {
            let patience = self.ceiling().map_or(60_000_000, |ceiling| ceiling.min(60_000_000));
            let all_ended = self.counted().all(|request| request.end.is_some());
            if all_ended || u128::from(now.saturating_sub(closed)) >= patience {
                self.evaluate();
                self.open(now);
            }
        }
    }

    fn open(&mut self, now: u64) {
        (self.opened, self.closed, self.refused, self.near) = (now, None, false, false);
        self.window.clear();
    }

    fn ceiling(&self) -> Option<u128> {
        let four = 4 * self.baseline?;
        Some(if self.method == 3 { four.max(4 * u128::from(TARGET)) } else { four })
    }

    fn evaluate(&mut self) {
        let was_probe = std::mem::take(&mut self.probing);
        let outcomes =
            |wanted| self.counted().filter(move |r| r.end.is_some_and(|(_, o)| o == wanted)).count();
        let (succeeded, dropped) = (outcomes(Outcome::Success), outcomes(Outcome::Dropped));
        if dropped > 0 && 2 * dropped >= succeeded + dropped {
            (self.bad, self.since, self.slow_start) = (0, 0, false);
            self.set(self.limit / 2);
            return;
        }
        let Some(latency) = self.mean() else { return };
        if was_probe {
            let old = self.baseline.unwrap_or(latency);
            self.backoff = if 16 * latency.abs_diff(old) <= old { (2 * self.backoff).min(200) } else { 10 };
            (self.bad, self.since, self.probes) = (0, 0, self.probes + 1);
            self.learn(latency);
            return;
        }
        let peak = self.window.iter().map(|request| request.in_flight).max().unwrap_or(0);
        let is_free = u128::from(peak) * 2 * 1024 <= self.limit;
        self.learn(match self.baseline {
            None => latency,
            Some(old) if is_free => (3 * old + latency) / 4,
            Some(old) if latency < old => old - (old - latency) / 8,
            Some(old) => old,
        });
        let limited = self.refused || self.near;
        let next = self.step(latency, 50 * dropped >= succeeded + dropped && dropped > 0);
        if next < self.limit {
            (self.slow_start, self.bad) = (false, self.bad + 1);
            self.set(next);
        } else {
            self.bad = 0;
            if limited && next > self.limit {
                self.set(if self.slow_start { self.limit * 3 / 2 } else { next });
            }
        }
        self.since += 1;
        let due = (self.bad >= 2 && self.since >= self.backoff + self.jitter(self.backoff))
            || (self.bad >= 4 && self.since >= 4)
            || (limited && self.since >= 200 + self.jitter(200));
        self.probing = due && self.method != 3;
    }

    fn mean(&self) -> Option<u128> {
        let ceiling = self.ceiling();
        let value = |request: &Request| match request.end {
            Some((latency, Outcome::Success)) => {
                Some(u128::from(latency).max(1).min(ceiling.unwrap_or(1 << 36)))
            }
            _ => ceiling,
        };
        let values: Vec<u128> = self.counted().filter_map(value).collect();
        let sum: u128 = values.iter().sum();
        (!values.is_empty()).then(|| (sum / values.len() as u128).max(1))
    }

    /// The limit that the method wants. A shrinking step of nothing counts as one.
    fn step(&self, latency: u128, many_dropped: bool) -> u128 {
        let (limit, base) = (self.limit, self.baseline.unwrap_or(1));
        match self.method {
            0 => {
                let gradient = (1152 * base / latency).clamp(512, 1024);
                if gradient < 1024 {
                    limit - (limit - limit * gradient / 1024) / 2
                } else {
                    limit + ((limit * 1024).isqrt() / 4).max(512)
                }
            }
            1 => {
                let queue = limit.saturating_sub(limit * base / latency);
                let bound = (2048 * u128::from((limit / 1024).ilog2())).min(limit / 5).max(256);
                if queue > bound {
                    limit - (queue - bound) / 2 - bound / 8
                } else if queue <= bound / 4 {
                    limit + bound / 2
                } else if queue < bound / 2 {
                    limit + (bound / 8).max(256)
                } else {
                    limit
                }
            }
            2 => {
                let scaled = limit * (1280 * base / latency).clamp(512, 2048) / 1024;
                (scaled + (scaled * 1024).isqrt()).min(2 * limit)
            }
            _ if many_dropped || latency > u128::from(TARGET) => limit * 9 / 10,
            _ => limit + (limit / 64).max(1024),
        }
    }

    fn jitter(&self, windows: u64) -> u64 {
        let mixed = (self.seed ^ self.probes).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32) % (windows / 4 + 1)
    }

    fn learn(&mut self, latency: u128) {
        self.baseline = Some(latency.clamp(1, 1 << 36));
    }

    fn set(&mut self, limit: u128) {
        self.limit = limit.clamp(u128::from(self.range.0) * 1024, u128::from(self.range.2) * 1024);
    }
}
