//! The scripts against the core, scene by scene: the same decisions, the same states, kept for the right time.

use std::fmt;

use tollgate_algorithms::{Algorithm, State};
use tollgate_proof::random::Random;
use tollgate_redis::{Call, KeyName, Reply, TOGETHER_MAX, Value, state};

use crate::asked::Asked;
use crate::mutants::Mutant;
use crate::scene::{Step, scene};
use crate::server::Server;
use crate::wire::{Answered, Wire};
use crate::world::{Key, plain, shared};

/// What the compared decisions were like.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Questions compared.
    pub decisions: u64,
    /// Those that were not granted.
    pub refused: u64,
    /// Those about several hits.
    pub batches: u64,
    /// Those that were sent with others in one call.
    pub together: u64,
    /// Refunds.
    pub refunds: u64,
    /// Questions at an earlier instant than the one before.
    pub clock_back: u64,
    /// States compared.
    pub states: u64,
}

/// Why a comparison ended before its last decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// A response or a state differs: the seed, the scene, and everything up to it.
    Difference(String),
    /// Nothing can be said about responses and states: the server, the connection or the comparison itself failed.
    Failure(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Difference(what) => write!(formatter, "a difference: {what}"),
            Self::Failure(why) => write!(formatter, "not compared: {why}"),
        }
    }
}

/// How many milliseconds a key outlives its state where tests give the time: see `clock_given.lua`.
const SLACK: u64 = 3_600_000;

/// How many scenes are sent at once.
const AT_ONCE: u64 = 100;

/// Compares until there were so many decisions, on a server that is emptied before.
///
/// # Errors
/// With the first difference, or with the reason why nothing can be compared.
pub fn run(server: &Server, (seed, decisions): (u64, u64), mutant: Option<Mutant>) -> Result<Tally, Stopped> {
    let mut wire = Wire::open(server, mutant).map_err(Stopped::Failure)?;
    let compared = compare(&mut wire, seed, decisions);
    match wire.failure.take() {
        Some(why) => Err(Stopped::Failure(why)),
        None if mutant.is_some() && !wire.is_broken => {
            Err(Stopped::Failure("the broken place stands in no script that was called".into()))
        }
        None => compared.map_err(Stopped::Difference),
    }
}

fn compare(wire: &mut Wire, seed: u64, decisions: u64) -> Result<Tally, String> {
    // What an earlier comparison left behind is no answer of these scripts.
    wire.ask(&redis::cmd("FLUSHALL"))?;
    let mut tally = Tally::default();
    let mut number = 0;
    while tally.decisions < decisions {
        let scenes: Vec<_> =
            (number..number + AT_ONCE).map(|number| scene(number, &mut Random::case(seed, number))).collect();
        let groups: Vec<Vec<_>> = scenes.iter().map(|scene| groups(scene)).collect();
        for group in groups.iter().flatten() {
            send(wire, group)?;
        }
        wire.add(redis::cmd("FLUSHALL").arg("ASYNC"));
        let mut answers = wire.answers()?.into_iter();
        for (place, (scene, groups)) in (number..).zip(scenes.iter().zip(&groups)) {
            let mut at = 0;
            for group in groups {
                at += group.len();
                let difference = |why| {
                    let from = at.saturating_sub(group.len().max(4));
                    let before: Vec<_> = scene[from..at].iter().map(|step| format!("{step:#?}")).collect();
                    format!("seed {seed}, scene {place}, up to step {at}: {why}\n{}", before.join("\n"))
                };
                judge(group, &mut answers, &mut tally).map_err(difference)?;
            }
            tally.clock_back += scene.windows(2).map(|two| u64::from(two[1].now < two[0].now)).sum::<u64>();
        }
        answers.next();
        number += AT_ONCE;
    }
    Ok(tally)
}

fn call(step: &Step) -> Call {
    step.asked.with(|ask| ask.call_at(step.now))
}

/// Steps in groups, each of which is one call: of several single charges at one instant, or of one question.
fn groups(scene: &[Step]) -> Vec<&[Step]> {
    let calls: Vec<Call> = scene.iter().map(call).collect();
    let (mut groups, mut from) = (Vec::new(), 0);
    while from < scene.len() {
        let is_along = |at: &usize| {
            scene[*at].now == scene[from].now
                && Call::together(&[calls[from].clone(), calls[*at].clone()]).is_some()
        };
        let along = (from + 1..scene.len()).take(TOGETHER_MAX - 1).take_while(is_along).count();
        groups.push(&scene[from..=from + along]);
        from += 1 + along;
    }
    groups
}

fn send(wire: &mut Wire, group: &[Step]) -> Result<(), String> {
    let calls: Vec<Call> = group.iter().map(call).collect();
    match Call::together(&calls) {
        Some(call) => wire.call(&call)?,
        None => calls.iter().try_for_each(|call| wire.call(call))?,
    }
    for (name, _) in left(group) {
        wire.add(redis::cmd("GET").arg(name.as_bytes()));
        wire.add(redis::cmd("PTTL").arg(name.as_bytes()));
    }
    Ok(())
}

/// Where the keys of a group stand after all of it.
fn left(group: &[Step]) -> impl Iterator<Item = &(KeyName, Option<Key>)> {
    let later = |at: usize, name: &KeyName| {
        group[at + 1..].iter().any(|step| step.keys.iter().any(|key| key.0 == *name))
    };
    group
        .iter()
        .enumerate()
        .flat_map(move |(at, step)| step.keys.iter().filter(move |key| !later(at, &key.0)))
}

/// Compares the answers to one group.
fn judge(
    group: &[Step],
    answers: &mut impl Iterator<Item = Answered>,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut next = || answers.next().unwrap_or_else(|| Err("no answer".into()));
    let value = next()?;
    match (group, value) {
        ([step], value) => judge_one(step, &value, tally)?,
        (_, Value::Array(values)) if values.len() == group.len() => {
            for (step, value) in group.iter().zip(&values) {
                judge_one(step, value, tally)?;
                tally.together += 1;
            }
        }
        (_, value) => return Err(format!("{} calls together are answered by {value:?}", group.len())),
    }
    for (_, expected) in left(group) {
        let (value, kept) = (next()?, next()?);
        let Some(expected) = expected else {
            if value != Value::Nil {
                return Err(format!("there is a state: {value:?}"));
            }
            tally.states += 1;
            continue;
        };
        let algorithm = expected.by.algorithm().ok_or("it keeps no state")?;
        let found = stored(algorithm, &value)?;
        if found != Some(plain(shared(&expected.by, expected.state.clone()))) {
            return Err(format!("the state is {found:?}"));
        }
        let era = if let Value::BulkString(bytes) = &value { state::era(bytes) } else { None };
        if era != Some(expected.era()) {
            return Err(format!("it was charged by {era:?}"));
        }
        kept_for(&kept, expected.kept)?;
        tally.states += 1;
    }
    Ok(())
}

/// Compares the answer to one question.
fn judge_one(step: &Step, value: &Value, tally: &mut Tally) -> Result<(), String> {
    let reply = step.asked.with(|ask| Reply::read(ask, value)).map_err(|error| error.to_string())?;
    if reply != step.reply {
        return Err(format!("it answers {reply:#?}"));
    }
    tally.decisions += 1;
    tally.refused += u64::from(matches!(reply, Reply::Decided { granted: false, .. }));
    tally.batches +=
        u64::from(matches!(&step.asked, Asked::Charge(hits) | Asked::Peek(hits) if hits.len() > 1));
    tally.refunds += u64::from(matches!(step.asked, Asked::Refund(..)));
    Ok(())
}

/// What stands under a key, as a state of this algorithm.
///
/// # Errors
/// When it is not a state of ours, or takes more room than it may.
pub fn stored(algorithm: Algorithm, value: &Value) -> Result<Option<State>, String> {
    if *value == Value::Nil {
        return Ok(None);
    }
    let Value::BulkString(bytes) = value else {
        return Err(format!("the state is not a string: {value:?}"));
    };
    let state = state::stored(algorithm, bytes).ok_or_else(|| format!("the state is not one: {bytes:?}"))?;
    bounded(&state, bytes.len())?;
    Ok(Some(plain(state)))
}

/// A list takes no more than twice its entries, or than what is read at once.
fn bounded(state: &State, bytes: usize) -> Result<(), String> {
    let entries = match state {
        State::SlidingWindowBuckets(list) | State::SlidingWindowLog(list) => list.len(),
        State::TokenBucket(_)
        | State::LeakyBucket(_)
        | State::Gcra(_)
        | State::FixedWindow(_)
        | State::SlidingWindow(_) => 0,
    };
    let most = 20 + 14 * (2 * entries + 1).max(147);
    if bytes <= most { Ok(()) } else { Err(format!("{bytes} bytes for {entries} entries")) }
}

/// A key is kept until its state has drained, and not much longer. A test may be stopped for half an hour.
fn kept_for(value: &Value, lasts: u64) -> Result<(), String> {
    let Value::Int(kept) = value else { return Err(format!("no time to live: {value:?}")) };
    let kept = u64::try_from(*kept).map_err(|_| "the key lives for ever".to_string())?;
    let range = lasts + SLACK / 2..=lasts + SLACK + 2;
    if range.contains(&kept) { Ok(()) } else { Err(format!("kept for {kept} ms, not for one of {range:?}")) }
}
