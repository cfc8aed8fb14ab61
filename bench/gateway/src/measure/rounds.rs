//! Takes turns: everybody is loaded in every round, and another begins each time, so that a change of the machine's
//! mood meets all alike. How a figure is shown is elsewhere.

use super::contestant::Contestant;
use super::document::GRANTED_MAX;
use super::spread::Spread;
use super::wrk;
use crate::stopwatch::now;

/// How long and how often.
#[derive(Clone)]
pub(crate) struct Plan {
    /// Rounds; the figure is their median.
    pub(crate) rounds: usize,
    /// Seconds of one load.
    pub(crate) seconds: u32,
    /// The cores of the load, with commas.
    pub(crate) cores: &'static str,
    /// wrk's script.
    pub(crate) script: String,
}

/// What has to come back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    Granted,
    Refused,
}

/// What was measured of one contestant.
#[derive(Default, Clone)]
pub(crate) struct Figures {
    /// Responses a second, one for each round.
    pub(crate) per_second: Spread,
    /// Nanoseconds of processor time a response.
    pub(crate) cpu: Spread,
    /// Per cent of a core that it kept busy. Well below 100 for each core it has, the load was what was measured.
    pub(crate) busy: Spread,
}

/// Loads all of them in turns.
pub(crate) fn alternate(all: &[&Contestant], plan: &Plan, answers: Answers) -> Result<Vec<Figures>, String> {
    let mut figures = vec![Figures::default(); all.len()];
    for one in all {
        load(one, &Plan { seconds: 1, ..plan.clone() }, answers, &mut Figures::default())?;
    }
    for round in 0..plan.rounds {
        for turn in 0..all.len() {
            let who = (round + turn) % all.len();
            load(all[who], plan, answers, &mut figures[who])?;
        }
    }
    Ok(figures)
}

fn load(one: &Contestant, plan: &Plan, answers: Answers, into: &mut Figures) -> Result<(), String> {
    let (before, start) = (one.process.cpu()?, now());
    let said = wrk::run(plan.cores, &plan.script, one.port, plan.seconds)?;
    let (used, took) = (one.process.cpu()?.saturating_sub(before), start.elapsed());
    let wrong = match answers {
        Answers::Granted => said.refused,
        // Refused are all but the first of each key.
        Answers::Refused => said.requests.saturating_sub(said.refused + GRANTED_MAX),
    };
    if wrong > 0 || said.requests == 0 {
        let what = format!("gave {wrong} answers of {} that should have been others", said.requests);
        return Err(one.process.failed(&what));
    }
    let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    into.per_second.push(said.per_second);
    into.cpu.push(nanos(used) / said.requests);
    into.busy.push(nanos(used) * 100 / nanos(took).max(1));
    Ok(())
}
