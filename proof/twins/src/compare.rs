//! The scripts against the core, scene by scene: the same decisions, the same states, kept for the right time.

use redis::Value;
use tollgate_core::State;
use tollgate_proof::random::Random;
use tollgate_redis::{Reply, state};

use crate::asked::Asked;
use crate::mutants::Mutant;
use crate::scene::{Step, scene};
use crate::server::Server;
use crate::wire::{Answered, Wire};
use crate::world::plain;

/// What the compared decisions were like.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Questions compared.
    pub decisions: u64,
    /// Those that were not granted.
    pub refused: u64,
    /// Those about several hits.
    pub batches: u64,
    /// Refunds.
    pub refunds: u64,
    /// Questions at an earlier instant than the one before.
    pub clock_back: u64,
    /// States compared.
    pub states: u64,
}

/// How many milliseconds a key outlives its state where tests give the time: see `clock_given.lua`.
const SLACK: u64 = 3_600_000;

/// How many scenes are sent at once.
const AT_ONCE: u64 = 100;

/// Compares until there were so many decisions.
///
/// # Errors
/// With the first difference: the seed, the scene, and everything up to it.
pub fn run(server: &Server, (seed, decisions): (u64, u64), mutant: Option<Mutant>) -> Result<Tally, String> {
    let mut wire = Wire::open(server, mutant)?;
    let mut tally = Tally::default();
    let mut number = 0;
    while tally.decisions < decisions {
        let scenes: Vec<_> =
            (number..number + AT_ONCE).map(|number| scene(number, &mut Random::case(seed, number))).collect();
        for step in scenes.iter().flatten() {
            send(&mut wire, step)?;
        }
        wire.add(redis::cmd("FLUSHALL").arg("ASYNC"));
        let mut answers = wire.answers()?.into_iter();
        for (place, scene) in (number..).zip(&scenes) {
            for (at, step) in scene.iter().enumerate() {
                let difference = |why| {
                    let before: Vec<_> = scene[..=at].iter().map(|step| format!("{step:#?}")).collect();
                    let from = before.len().saturating_sub(4);
                    format!("seed {seed}, scene {place}, step {at}: {why}\n{}", before[from..].join("\n"))
                };
                judge(step, &mut answers, &mut tally).map_err(difference)?;
            }
            tally.clock_back += scene.windows(2).map(|two| u64::from(two[1].now < two[0].now)).sum::<u64>();
        }
        answers.next();
        number += AT_ONCE;
    }
    if mutant.is_some() && !wire.is_broken {
        return Err("the broken place stands in no script that was called".into());
    }
    Ok(tally)
}

fn send(wire: &mut Wire, step: &Step) -> Result<(), String> {
    let call = step.asked.with(|ask| ask.call_at(step.now));
    wire.call(&call)?;
    for (name, ..) in &step.keys {
        wire.add(redis::cmd("GET").arg(name.as_bytes()));
        wire.add(redis::cmd("PTTL").arg(name.as_bytes()));
    }
    Ok(())
}

/// Compares one step's answers.
fn judge(step: &Step, answers: &mut impl Iterator<Item = Answered>, tally: &mut Tally) -> Result<(), String> {
    let mut next = || answers.next().unwrap_or_else(|| Err("no answer".into()));
    let value = next()?;
    let reply = step.asked.with(|ask| Reply::read(ask, &value)).map_err(|error| error.to_string())?;
    if reply != step.reply {
        return Err(format!("it answers {reply:#?}"));
    }
    for (_, expected, lasts) in &step.keys {
        let (found, kept) = (stored(&next()?)?, next()?);
        if found != *expected {
            return Err(format!("the state is {found:?}"));
        }
        if let Some(lasts) = lasts {
            kept_for(&kept, *lasts)?;
        }
        tally.states += 1;
    }
    tally.decisions += 1;
    tally.refused += u64::from(matches!(reply, Reply::Decided { granted: false, .. }));
    tally.batches +=
        u64::from(matches!(&step.asked, Asked::Charge(hits) | Asked::Peek(hits) if hits.len() > 1));
    tally.refunds += u64::from(matches!(step.asked, Asked::Refund(..)));
    Ok(())
}

/// What stands under a key.
///
/// # Errors
/// When it is not a state of ours, or takes more room than it may.
pub fn stored(value: &Value) -> Result<Option<State>, String> {
    if *value == Value::Nil {
        return Ok(None);
    }
    let Value::BulkString(bytes) = value else {
        return Err(format!("the state is not a string: {value:?}"));
    };
    let state = state::stored(bytes).ok_or_else(|| format!("the state is not one: {bytes:?}"))?;
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
    let most = 12 + 14 * (2 * entries + 1).max(147);
    if bytes <= most { Ok(()) } else { Err(format!("{bytes} bytes for {entries} entries")) }
}

/// A key is kept until its state has drained, and not much longer. A test may be stopped for half an hour.
fn kept_for(value: &Value, lasts: u64) -> Result<(), String> {
    let Value::Int(kept) = value else { return Err(format!("no time to live: {value:?}")) };
    let kept = u64::try_from(*kept).map_err(|_| "the key lives for ever".to_string())?;
    let range = lasts + SLACK / 2..=lasts + SLACK + 2;
    if range.contains(&kept) { Ok(()) } else { Err(format!("kept for {kept} ms, not for one of {range:?}")) }
}
