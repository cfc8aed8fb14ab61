//! The laws of an adaptive limit, each a property over random traces. A law returns what it found.

use tollgate_algorithms::adaptive::Outcome;
use tollgate_testing::random::Random;

use crate::machine::{METHODS, Machine, MethodNumber, Range, Shipped};
use crate::model::Model;

/// The seed of every law.
const SEED: u64 = 20_261_119;
/// Steps of one trace: some hundred windows.
const STEPS: u64 = 12_000;

type Law = (&'static str, fn(MethodNumber, Random) -> Result<(), String>);

/// Every law, for a machine.
pub(crate) fn laws<M: Machine>() -> [Law; 5] {
    [
        ("equals the model", equals_the_model::<M>),
        ("stays in its range", stays_in_range::<M>),
        ("grows only when it was reached", grows_only_when_reached::<M>),
        ("learns the baseline only from probes, free windows and lower latencies", baseline_sources::<M>),
        ("ignored requests change nothing", ignored_changes_nothing::<M>),
    ]
}

/// Checks every law on every method, so many traces each.
pub(crate) fn check<M: Machine>(cases: u64) -> Result<(), String> {
    for (name, law) in laws::<M>() {
        for (method, method_name) in METHODS.iter().enumerate() {
            for case in 0..cases {
                law(method, Random::case(SEED, case))
                    .map_err(|why| format!("{name}, {method_name}, case {case}: {why}"))?;
            }
        }
    }
    Ok(())
}

#[test]
fn the_machine_keeps_the_laws() {
    check::<Shipped>(12).unwrap();
}

fn range(random: &mut Random) -> Range {
    let min = random.within(1, 12);
    let start = min + random.magnitude(300);
    let max = start + random.magnitude(1_000);
    let small = |number: u64| u32::try_from(number).unwrap();
    (small(min), small(start), small(max))
}

/// A server that changes now and then: how long it takes, how much load adds to that, and how its requests end.
struct Weather {
    latency: u64,
    capacity: u64,
    dropped: u64,
    pause: u64,
    /// One request in so many is never answered; 0 is none.
    hung: u64,
}

impl Weather {
    fn new(random: &mut Random) -> Self {
        Self {
            latency: random.pick(&[300, 5_000, 20_000, 60_000, 400_000]),
            capacity: random.pick(&[2, 10, 40, 200]),
            dropped: random.pick(&[0, 0, 0, 3, 30, 70]),
            pause: random.pick(&[100, 1_000, 1_000, 20_000, 400_000]),
            hung: random.pick(&[0, 0, 2, 20]),
        }
    }

    fn latency(&self, in_flight: usize, random: &mut Random) -> u64 {
        let load = (in_flight as u64).max(self.capacity);
        let mean = self.latency * load / self.capacity;
        if self.hung > 0 && random.one_in(self.hung) {
            mean * 100
        } else {
            random.within(mean / 2, mean * 3 / 2)
        }
    }
}

/// Something that happens to a limit.
#[derive(Clone, Copy)]
enum Step {
    Start { in_flight: u32 },
    Refuse,
    End { outcome: Outcome },
}

/// A closed loop around a machine: requests come, are refused at the limit, and end after the latency of their server.
struct Loop<M: Machine> {
    machine: M,
    now: u64,
    in_flight: Vec<(u64, M::Ticket, u64)>,
    started: u64,
    weather: Weather,
    random: Random,
}

impl<M: Machine> Loop<M> {
    fn new(method: MethodNumber, mut random: Random) -> Self {
        let (range, seed) = (range(&mut random), random.any());
        let weather = Weather::new(&mut random);
        Self {
            machine: M::new(method, range, seed),
            now: 0,
            in_flight: Vec::new(),
            started: 0,
            weather,
            random,
        }
    }

    /// The next thing, with the number of the request it is about. `cap` limits what is in flight.
    fn step(&mut self, cap: impl Fn(u32) -> u32) -> (Step, u64) {
        if self.random.one_in(4_000) {
            self.weather = Weather::new(&mut self.random);
        }
        let arrival = self.now + self.random.below(self.weather.pause * 2);
        let next = self.in_flight.iter().enumerate().min_by_key(|(_, (at, ..))| *at);
        if let Some((index, (at, ..))) = next
            && *at <= arrival
        {
            let (at, ticket, number) = self.in_flight.swap_remove(index);
            self.now = self.now.max(at);
            let outcome = match self.random.below(100) {
                dice if dice < self.weather.dropped => Outcome::Dropped,
                dice if dice >= 96 => Outcome::Ignored,
                _ => Outcome::Success,
            };
            self.machine.end(self.now, ticket, outcome);
            return (Step::End { outcome }, number);
        }
        self.now = arrival;
        if self.in_flight.len() as u64 >= u64::from(cap(self.machine.limit())) {
            if cap(u32::MAX) == u32::MAX {
                self.machine.refuse(self.now);
            }
            return (Step::Refuse, 0);
        }
        let in_flight = u32::try_from(self.in_flight.len() + 1).unwrap();
        let ticket = self.machine.start(self.now, in_flight);
        let latency = self.weather.latency(self.in_flight.len() + 1, &mut self.random);
        self.in_flight.push((self.now + latency, ticket, self.started));
        self.started += 1;
        (Step::Start { in_flight }, self.started - 1)
    }
}

/// The same trace gives the same limit and baseline as the design's text, evaluated literally.
fn equals_the_model<M: Machine>(method: MethodNumber, random: Random) -> Result<(), String> {
    let mut copy = random.clone();
    let mut real = Loop::<M>::new(method, random);
    let (range, seed) = (range(&mut copy), copy.any());
    let mut model = Model::new(method, range, seed);
    let mut tickets = Vec::new();
    for step in 0..STEPS {
        match real.step(|limit| limit) {
            (Step::Start { in_flight }, _) => tickets.push(model.start(real.now, in_flight)),
            (Step::Refuse, _) => model.refuse(real.now),
            (Step::End { outcome }, number) => {
                model.end(real.now, tickets[usize::try_from(number).unwrap()], outcome);
            }
        }
        let is = (real.machine.limit(), real.machine.baseline(), real.machine.probes());
        let should = (model.limit(), model.baseline(), model.probes());
        if is != should {
            return Err(format!("limit, baseline and probes are {is:?}, not {should:?}, at step {step}"));
        }
    }
    Ok(())
}

/// Whatever is reported, in whatever order and at whatever instants, the limit stays in its range.
fn stays_in_range<M: Machine>(method: MethodNumber, mut random: Random) -> Result<(), String> {
    let range = range(&mut random);
    let mut machine = M::new(method, range, random.any());
    let mut tickets = Vec::new();
    let mut now = 0_u64;
    for step in 0..STEPS {
        now = match random.below(40) {
            0 => random.any(),
            1 => now / 2,
            2 => now.saturating_add(random.magnitude(u64::MAX)),
            _ => now.saturating_add(random.below(30_000)),
        };
        match random.below(8) {
            0 => machine.refuse(now),
            1..=4 => {
                tickets.push(machine.start(now, u32::try_from(random.magnitude(u32::MAX.into())).unwrap()))
            }
            _ if tickets.is_empty() => {}
            _ => {
                // Some are reported twice, some never.
                let index = usize::try_from(random.below(tickets.len() as u64)).unwrap();
                let ticket = if random.one_in(8) { tickets[index] } else { tickets.swap_remove(index) };
                let outcomes = [Outcome::Success, Outcome::Success, Outcome::Dropped, Outcome::Ignored];
                machine.end(now, ticket, random.pick(&outcomes));
            }
        }
        let limit = machine.limit();
        if !(range.0..=range.2).contains(&limit) {
            return Err(format!("{limit} is not within {range:?} at step {step}"));
        }
    }
    Ok(())
}

/// With few requests in flight and none refused, no latency makes the limit grow.
fn grows_only_when_reached<M: Machine>(method: MethodNumber, random: Random) -> Result<(), String> {
    let mut real = Loop::<M>::new(method, random);
    let mut highest = real.machine.limit();
    for step in 0..STEPS {
        // Below seven eighths. Below 2 every start reaches the limit.
        real.step(|limit| if limit == u32::MAX { 0 } else { limit * 7 / 8 - u32::from(limit % 8 == 0) });
        let limit = real.machine.limit();
        if limit > highest && real.machine.probes() == 0 {
            return Err(format!("the limit grew from {highest} to {limit} at step {step}"));
        }
        highest = highest.max(limit);
    }
    Ok(())
}

/// With more than half of the limit in flight, the baseline rises only with a probe.
fn baseline_sources<M: Machine>(method: MethodNumber, mut random: Random) -> Result<(), String> {
    let mut machine = M::new(method, (8, 16, 500), random.any());
    let (mut now, mut before) = (0_u64, (None, 0));
    for step in 0..STEPS {
        let limit = machine.limit();
        let ticket = machine.start(now, limit);
        now += random.within(1_000, 60_000);
        let outcome = if random.one_in(4) { Outcome::Dropped } else { Outcome::Success };
        machine.end(now, ticket, outcome);
        let after = (machine.baseline(), machine.probes());
        if let (Some(known), Some(new)) = (before.0, after.0)
            && new > known
            && after.1 == before.1
        {
            return Err(format!("the baseline rose from {known} to {new} without a probe at step {step}"));
        }
        before = after;
    }
    Ok(())
}

/// Requests that end as ignored, between the others, leave the limit and the baseline as they would be without them.
fn ignored_changes_nothing<M: Machine>(method: MethodNumber, random: Random) -> Result<(), String> {
    let mut copy = random.clone();
    let mut plain = Loop::<M>::new(method, random.clone());
    let mut other = Loop::<M>::new(method, random);
    for step in 0..STEPS {
        plain.step(|limit| limit);
        let (done, _) = other.step(|limit| limit);
        // After an end, the machine has already seen what this instant brings.
        if matches!(done, Step::End { .. }) && copy.one_in(3) {
            let ticket = other.machine.start(other.now, 0);
            other.machine.end(other.now, ticket, Outcome::Ignored);
        }
        let limits = (plain.machine.limit(), other.machine.limit());
        if limits.0 != limits.1 || plain.machine.baseline() != other.machine.baseline() {
            return Err(format!(
                "the limit is {}, and {} with ignored requests, at step {step}",
                limits.0, limits.1
            ));
        }
    }
    Ok(())
}
