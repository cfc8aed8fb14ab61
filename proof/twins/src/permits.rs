//! Shared permits and shared queues: the scripts against the core, in replies and in what is kept.

mod mutants;

use redis::cmd;
use tollgate_algorithms::permits::{LEVEL_MAX, Ledger, Request};
use tollgate_algorithms::slots::{Slot, Slots};
use tollgate_algorithms::{Micros, Quota};
use tollgate_redis::{
    Exchange, ExchangeReply, KeyName, Naming, SlotAsk, SlotReply, StateKind, ledger_value, slots_value,
};
use tollgate_testing::random::Random;

use crate::compare::Stopped;
use crate::mutants::Mutant;
use crate::server::Server;
use crate::wire::{Answered, Wire};
pub use mutants::MUTANTS;

/// How many keys and processes there are.
const KEYS: usize = 3;
const PROCESSES: u64 = 6;
/// Where the time begins.
const BEGIN: Micros = Micros::from_secs(1_763_208_000);
/// The time to live that a test's clock adds, in milliseconds.
const SLACK: u64 = 3_600_000;

/// What was compared.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Requests about permits.
    pub requests: u64,
    /// Requests that got fewer permits than they wanted.
    pub short: u64,
    /// Requests whose permits had ended.
    pub gone: u64,
    /// Requests that came too late.
    pub stale: u64,
    /// Requests while data may have been lost.
    pub recovering: u64,
    /// Requests for which there was no room.
    pub full: u64,
    /// Slots that were reserved, and given back.
    pub slots: u64,
    /// Reservations that were refused.
    pub refused: u64,
    /// Slots that were given back.
    pub given_back: u64,
}

/// Plays random requests on a server and in the core.
///
/// # Errors
/// When something differs, or the server fails.
pub fn run(server: &Server, (seed, steps): (u64, u64), mutant: Option<Mutant>) -> Result<Tally, Stopped> {
    let mut wire = Wire::open(server, mutant).map_err(Stopped::Failure)?;
    wire.ask(&cmd("FLUSHALL")).map_err(Stopped::Failure)?;
    let mut tally = Tally::default();
    let mut scene = 0;
    while tally.requests + tally.slots + tally.refused < steps {
        scene += 1;
        let random = Random::case(seed, scene);
        let played = if scene % 3 == 0 {
            Queue::new(scene, random).play(&mut wire, &mut tally)
        } else {
            Processes::new(scene, random).play(&mut wire, &mut tally)
        };
        if let Some(failure) = &wire.failure {
            return Err(Stopped::Failure(failure.clone()));
        }
        played.map_err(|why| Stopped::Difference(format!("seed {seed}, scene {scene}: {why}")))?;
    }
    if mutant.is_some() && !wire.is_broken {
        return Err(Stopped::Failure("the broken place stands in no script".into()));
    }
    Ok(tally)
}

/// Processes that share the permits of some keys.
struct Processes {
    random: Random,
    now: Micros,
    marker: (KeyName, Option<Micros>),
    keys: Vec<(KeyName, Ledger)>,
    seq: u64,
    processes: u64,
    limit: u32,
}

impl Processes {
    fn new(scene: u64, mut random: Random) -> Self {
        let naming = Naming::without_secret().in_namespace(&format!("scene {scene}"));
        let name = |key: usize| naming.name("permits", &key.to_be_bytes()).of(StateKind::Permits);
        let keys = (0..KEYS).map(|key| (name(key), Ledger::default())).collect();
        // Sometimes more than a ledger has room for.
        let processes = if random.one_in(25) { 300 } else { PROCESSES };
        let now = Micros::new(BEGIN.get() + random.below(1 << 40));
        let marker = (naming.name("marker", b"").of(StateKind::Marker), None);
        let limit = random.pick(&[10, 10, 4, 5, 3, 20]);
        let limit = if processes > PROCESSES { LEVEL_MAX } else { limit };
        Self { random, now, marker, keys, seq: 10, processes, limit }
    }

    fn play(mut self, wire: &mut Wire, tally: &mut Tally) -> Result<(), String> {
        let steps = if self.is_crowded() { 1_200 } else { 60 };
        for step in 0..steps {
            self.step(wire, tally)?;
            if self.is_crowded() && step == 0 {
                // Until data cannot have been lost just now.
                self.now = self.now.saturating_add(Micros::from_secs(3));
            }
        }
        Ok(())
    }

    fn is_crowded(&self) -> bool {
        self.processes > PROCESSES
    }

    fn step(&mut self, wire: &mut Wire, tally: &mut Tally) -> Result<(), String> {
        self.pass_time();
        if !self.is_crowded() && self.random.one_in(60) {
            self.lose_data(wire)?;
        }
        let exchange = self.exchange();
        let expected = self.expected(&exchange);
        wire.call(&exchange.call_at(self.now))?;
        for (name, _) in &self.keys {
            wire.add(cmd("GET").arg(name.as_bytes()));
            wire.add(cmd("PTTL").arg(name.as_bytes()));
        }
        let mut answers = wire.answers()?.into_iter();
        let said = answers.next().ok_or("no answer")??;
        let said = exchange.read(&said).map_err(|error| error.to_string())?;
        if said != expected {
            return Err(format!(
                "{exchange:?} at {}: the server says {said:?}, the core {expected:?}",
                self.now
            ));
        }
        for (name, ledger) in &self.keys {
            let kept = answers.next().ok_or("no value")?;
            same_value(*name, kept, ledger_value(ledger))?;
            let until = ledger.records.iter().map(|record| record.until).max();
            let lasts = until.map(|until| until.saturating_sub(self.now));
            // A key that this call was not about has been there for longer.
            let asked = exchange.asks.iter().zip(&said.answers).find(|(ask, _)| ask.0 == *name);
            let is_written = asked
                .is_some_and(|(_, answer)| answer.result == tollgate_algorithms::permits::Result::Recorded);
            same_life(answers.next().ok_or("no time to live")?, lasts.filter(|_| is_written))?;
        }
        count(tally, &exchange, &said);
        Ok(())
    }

    fn pass_time(&mut self) {
        let step = match self.random.below(20) {
            _ if self.is_crowded() => self.random.below(1_500),
            0 => 2_000_000 + self.random.below(3) - 1,
            1 => self.random.below(10_000_000),
            2 => {
                self.now = self.now.saturating_sub(Micros::new(self.random.magnitude(1 << 34)));
                0
            }
            _ => self.random.below(200_000),
        };
        self.now = self.now.saturating_add(Micros::new(step)).min(Micros::INSTANT_MAX);
    }

    fn lose_data(&mut self, wire: &mut Wire) -> Result<(), String> {
        let mut command = cmd("DEL");
        command.arg(self.marker.0.as_bytes());
        self.marker.1 = None;
        for (name, ledger) in &mut self.keys {
            command.arg(name.as_bytes());
            *ledger = Ledger::default();
        }
        wire.ask(&command).map(drop)
    }

    fn exchange(&mut self) -> Exchange {
        let random = &mut self.random;
        let (id, lease) = (u128::from(random.below(self.processes)) << 64 | 7, Micros::from_secs(2));
        let mut asks = Vec::new();
        for (name, ledger) in &self.keys {
            if !asks.is_empty() && random.one_in(2) {
                continue;
            }
            self.seq += 1;
            let own = ledger.records.iter().find(|record| record.id == id);
            let has = own.map_or(0, |record| record.level);
            let keep = match random.below(10) {
                0 => random.pick(&[1, 2, 5]),
                1..=4 => has,
                _ => u32::try_from(random.below(u64::from(has) + 1)).unwrap_or(0),
            };
            let want = random.pick(&[0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 7]);
            let want = if random.one_in(40) { LEVEL_MAX } else { want };
            let limit = if random.one_in(20) { random.pick(&[10, 4, 1, 0, LEVEL_MAX]) } else { self.limit };
            let seq = if random.one_in(5) { self.seq - random.below(9) } else { self.seq };
            asks.push((*name, Request { id, seq, keep, want, limit, lease }));
        }
        Exchange { marker: self.marker.0, id, lease, asks }
    }

    fn expected(&mut self, exchange: &Exchange) -> ExchangeReply {
        let now = self.now;
        let since = self.marker.1;
        let is_recent = |since: Micros| since <= now && now.saturating_sub(since) < exchange.lease;
        let is_recovering = since.is_none_or(is_recent);
        self.marker.1 = since.or(Some(now));
        let asked = |(name, request): &(KeyName, Request)| {
            let (_, ledger) =
                self.keys.iter_mut().find(|(other, _)| other == name).expect("it is one of them");
            ledger.exchange(request, now, is_recovering)
        };
        ExchangeReply { now, is_recovering, answers: exchange.asks.iter().map(asked).collect() }
    }
}

fn count(tally: &mut Tally, exchange: &Exchange, reply: &ExchangeReply) {
    use tollgate_algorithms::permits::Result as Outcome;
    for ((_, request), answer) in exchange.asks.iter().zip(&reply.answers) {
        tally.requests += 1;
        tally.recovering += u64::from(reply.is_recovering);
        match answer.result {
            Outcome::Recorded => {
                let wanted = u64::from(request.keep) + u64::from(request.want);
                tally.short += u64::from(u64::from(answer.level) < wanted);
            }
            Outcome::Gone => tally.gone += 1,
            Outcome::Stale => tally.stale += 1,
            Outcome::Full => tally.full += 1,
        }
    }
}

/// One queue.
struct Queue {
    random: Random,
    now: Micros,
    name: KeyName,
    slots: Slots,
    quota: Quota,
    taken: Vec<Slot>,
}

impl Queue {
    fn new(scene: u64, mut random: Random) -> Self {
        let name = Naming::without_secret().name("queue", &scene.to_be_bytes()).of(StateKind::Queue);
        let now = Micros::new(BEGIN.get() + random.below(1 << 40));
        let quota = quota(&mut random);
        Self { random, now, name, slots: Slots::default(), quota, taken: Vec::new() }
    }

    fn play(mut self, wire: &mut Wire, tally: &mut Tally) -> Result<(), String> {
        for _ in 0..60 {
            self.step(wire, tally)?;
        }
        Ok(())
    }

    fn step(&mut self, wire: &mut Wire, tally: &mut Tally) -> Result<(), String> {
        let interval = self.quota.period() / self.quota.count();
        let step = match self.random.below(12) {
            0 => self.random.magnitude(1 << 40),
            1 => {
                self.now = self.now.saturating_sub(Micros::new(self.random.magnitude(1 << 36)));
                0
            }
            _ => self.random.below(interval.saturating_mul(2).max(2)),
        };
        self.now = self.now.saturating_add(Micros::new(step)).min(Micros::INSTANT_MAX);
        if self.random.one_in(20) {
            self.quota = quota(&mut self.random);
        }
        let given = self.taken.pop().filter(|_| self.random.one_in(4));
        let ask = match given {
            Some(slot) => SlotAsk::GiveBack(slot),
            None => {
                let most = Micros::new(self.random.magnitude(interval.saturating_mul(8).max(2)));
                SlotAsk::Reserve(self.random.one_in(2).then_some(most))
            }
        };
        let expected = match ask {
            SlotAsk::GiveBack(slot) => SlotReply::GivenBack(self.give_back(slot)),
            SlotAsk::Reserve(most) => {
                SlotReply::Reserved(self.now, self.slots.reserve(&self.quota, self.now, most))
            }
        };
        wire.call(&ask.call_at(self.name, &self.quota, self.now))?;
        wire.add(cmd("GET").arg(self.name.as_bytes()));
        let mut answers = wire.answers()?.into_iter();
        let said = answers.next().ok_or("no answer")??;
        let said = ask.read(self.name, &self.quota, &said).map_err(|error| error.to_string())?;
        if said != expected {
            let (now, quota) = (self.now, self.quota);
            return Err(format!(
                "{ask:?} at {now} under {quota}: the server says {said:?}, the core {expected:?}"
            ));
        }
        let kept = (self.slots != Slots::default()).then(|| slots_value(&self.slots));
        same_value(self.name, answers.next().ok_or("no value")?, kept)?;
        use tollgate_algorithms::slots::Reserved;
        match said {
            SlotReply::Reserved(_, Reserved::Slot(slot)) => {
                self.taken.push(slot);
                tally.slots += 1;
            }
            SlotReply::Reserved(..) => tally.refused += 1,
            SlotReply::GivenBack(is_last) => tally.given_back += u64::from(is_last),
        }
        Ok(())
    }

    /// A schedule that is over is none.
    fn give_back(&mut self, slot: Slot) -> bool {
        let is_last = self.slots.give_back(&self.quota, slot);
        if is_last && slot.at.saturating_add(Micros::new(1)) <= self.now {
            self.slots = Slots::default();
        }
        is_last
    }
}

fn quota(random: &mut Random) -> Quota {
    let burst = random.pick(&[0, 1, 2, 5, 100]);
    let (count, period) = random.pick(&[
        (1, Micros::from_millis(10)),
        (3, Micros::SECOND),
        (7, Micros::new(1_000_003)),
        (1, Micros::HOUR),
        (100_000, Micros::SECOND),
        (3_000_000, Micros::SECOND),
        ((1 << 40) + 1, Micros::SECOND),
    ]);
    Quota::new(burst, count, period).expect("it fits")
}

fn same_value(name: KeyName, kept: Answered, expected: Option<Vec<u8>>) -> Result<(), String> {
    let kept: Option<Vec<u8>> = kept?.as_bytes().map(Into::into);
    if kept == expected {
        return Ok(());
    }
    Err(format!("`{name}` holds {kept:?}, and the core says {expected:?}"))
}

/// A key that was just written lives for as long as its last record, and a moment of the test's.
fn same_life(left: Answered, lasts: Option<Micros>) -> Result<(), String> {
    let (Some(lasts), Some(left)) = (lasts, left?.as_int()) else { return Ok(()) };
    let expected = lasts.get() / 1_000 + SLACK;
    let left = u64::try_from(left).map_err(|_| "a key lives for ever".to_owned())?;
    if left <= expected + 1 && left + 60_000 > expected {
        return Ok(());
    }
    Err(format!("a key lives for {left} ms instead of {expected}"))
}
