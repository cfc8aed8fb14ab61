//! Clients, a limit and a server in virtual time: one run of one scenario, event by event.

use std::collections::VecDeque;

use tollgate_algorithms::adaptive::Outcome;

use crate::limiter::Limiter;
use crate::random::Random;
use crate::scenario::{REFUSAL, SLOW_FACTOR, Scenario, TIMEOUT};
use crate::server::Server;

/// Something that a run reports while it goes on. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A client was answered after so long, by a server that would have needed so long at full speed.
    Answered {
        /// When.
        at: f64,
        /// How long it took.
        latency: f64,
        /// How long it would have taken alone.
        alone: f64,
    },
    /// The limit refused a request.
    Refused {
        /// When.
        at: f64,
    },
    /// A request was admitted under this limit.
    Admitted {
        /// When.
        at: f64,
        /// The limit at that instant.
        limit: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Request<T> {
    ticket: T,
    started: f64,
    alone: f64,
    /// Whether the client still waits.
    waits: bool,
}

/// One run.
struct World<'a, L: Limiter, F: FnMut(Event)> {
    scenario: &'a Scenario,
    limiter: &'a mut L,
    report: F,
    server: Server,
    random: Random,
    requests: Vec<Request<L::Ticket>>,
    free: Vec<usize>,
    /// Clients give up in the order in which they came: when, and which request. A reused number has a later start.
    timeouts: VecDeque<(f64, usize, f64)>,
    /// Refusals of the server on their way.
    refusals: VecDeque<(f64, L::Ticket)>,
    in_flight: u32,
    changed: bool,
}

/// Runs a scenario before a limit, and reports everything that happens.
pub fn run<L: Limiter>(scenario: &Scenario, limiter: &mut L, seed: u64, report: impl FnMut(Event)) {
    let mut world = World {
        scenario,
        limiter,
        report,
        server: Server::new(scenario.discipline, scenario.capacity.0, scenario.collapse),
        random: Random::new(seed),
        requests: Vec::new(),
        free: Vec::new(),
        timeouts: VecDeque::new(),
        refusals: VecDeque::new(),
        in_flight: 0,
        changed: scenario.change <= 0.0,
    };
    let mut next_arrival = 0.0;
    while let Some(now) = world.step(&mut next_arrival) {
        debug_assert!(now <= scenario.length, "the run ends");
    }
}

const fn micros(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

impl<L: Limiter, F: FnMut(Event)> World<'_, L, F> {
    /// Lets the next thing happen, and returns when that was.
    fn step(&mut self, next_arrival: &mut f64) -> Option<f64> {
        let finish = self.server.next_finish().unwrap_or(f64::INFINITY);
        let timeout = self.timeouts.front().map_or(f64::INFINITY, |(at, ..)| *at);
        let refusal = self.refusals.front().map_or(f64::INFINITY, |(at, _)| *at);
        let change = if self.changed { f64::INFINITY } else { self.scenario.change };
        let now = finish.min(timeout).min(refusal).min(change).min(*next_arrival);
        if now > self.scenario.length {
            return None;
        }
        if now >= change {
            self.changed = true;
            self.server.set_capacity(now, self.scenario.capacity.1);
        } else if now >= finish {
            self.finish(now);
        } else if now >= timeout {
            self.time_out(now);
        } else if now >= refusal {
            if let Some((_, ticket)) = self.refusals.pop_front() {
                self.end(now, ticket, Outcome::Dropped);
            }
        } else {
            self.arrive(now);
            *next_arrival = now + self.random.exponential(1.0 / self.scenario.offered_at(now));
        }
        Some(now)
    }

    fn arrive(&mut self, now: f64) {
        // Drawn before the limit decides, so that every limit sees the same requests.
        let mut alone = self.scenario.service_at(now) * self.random.lognormal(self.scenario.sigma);
        let (slow, lost) =
            (self.random.unit() <= self.scenario.slow, self.random.unit() <= self.scenario.lost);
        if slow {
            alone *= SLOW_FACTOR;
        }
        let limit = self.limiter.limit();
        if self.in_flight >= limit {
            self.limiter.refuse(micros(now));
            (self.report)(Event::Refused { at: now });
            return;
        }
        (self.report)(Event::Admitted { at: now, limit });
        self.in_flight += 1;
        let ticket = self.limiter.start(micros(now), self.in_flight);
        let full = |most: f64| self.server.len() as f64 >= most * self.scenario.capacity_at(now);
        if self.scenario.refuses_at.is_some_and(full) {
            self.refusals.push_back((now + REFUSAL, ticket));
            return;
        }
        let request = Request { ticket, started: now, alone, waits: true };
        let id = self.free.pop().unwrap_or(self.requests.len());
        if id == self.requests.len() {
            self.requests.push(request);
        } else {
            self.requests[id] = request;
        }
        self.timeouts.push_back((now + TIMEOUT, id, now));
        if !lost {
            self.server.arrive(now, id, alone);
        }
    }

    fn finish(&mut self, now: f64) {
        let Some(id) = self.server.finish(now) else { return };
        let request = self.requests[id];
        self.requests[id].waits = false;
        self.free.push(id);
        if request.waits {
            let (latency, alone) = (now - request.started, request.alone);
            (self.report)(Event::Answered { at: now, latency, alone });
            self.end(now, request.ticket, Outcome::Success);
        }
    }

    /// A client stops waiting. The server works on.
    fn time_out(&mut self, now: f64) {
        let Some((_, id, started)) = self.timeouts.pop_front() else { return };
        let request = &mut self.requests[id];
        if request.waits && request.started.total_cmp(&started).is_eq() {
            request.waits = false;
            let ticket = request.ticket;
            self.end(now, ticket, Outcome::Dropped);
        }
    }

    fn end(&mut self, now: f64, ticket: L::Ticket, outcome: Outcome) {
        self.in_flight -= 1;
        self.limiter.end(micros(now), ticket, outcome);
    }
}
