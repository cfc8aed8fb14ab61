//! Random questions about a few keys, with what the core says to each. It sends nothing.

mod style;

use tollgate_algorithms::{Decision, Limit, Micros, Mode, Retry};
use tollgate_proof::engine::{Answer, Core, Engine, Wait};
use tollgate_proof::random::Random;
use tollgate_proof::spec::Spec;
use tollgate_proof::trace::{Clock, cost};
use tollgate_redis::{KeyName, Name, Naming, Reply};

use style::Style;

use crate::asked::{Asked, Owned};
use crate::world::{self, World};

/// One question, and what the core says.
#[derive(Clone, Debug)]
pub struct Step {
    /// When it is asked.
    pub now: Micros,
    /// What is asked.
    pub asked: Asked,
    /// What the core answers.
    pub reply: Reply,
    /// Where each key that was asked about stands afterwards.
    pub keys: Vec<(KeyName, Option<world::Key>)>,
}

/// A key of a scene.
#[derive(Clone, Copy, Debug)]
struct Key {
    name: Name,
    spec: Spec,
    limit: Limit,
}

/// A scene in the making.
struct Scene<'r> {
    random: &'r mut Random,
    style: Style,
    keys: Vec<Key>,
    world: World,
    /// What was charged: the key, when, how much, under which limit.
    charges: Vec<(usize, Micros, u64, Limit)>,
    last: Option<Answer>,
}

/// A random scene. Its names are its own.
#[must_use]
pub fn scene(number: u64, random: &mut Random) -> Vec<Step> {
    let style = Style::random(random);
    let is_long = style == Style::Long;
    let naming = Naming::new([7; 16]);
    let count = if is_long { 1 } else { random.within(1, 4) };
    let key = |key: u64, random: &mut Random| {
        let spec = style.spec(random);
        let limit = limit(&spec, random);
        Key { name: naming.name(&key.to_string(), &number.to_be_bytes()), spec, limit }
    };
    let keys: Vec<_> = (0..count).map(|place| key(place, random)).collect();
    let mut clock = Clock::start(&keys[0].spec, random);
    let changes = random.one_in(2);
    // Some clocks only tick, so that much happens in one window.
    let ticks = if is_long { 2 } else { random.pick(&[0, 0, keys[0].spec.window / 8 + 1]) };
    let length = if is_long { random.within(400, 1_000) } else { random.within(4, 40) };
    let world = World::new(keys.len());
    let mut scene = Scene { random, style, keys, world, charges: Vec::new(), last: None };
    let mut steps = Vec::new();
    let mut now = clock.now();
    for _ in 0..length {
        if changes && scene.random.one_in(if is_long { 150 } else { 6 }) {
            scene.change();
        }
        let key = scene.any_key();
        now = if ticks > 0 && !scene.random.one_in(if is_long { 400 } else { 100 }) {
            now.saturating_add(scene.random.within(0, ticks))
        } else {
            clock.step(&scene.keys[key].spec, scene.last.as_ref(), scene.random)
        };
        let asked = scene.ask();
        steps.push(scene.step(asked, Micros::new(now)));
    }
    if scene.random.one_in(CROWDS) {
        scene.crowd(&mut steps, Micros::new(now));
    }
    steps
}

/// One scene in so many ends with a crowd: charges at one instant, at times more than go together.
const CROWDS: u64 = 4;
const CROWD_MAX: u64 = 20;

fn limit(spec: &Spec, random: &mut Random) -> Limit {
    if random.one_in(24) {
        return Limit::Unlimited;
    }
    Core::limit(spec).unwrap_or(Limit::Unlimited)
}

impl Scene<'_> {
    fn any_key(&mut self) -> usize {
        usize::try_from(self.random.below(self.keys.len() as u64)).unwrap_or(0)
    }

    /// Changes a limit's numbers, or all of it.
    fn change(&mut self) {
        let key = self.any_key();
        let spec = self.keys[key].spec;
        let spec = self.style.changed(&spec, self.random);
        let limit = limit(&spec, self.random);
        self.keys[key] = Key { spec, limit, ..self.keys[key] };
    }

    fn hit(&mut self, key: usize) -> Owned {
        let Key { name, spec, limit } = self.keys[key];
        let is_small = self.style == Style::Long && !self.random.one_in(100);
        let cost = match self.style {
            Style::Wide(_) if self.random.one_in(2) => (spec.limit / self.random.within(1, 4)).max(1),
            _ if is_small => 1,
            Style::Any | Style::Same(_) | Style::Wide(_) | Style::Long => {
                cost(&spec, self.last.as_ref(), self.random)
            }
        };
        let mode = if self.random.one_in(4) { Mode::Shadow } else { Mode::Enforced };
        Owned { key, name, limit, cost, mode }
    }

    fn hits(&mut self) -> Vec<Owned> {
        let count = self.random.within(1, 5);
        (0..count)
            .map(|_| {
                let key = self.any_key();
                self.hit(key)
            })
            .collect()
    }

    fn ask(&mut self) -> Asked {
        let key = self.any_key();
        // A long list is not reset, and seldom written anew by a refund.
        let is_long = self.style == Style::Long;
        match self.random.below(20) {
            3..=6 if is_long && !self.random.one_in(50) => Asked::Charge(vec![self.hit(key)]),
            0 => Asked::Peek(self.hits()),
            1 => Asked::UpTo(self.hit(key)),
            2 => Asked::Settle(self.hit(key)),
            3..=5 if !self.charges.is_empty() => self.refund(),
            6 if self.random.one_in(4) => Asked::Reset(key, self.keys[key].name),
            7..=11 => Asked::Charge(self.hits()),
            _ => Asked::Charge(vec![self.hit(key)]),
        }
    }

    fn refund(&mut self) -> Asked {
        let chosen = usize::try_from(self.random.below(self.charges.len() as u64)).unwrap_or(0);
        let (key, at, cost, charged_under) = self.charges.swap_remove(chosen);
        let Key { name, limit, .. } = self.keys[key];
        // At times by a process that still has the numbers of the charge.
        let limit = if self.random.one_in(4) { charged_under } else { limit };
        let hit = Owned { key, name, limit, cost: 0, mode: Mode::Enforced };
        let part = match self.random.below(6) {
            0 => self.random.below(cost.saturating_add(1)),
            1 => self.random.pick(&[0, 1, u64::MAX]),
            _ => cost,
        };
        // At times a receipt that nobody gave: for more, or of another instant.
        let cost = if self.random.one_in(16) { self.random.pick(&[0, 1, u64::MAX]) } else { cost };
        let at = if self.random.one_in(16) { Micros::new(self.random.any()) } else { at };
        Asked::Refund(hit, (at, cost.min(limit.capacity().saturating_mul(2)), charged_under), part)
    }

    /// Single charges at one instant: what a connection sends as one call, if they are of one kind.
    fn crowd(&mut self, steps: &mut Vec<Step>, now: Micros) {
        for _ in 0..self.random.within(2, CROWD_MAX) {
            let key = self.any_key();
            let asked = Asked::Charge(vec![self.hit(key)]);
            steps.push(self.step(asked, now));
        }
    }

    fn step(&mut self, asked: Asked, now: Micros) -> Step {
        let reply = self.world.answer(&asked, now);
        self.note(&asked, &reply, now);
        let stands = |(key, kind, name)| (name, self.world.key(key, kind).cloned());
        let keys = asked.keys().into_iter().map(stands).collect();
        Step { now, asked, reply, keys }
    }

    /// Remembers what can be refunded, and what the next instant and cost are chosen by.
    fn note(&mut self, asked: &Asked, reply: &Reply, now: Micros) {
        let Reply::Decided { decisions, .. } = reply else { return };
        let hits = match asked {
            Asked::Charge(hits) => hits.as_slice(),
            Asked::UpTo(hit) | Asked::Settle(hit) => std::slice::from_ref(hit),
            Asked::Peek(_) | Asked::Refund(..) | Asked::Reset(..) => &[],
        };
        for (hit, decision) in hits.iter().zip(decisions) {
            if decision.charged > 0 && hit.limit != Limit::Unlimited {
                self.charges.push((hit.key, decision.at, decision.charged, hit.limit));
            }
        }
        self.last = decisions.first().map(|decision| answer(decision, now));
    }
}

fn answer(decision: &Decision, now: Micros) -> Answer {
    Answer {
        granted: decision.is_granted(),
        charged: decision.charged,
        limit: decision.limit,
        remaining: decision.remaining,
        retry: match decision.retry() {
            None => Wait::None,
            Some(Retry::After(wait)) => Wait::After(wait.get()),
            Some(Retry::Never) => Wait::Never,
        },
        reset: decision.reset_after.get(),
        at: decision.at.max(now).get(),
    }
}
