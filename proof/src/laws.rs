//! The laws as properties over any engine: one file each, one random case a call. Their wording is in
//! `tollgate-algorithms`'s documentation.

mod all_or_none;
mod bound;
mod change;
mod completeness;
mod forgetting;
mod free_refusal;
mod refund;
mod remaining;
mod retry;
mod splitting;
mod time;

use crate::engine::{Act, Answer, Engine};
use crate::random::Random;
use crate::spec::Spec;
use crate::trace::{self, Clock};
use tollgate_algorithms::Algorithm;

/// A law that can be checked on any algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Law {
    /// Law 1: no interval admits more than the stated bound.
    Bound,
    /// Law 2: refused only if it does not fit.
    Completeness,
    /// Law 3: granted at `retry_after`, refused one tick earlier.
    HonestRetry,
    /// Law 4: exactly `remaining` more are granted.
    HonestRemaining,
    /// Law 5: a refusal and a peek change nothing.
    FreeRefusal,
    /// Law 6: after `reset_after` the state is as good as none.
    Forgetting,
    /// Law 7: time does not run back.
    Time,
    /// Law 8: n hits of 1 leave what one hit of n leaves.
    Splitting,
    /// Law 10: raising never punishes, lowering mints nothing.
    Change,
    /// Law 11: a refund never mints.
    Refund,
    /// Several hits on keys under one algorithm: all are charged, or none.
    AllOrNone,
    /// The same on keys under several algorithms.
    AllOrNoneMixed,
}

impl Law {
    /// Every law.
    pub const ALL: [Self; 12] = [
        Self::Bound,
        Self::Completeness,
        Self::HonestRetry,
        Self::HonestRemaining,
        Self::FreeRefusal,
        Self::Forgetting,
        Self::Time,
        Self::Splitting,
        Self::Change,
        Self::Refund,
        Self::AllOrNone,
        Self::AllOrNoneMixed,
    ];

    /// Its number and name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bound => "1 bound",
            Self::Completeness => "2 completeness",
            Self::HonestRetry => "3 honest retry",
            Self::HonestRemaining => "4 honest remaining",
            Self::FreeRefusal => "5 refusal is free",
            Self::Forgetting => "6 forgetting",
            Self::Time => "7 time does not run back",
            Self::Splitting => "8 splitting",
            Self::Change => "10 raise never punishes",
            Self::Refund => "11 refund never mints",
            Self::AllOrNone => "batch: all or none",
            Self::AllOrNoneMixed => "batch: all or none, mixed",
        }
    }

    /// Checks it on random cases; returns how many.
    ///
    /// # Errors
    /// With the seed, the case and what was broken.
    pub fn check<E: Engine>(self, algorithm: Algorithm, seed: u64, cases: u64) -> Result<u64, String> {
        for case in 0..cases {
            self.case::<E>(algorithm, seed, case).map_err(|why| {
                format!("law {} on {algorithm}, seed {seed}, case {case}: {why}", self.name())
            })?;
        }
        Ok(cases)
    }

    /// Checks it on one random case.
    ///
    /// # Errors
    /// With what was broken.
    pub fn case<E: Engine>(self, algorithm: Algorithm, seed: u64, case: u64) -> Result<(), String> {
        let random = &mut Random::case(seed, case);
        match self {
            Self::Bound => bound::check::<E>(algorithm, random),
            Self::Completeness => completeness::check::<E>(algorithm, random),
            Self::HonestRetry => retry::check::<E>(algorithm, random),
            Self::HonestRemaining => remaining::check::<E>(algorithm, random),
            Self::FreeRefusal => free_refusal::check::<E>(algorithm, random),
            Self::Forgetting => forgetting::check::<E>(algorithm, random),
            Self::Time => time::check::<E>(algorithm, random),
            Self::Splitting => splitting::check::<E>(algorithm, random),
            Self::Change => change::check::<E>(algorithm, random),
            Self::Refund => refund::check::<E>(algorithm, random),
            Self::AllOrNone => all_or_none::alike::<E>(algorithm, random),
            Self::AllOrNoneMixed => all_or_none::mixed::<E>(algorithm, random),
        }
    }
}

/// A key somewhere in its life: after a random trace on a clock that does not run back.
struct Lived<E: Engine> {
    spec: Spec,
    limit: E::Limit,
    key: Option<E::State>,
    clock: Clock,
    last: Option<Answer>,
    /// The instant and cost of the latest charge.
    charged: Option<(u64, u64)>,
}

impl<E: Engine> Lived<E> {
    /// A key never seen.
    fn new(algorithm: Algorithm, random: &mut Random) -> Result<Self, String> {
        let spec = Spec::random(algorithm, random);
        let limit = E::limit(&spec).ok_or("the limit was refused")?;
        let clock = Clock::monotone(&spec, random);
        Ok(Self { spec, limit, key: None, clock, last: None, charged: None })
    }

    /// A key that has seen some hits.
    fn some(algorithm: Algorithm, random: &mut Random) -> Result<Self, String> {
        let mut lived = Self::new(algorithm, random)?;
        for _ in 0..random.below(16) {
            lived.step(random);
        }
        Ok(lived)
    }

    /// Moves the clock and does something to the key.
    fn step(&mut self, random: &mut Random) -> Answer {
        if random.one_in(8) {
            let act = trace::act(&self.spec, self.last.as_ref(), random);
            self.clock.step(&self.spec, self.last.as_ref(), random);
            return self.act(act);
        }
        self.hit(random)
    }

    /// Moves the clock and hits the key, greedily at times.
    fn hit(&mut self, random: &mut Random) -> Answer {
        let cost = trace::cost(&self.spec, self.last.as_ref(), random);
        let act = if random.one_in(4) { Act::UpTo(self.spec.limit) } else { Act::Charge(cost) };
        self.clock.step(&self.spec, self.last.as_ref(), random);
        self.act(act)
    }

    /// Does something at the clock's instant.
    fn act(&mut self, act: Act) -> Answer {
        let answer = E::act(&self.limit, &mut self.key, self.clock.now(), act);
        self.last = Some(answer);
        if answer.charged > 0 {
            self.charged = Some((answer.at, answer.charged));
        }
        answer
    }

    /// What a copy of the key answers at another instant.
    fn ask(&self, now: u64, act: Act) -> Answer {
        E::act(&self.limit, &mut self.key.clone(), now, act)
    }
}

/// Whether an instant is told apart from later ones. The laws speak of no others.
const fn in_time(instant: u64) -> bool {
    instant <= tollgate_algorithms::Micros::INSTANT_MAX.get()
}

fn ensure(holds: bool, promise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(promise()) }
}
