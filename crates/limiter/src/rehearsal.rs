//! A scenario played on a virtual clock, and what came out otherwise than expected. Nothing waits, and nothing is drawn.

use std::fmt;
use std::sync::Arc;

use tollgate_algorithms::{Micros, Retry};
use tollgate_policy::quantity::spoken;
use tollgate_policy::scenario::{Answer, Scenario, Step};
use tollgate_policy::{Directory, Hits, Matched, Policy, Request, Scratch};

use crate::gate::{Gate, NotAsked};
use crate::{BuildError, Clock, Kind, Limiter, ManualClock};

/// What one step of a scenario came to.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// How many of its requests were granted.
    pub granted: u64,
    /// How many were refused.
    pub refused: u64,
    /// What the last one was told.
    pub last: Told,
    /// What is otherwise than expected. Empty is good.
    pub differences: Vec<Difference>,
}

/// What one request was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// The answer.
    pub answer: Answer,
    /// What remains, if a limit met it.
    pub remaining: Option<u64>,
    /// When to come back, if it was refused.
    pub retry_after: Option<Micros>,
    /// Which limit refused it.
    pub by: Option<String>,
    /// What is wrong with the request, if something is.
    pub wrong: Option<String>,
}

/// One thing that is otherwise than expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Which field of `expect`.
    pub what: &'static str,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}", self.what, self.expected, self.got)
    }
}

/// Plays a scenario on a fresh limiter: a report for each step.
///
/// # Errors
/// When there is no memory for a limiter.
pub fn rehearse(
    scenario: &Scenario,
    policy: &Arc<Policy>,
    directory: Option<&Arc<Directory>>,
) -> Result<Vec<StepReport>, BuildError> {
    let clock = Clock::manual(scenario.starts);
    let limiter = Limiter::builder().clock(clock.clock()).build()?;
    let gate = Gate::new(limiter, Arc::clone(policy), directory.cloned());
    Ok(scenario.steps.iter().map(|step| play(step, scenario.starts, &gate, &clock)).collect())
}

fn play(step: &Step, starts: Micros, gate: &Gate, clock: &ManualClock) -> StepReport {
    clock.set(starts.saturating_add(step.at));
    let (mut granted, mut refused, mut odd) = (0_u64, 0_u64, None);
    let mut last = ask(step, gate, clock);
    for time in 0..step.times {
        if time > 0 {
            last = ask(step, gate, clock);
        }
        match last.answer {
            Answer::Granted | Answer::Unlimited => granted = granted.saturating_add(1),
            Answer::Refused | Answer::Never => refused = refused.saturating_add(1),
            Answer::Unmatched | Answer::Wrong => {}
        }
        if step.expect.answer.is_some_and(|answer| answer != last.answer) && odd.is_none() {
            odd = Some((time, last.answer));
        }
    }
    let mut report = StepReport { granted, refused, last, differences: Vec::new() };
    compare(step, odd, &mut report);
    report
}

fn ask(step: &Step, gate: &Gate, clock: &ManualClock) -> Told {
    let (mut scratch, mut hits) = (Scratch::default(), Hits::default());
    let (method, target, headers) = (step.method.as_str(), step.target.as_str(), &step.headers);
    let request = Request { method, target, headers, authority: None, peer: step.from, now: clock.now() };
    let checked = gate.policy().facts(&request, &mut scratch).map_err(NotAsked::BadRequest);
    let checked = checked.and_then(|mut facts| {
        facts.tier = step.tier.as_deref();
        gate.check(&facts, &mut hits)
    });
    let nothing = |answer| Told { answer, remaining: None, retry_after: None, by: None, wrong: None };
    let passage = match checked {
        Ok(passage) => passage,
        Err(error) => return Told { wrong: Some(error.to_string()), ..nothing(Answer::Wrong) },
    };
    let Some(verdict) = passage.verdict else {
        let unmatched = matches!(passage.matched, Matched::Unmatched { .. });
        return nothing(if unmatched { Answer::Unmatched } else { Answer::Unlimited });
    };
    if let Kind::Unavailable(why) = verdict.kind() {
        return Told { wrong: Some(format!("it cannot be told: {why:?}")), ..nothing(Answer::Wrong) };
    }
    let (answer, retry_after) = match verdict.retry() {
        None => (Answer::Granted, None),
        Some(Retry::After(wait)) => (Answer::Refused, Some(wait)),
        Some(Retry::Never) => (Answer::Never, None),
    };
    let charge = verdict.refused_by().and_then(|index| hits.charges().get(index));
    let by = charge.and_then(|charge| gate.policy().limits().get(charge.limit.index()));
    Told {
        remaining: verdict.remaining(),
        retry_after,
        by: by.map(|limit| limit.name.clone()),
        ..nothing(answer)
    }
}

fn compare(step: &Step, odd: Option<(u64, Answer)>, report: &mut StepReport) {
    let expect = &step.expect;
    let mut differ = |what, expected: String, got: String| {
        if expected != got {
            report.differences.push(Difference { what, expected, got });
        }
    };
    if let (Some(wanted), Some((time, answer))) = (expect.answer, odd) {
        let which = if step.times > 1 {
            format!(" (request {} of {})", time.saturating_add(1), step.times)
        } else {
            String::new()
        };
        differ("answer", wanted.word().into(), format!("{}{which}", answer.word()));
    }
    let number =
        |number: Option<u64>| number.map_or_else(|| "nothing".to_owned(), |number| number.to_string());
    if let Some(wanted) = expect.granted {
        differ("granted", wanted.to_string(), report.granted.to_string());
    }
    if let Some(wanted) = expect.refused {
        differ("refused", wanted.to_string(), report.refused.to_string());
    }
    if let Some(wanted) = expect.remaining {
        differ("remaining", wanted.to_string(), number(report.last.remaining));
    }
    if let Some(wanted) = expect.retry_after {
        let got = report.last.retry_after.map_or_else(|| "nothing".to_owned(), spoken);
        differ("retry_after", spoken(wanted), got);
    }
    if let Some(wanted) = &expect.by {
        differ("by", wanted.clone(), report.last.by.clone().unwrap_or_else(|| "nothing".to_owned()));
    }
}
