//! Runs a scenario on a virtual clock, and reports where results differ from the expected ones.

use std::fmt;
use std::sync::Arc;

use tollgate_algorithms::{Micros, Retry};
use tollgate_policy::quantity::spoken;
use tollgate_policy::scenario::{Answer, Scenario, Step};
use tollgate_policy::{ConsumerIndex, Policy};

use tollgate::{BuildError, Clock, Limiter, ManualClock, Verdict};

use crate::enforcer::Enforcer;
use crate::error::CheckError;
use crate::head::{Body, RequestHead};
use crate::outcome::Outcome;
use crate::policy_limits::PolicyLimits;
use crate::scratch::Scratch;

/// The result of one step of a scenario.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepReport {
    /// Number of granted requests.
    pub granted: u64,
    /// Number of refused requests.
    pub refused: u64,
    /// The result of the last request.
    pub last: StepResult,
    /// Differences from the expected result. Empty if the step passed.
    pub differences: Vec<Difference>,
}

/// The result of one request.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StepResult {
    /// The answer.
    pub answer: Answer,
    /// The remaining quota, if a limit applied.
    pub remaining: Option<u64>,
    /// When to retry, if the request was refused.
    pub retry_after: Option<Micros>,
    /// The limit that refused the request.
    pub by: Option<String>,
    /// Why the request was rejected, if it was.
    pub wrong: Option<String>,
}

/// One difference from the expected result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The field of `expect`.
    pub what: &'static str,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}", self.what, self.expected, self.got)
    }
}

/// Runs a scenario on a new limiter, and returns a report per step.
///
/// # Errors
/// If there is no memory for a limiter.
pub fn simulate(
    scenario: &Scenario,
    policy: &Arc<Policy>,
    directory: Option<&Arc<ConsumerIndex>>,
) -> Result<Vec<StepReport>, BuildError> {
    let clock = Clock::manual(scenario.starts);
    let limiter = Limiter::builder().clock(clock.clock()).build()?;
    let enforcer =
        Arc::new(Enforcer::from(PolicyLimits::new(limiter, Arc::clone(policy), directory.cloned())));
    Ok(scenario.steps.iter().map(|step| play(step, scenario.starts, &enforcer, &clock)).collect())
}

fn play(step: &Step, starts: Micros, enforcer: &Arc<Enforcer>, clock: &ManualClock) -> StepReport {
    clock.set(starts.saturating_add(step.at));
    let (mut granted, mut refused, mut odd) = (0_u64, 0_u64, None);
    let mut last = run_once(step, enforcer);
    for time in 0..step.times {
        if time > 0 {
            last = run_once(step, enforcer);
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

fn run_once(step: &Step, enforcer: &Arc<Enforcer>) -> StepResult {
    let mut scratch = Scratch::default();
    let head = RequestHead::new(step.method.as_str(), step.target.as_str(), &step.headers);
    let head = head.with_peer(step.from).with_tier(step.tier.as_deref());
    let nothing = |answer| StepResult { answer, remaining: None, retry_after: None, by: None, wrong: None };
    let outcome = match check(head, step, enforcer, &mut scratch) {
        Ok(outcome) => outcome,
        Err(CheckError::NotFound | CheckError::MethodNotAllowed { .. }) => return nothing(Answer::Unmatched),
        Err(error) => return StepResult { wrong: Some(error.to_string()), ..nothing(Answer::Wrong) },
    };
    let remaining = scratch.verdict().and_then(Verdict::remaining);
    match outcome {
        Outcome::Admitted(_) if scratch.verdict().is_none() => nothing(Answer::Unlimited),
        Outcome::Admitted(_) => StepResult { remaining, ..nothing(Answer::Granted) },
        Outcome::Refused(refusal) => {
            let (answer, retry_after) = match refusal.retry() {
                Retry::After(wait) => (Answer::Refused, Some(wait)),
                Retry::Never => (Answer::Never, None),
            };
            let limit = refusal.limit();
            let by = Some(limit.wider_than.as_deref().unwrap_or(limit.name()).to_owned());
            StepResult { remaining, retry_after, by, ..nothing(answer) }
        }
        Outcome::Undetermined(undetermined) => {
            let wrong = Some(format!("the limits could not be decided: {}", undetermined.why));
            StepResult { wrong, ..nothing(Answer::Wrong) }
        }
        // Only for heads with an unread body.
        Outcome::NeedsBody { .. } => nothing(Answer::Wrong),
    }
}

/// Checks a request, with as much of its body as the limits need.
fn check<'a>(
    head: RequestHead<'a>,
    step: &'a Step,
    enforcer: &Arc<Enforcer>,
    scratch: &mut Scratch,
) -> Result<Outcome, CheckError> {
    let Some(text) = step.body.as_deref().map(str::as_bytes) else {
        return enforcer.try_check(&head, scratch);
    };
    match enforcer.try_check(&head.with_body(Body::Unread), scratch)? {
        Outcome::NeedsBody { wanted, matched } => {
            let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
            let key = Some(text).filter(|_| length <= wanted.max_key);
            let read = Body::Read { operations: wanted.count(text), matched };
            enforcer.try_check(&head.with_body(read).with_body_text(key), scratch)
        }
        outcome @ (Outcome::Admitted(_) | Outcome::Refused(_) | Outcome::Undetermined(_)) => Ok(outcome),
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
