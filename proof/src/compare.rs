//! The engine against the model, act by act, on random traces. Every promise of every answer is checked.

use crate::engine::{Act, Answer, Engine, Wait};
use crate::model::{self, Look, Model};
use crate::random::Random;
use crate::spec::Spec;
use crate::trace::Clock;
use tollgate_algorithms::Algorithm;

/// What the compared decisions were like: a comparison that never met a refusal would prove little.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Decisions compared.
    pub decisions: u64,
    /// Granted, and charged for.
    pub charged: u64,
    /// Refused for a while.
    pub refused: u64,
    /// Refused for ever.
    pub never: u64,
    /// Refunds.
    pub refunds: u64,
    /// Costs settled after the fact.
    pub settled: u64,
    /// Decisions at an earlier instant than the one before.
    pub clock_back: u64,
    /// Changes of the numbers.
    pub changed: u64,
}

impl Tally {
    /// Adds another run's.
    pub const fn add(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.charged += other.charged;
        self.refused += other.refused;
        self.never += other.never;
        self.refunds += other.refunds;
        self.settled += other.settled;
        self.clock_back += other.clock_back;
        self.changed += other.changed;
    }

    fn count(&mut self, act: Act, answer: &Answer) {
        self.decisions += 1;
        self.charged += u64::from(answer.charged > 0);
        self.refused += u64::from(matches!(answer.retry, Wait::After(_)));
        self.never += u64::from(answer.retry == Wait::Never);
        self.refunds += u64::from(matches!(act, Act::Refund(..)));
        self.settled += u64::from(matches!(act, Act::Settle(_)));
    }
}

/// Runs traces until at least `decisions` decisions were compared.
///
/// # Errors
/// With the seed and the whole trace of the first difference.
pub fn run<E: Engine>(algorithm: Algorithm, seed: u64, decisions: u64) -> Result<Tally, String> {
    let (mut tally, mut case) = (Tally::default(), 0);
    let mut model = model::of(algorithm);
    while tally.decisions < decisions {
        if let Err(why) = trace::<E>(algorithm, &mut *model, Random::case(seed, case), &mut tally, &mut None)
        {
            let trace = replay::<E>(algorithm, seed, case);
            return Err(format!("{algorithm}, seed {seed}, case {case}: {why}\n{trace}"));
        }
        case += 1;
    }
    Ok(tally)
}

/// One case again, with every act, answer and state written down.
#[must_use]
pub fn replay<E: Engine>(algorithm: Algorithm, seed: u64, case: u64) -> String {
    let (mut model, mut notes) = (model::of(algorithm), Some(Vec::new()));
    let outcome =
        trace::<E>(algorithm, &mut *model, Random::case(seed, case), &mut Tally::default(), &mut notes);
    let mut notes = notes.unwrap_or_default();
    notes.push(outcome.map_or_else(|why| why, |()| "every promise was kept".into()));
    notes.join("\n")
}

fn trace<E: Engine>(
    algorithm: Algorithm,
    model: &mut dyn Model,
    mut random: Random,
    tally: &mut Tally,
    notes: &mut Option<Vec<String>>,
) -> Result<(), String> {
    let random = &mut random;
    let mut spec = Spec::random(algorithm, random);
    let mut limit = E::limit(&spec).ok_or("the limit was refused")?;
    let mut clock = if E::IS_A_STORE { Clock::monotone(&spec, random) } else { Clock::start(&spec, random) };
    let (mut key, mut last) = (None, None);
    let mut charges: Vec<(u64, u64, Spec)> = Vec::new();
    model.clear();
    let changes = random.one_in(4) && !E::IS_A_STORE;
    let steps = if random.one_in(64) { random.within(41, 200) } else { random.within(4, 40) };
    for _ in 0..steps {
        if changes && random.one_in(8) {
            // Two processes may have two sets of numbers for a while, and charge in turn.
            let earlier = charges.first().map(|charge| charge.2).filter(|_| random.one_in(3));
            spec = earlier.unwrap_or_else(|| spec.changed(random));
            limit = E::limit(&spec).ok_or("the changed limit was refused")?;
            tally.changed += 1;
            // Numbers that were changed and changed back cannot be told apart, but by a debt's period: see `Receipt`.
            charges.retain(|charge| charge.2 != spec || spec.is_debt());
        }
        let before = clock.now();
        let now = clock.step(&spec, last.as_ref(), random);
        tally.clock_back += u64::from(now < before);
        let act = if !charges.is_empty() && random.one_in(8) {
            let chosen = random.below(charges.len() as u64);
            let (at, cost, charged_under) = charges.swap_remove(usize::try_from(chosen).unwrap_or(0));
            Act::Refund(at, cost, charged_under)
        } else {
            crate::trace::act(&spec, last.as_ref(), random)
        };
        let answer = E::act(&limit, &mut key, now, act);
        tally.count(act, &answer);
        if let Some(notes) = notes {
            notes.push(format!("{spec:?}\n  at {now}: {act:?}\n  {answer:?}\n  {key:?}"));
        }
        Step { spec: &spec, now, act, answer: &answer }.verify(model)?;
        if answer.charged > 0 {
            charges.push((answer.at, answer.charged, spec));
        }
        last = Some(answer);
    }
    Ok(())
}

/// A wait that is longer than anybody can try out.
const BEYOND_TIME: u64 = 1 << 62;

/// One act and its answer.
struct Step<'a> {
    spec: &'a Spec,
    now: u64,
    act: Act,
    answer: &'a Answer,
}

impl Step<'_> {
    /// Checks the answer against the model, and tells the model what was done.
    fn verify(&self, model: &mut dyn Model) -> Result<(), String> {
        let Self { spec, now, act, answer } = *self;
        let look = model.look(spec, now);
        let capacity = spec.limit;
        ensure(answer.at == look.at, "the instant", look.at)?;
        ensure(answer.limit == capacity, "the limit", capacity)?;
        let cost = match act {
            Act::Charge(cost) | Act::Peek(cost) | Act::Settle(cost) => cost,
            Act::UpTo(most) => most.min(1),
            Act::Refund(..) => 0,
        };
        let fits = cost == 0 || matches!(act, Act::Settle(_)) || model.fits(spec, look, capacity, cost);
        ensure(answer.granted == fits, "granted", fits)?;
        self.retry(model, look, cost)?;
        match act {
            Act::Charge(cost) => ensure(answer.charged == if fits { cost } else { 0 }, "charged", fits)?,
            Act::Peek(_) | Act::Refund(..) => ensure(answer.charged == 0, "charged", 0)?,
            Act::UpTo(most) => self.most_that_fits(model, look, capacity, most)?,
            Act::Settle(cost) => self.most_that_fits(model, look, capacity * 2, cost)?,
        }
        if answer.charged > 0 {
            model.charge(spec, look, answer.charged);
        }
        // A receipt is void under other numbers than those of its charge.
        if let Act::Refund(at, cost, charged_under) = act
            && charged_under == *spec
        {
            model.refund(spec, look, at, cost);
        }
        self.remaining_and_reset(model, look)
    }

    fn retry(&self, model: &dyn Model, look: Look, cost: u64) -> Result<(), String> {
        let Self { spec, now, answer, .. } = *self;
        match answer.retry {
            Wait::None => ensure(answer.granted, "no retry only if granted", true),
            Wait::Never => ensure(!answer.granted && cost > spec.limit, "never only if over the limit", cost),
            Wait::After(wait) => {
                ensure(!answer.granted && wait > 0 && cost <= spec.limit, "a retry only if refused", wait)?;
                if wait > BEYOND_TIME {
                    return Ok(());
                }
                let then = look.later(now + wait);
                ensure(model.fits(spec, then, spec.limit, cost), "granted at retry", wait)?;
                let before = look.later(now + wait - 1);
                ensure(!model.fits(spec, before, spec.limit, cost), "refused a tick earlier", wait)
            }
        }
    }

    /// What was charged is the most of what was asked that fits under the capacity.
    fn most_that_fits(&self, model: &dyn Model, look: Look, capacity: u64, asked: u64) -> Result<(), String> {
        let charged = self.answer.charged;
        let fits = |cost| model.fits(self.spec, look, capacity, cost);
        ensure(charged <= asked, "charged no more than asked", asked)?;
        ensure(charged == 0 || fits(charged), "what was charged fits", charged)?;
        ensure(charged == asked || !fits(charged + 1), "no more would fit", charged)
    }

    fn remaining_and_reset(&self, model: &dyn Model, look: Look) -> Result<(), String> {
        let Self { spec, now, answer, .. } = *self;
        let (capacity, remaining, reset) = (spec.limit, answer.remaining, answer.reset);
        let look = if answer.charged > 0 { Look { counts: true, ..look } } else { look };
        let fits = |look, cost| model.fits(spec, look, capacity, cost);
        ensure(remaining <= capacity, "remaining is at most the limit", capacity)?;
        ensure(remaining == 0 || fits(look, remaining), "remaining fits", remaining)?;
        let one_more = remaining < capacity && fits(look, remaining + 1);
        ensure(!one_more, "no more than remaining fits", remaining)?;
        if capacity == 0 || reset > BEYOND_TIME {
            return Ok(());
        }
        ensure(fits(look.later(now + reset), capacity), "as good as none at reset", reset)?;
        let early = reset > 0 && fits(look.later(now + reset - 1), capacity);
        ensure(!early, "not as good as none a tick before reset", reset)
    }
}

fn ensure<T: std::fmt::Debug>(holds: bool, promise: &str, number: T) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("broken: {promise} (model: {number:?})")) }
}
