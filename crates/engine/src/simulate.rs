//! Runs a scenario on a virtual clock, and reports where results differ from the expected ones.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tollgate_algorithms::{Micros, Retry};
use tollgate_policy::quantity::spoken;
use tollgate_policy::scenario::{Answer, Scenario, Step};
use tollgate_policy::{ConsumerIndex, Policy};

use tollgate::{BuildError, Clock, Limiter, ManualClock, Verdict};

use crate::enforcer::Enforcer;
use crate::error::CheckError;
use crate::head::{Body, RequestHead};
use crate::outcome::Outcome;
use crate::permits::Permits;
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
    /// How long it waited for its turn.
    pub waited: Micros,
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
    let tallies = scenario.steps.iter().map(|_| Tally::default()).collect();
    let mut run = Run { enforcer: &enforcer, clock: &clock, held: Vec::new(), waiting: Vec::new(), tallies };
    for (place, step) in scenario.steps.iter().enumerate() {
        run.go_on(Some(scenario.starts.saturating_add(step.at)));
        for time in 0..step.times {
            run.send((place, time), step);
        }
    }
    run.go_on(None);
    let reports = run.tallies.into_iter().zip(&scenario.steps);
    Ok(reports.map(|(tally, step)| tally.report(step)).collect())
}

/// A scenario in progress.
struct Run<'a> {
    enforcer: &'a Arc<Enforcer>,
    clock: &'a ManualClock,
    /// Requests in progress that hold permits, and when they end.
    held: Vec<(Micros, Permits)>,
    /// Requests that wait for their turn, in order of arrival.
    waiting: Vec<Waiting<'a>>,
    tallies: Vec<Tally>,
}

/// A request that waits for its turn.
struct Waiting<'a> {
    step: &'a Step,
    /// The step, and how many of its requests came before.
    place: (usize, u64),
    since: Micros,
    checking: Checking<'a>,
}

/// What came of a request, and what it holds.
type Checking<'a> = Pin<Box<dyn Future<Output = (StepResult, Permits)> + 'a>>;

impl<'a> Run<'a> {
    /// Goes on to an instant, or until nothing happens any more.
    fn go_on(&mut self, to: Option<Micros>) {
        loop {
            self.settle();
            let now = self.clock.now();
            let ends = self.held.iter().map(|(ends, _)| *ends);
            let wakes = self.clock.next_wakeup().filter(|_| !self.waiting.is_empty());
            // Whatever is still to be woken now is woken a moment later.
            let next = ends.chain(wakes).min().map(|next| next.max(now.saturating_add(Micros::new(1))));
            match (next, to) {
                (_, Some(to)) if now >= to => return,
                (Some(next), Some(to)) => self.clock.set(next.min(to)),
                (None, Some(to)) => self.clock.set(to),
                (Some(next), None) if !self.waiting.is_empty() => self.clock.set(next),
                (_, None) => return,
            }
        }
    }

    /// Ends what is over now, and lets everybody go on whose turn it is.
    fn settle(&mut self) {
        let now = self.clock.now();
        loop {
            self.held.retain(|(ends, _)| *ends > now);
            let before = self.waiting.len();
            for waiting in std::mem::take(&mut self.waiting) {
                self.poll(waiting);
            }
            if self.waiting.len() == before {
                return;
            }
        }
    }

    fn send(&mut self, place: (usize, u64), step: &'a Step) {
        let checking = Box::pin(run_once(step, self.enforcer));
        self.poll(Waiting { step, place, since: self.clock.now(), checking });
    }

    fn poll(&mut self, mut waiting: Waiting<'a>) {
        let polled = waiting.checking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready((mut result, permits)) = polled else {
            self.waiting.push(waiting);
            return;
        };
        let Waiting { step, place: (place, time), since, .. } = waiting;
        let now = self.clock.now();
        result.waited = now.saturating_sub(since);
        if step.takes > Micros::ZERO {
            self.held.push((now.saturating_add(step.takes), permits));
        }
        if let Some(tally) = self.tallies.get_mut(place) {
            tally.count(step, time, result);
        }
    }
}

/// What has come of the requests of a step.
#[derive(Default)]
struct Tally {
    granted: u64,
    refused: u64,
    /// The first that was not answered as expected.
    odd: Option<(u64, Answer)>,
    last: Option<(u64, StepResult)>,
}

impl Tally {
    fn count(&mut self, step: &Step, time: u64, result: StepResult) {
        match result.answer {
            Answer::Granted | Answer::Unlimited => self.granted = self.granted.saturating_add(1),
            Answer::Refused | Answer::Never => self.refused = self.refused.saturating_add(1),
            Answer::Unmatched | Answer::Wrong => {}
        }
        let is_odd = step.expect.answer.is_some_and(|answer| answer != result.answer);
        if is_odd && self.odd.is_none_or(|(first, _)| time < first) {
            self.odd = Some((time, result.answer));
        }
        if self.last.as_ref().is_none_or(|(last, _)| time >= *last) {
            self.last = Some((time, result));
        }
    }

    fn report(self, step: &Step) -> StepReport {
        let last = self.last.map_or_else(
            || {
                let wrong = Some("the request still waits when everything else is over".to_owned());
                StepResult { wrong, ..StepResult::nothing(Answer::Wrong) }
            },
            |(_, last)| last,
        );
        let (granted, refused) = (self.granted, self.refused);
        let mut report = StepReport { granted, refused, last, differences: Vec::new() };
        compare(step, self.odd, &mut report);
        report
    }
}

impl StepResult {
    const fn nothing(answer: Answer) -> Self {
        Self { answer, remaining: None, retry_after: None, waited: Micros::ZERO, by: None, wrong: None }
    }
}

async fn run_once(step: &Step, enforcer: &Arc<Enforcer>) -> (StepResult, Permits) {
    let mut scratch = Scratch::default();
    let head = RequestHead::new(step.method.as_str(), step.target.as_str(), &step.headers);
    let head = head.with_peer(step.from).with_tier(step.tier.as_deref());
    let nothing = StepResult::nothing;
    let outcome = match check(head, step, enforcer, &mut scratch).await {
        Ok(outcome) => outcome,
        Err(CheckError::NotFound | CheckError::MethodNotAllowed { .. }) => {
            return (nothing(Answer::Unmatched), Permits::default());
        }
        Err(error) => {
            let wrong = StepResult { wrong: Some(error.to_string()), ..nothing(Answer::Wrong) };
            return (wrong, Permits::default());
        }
    };
    let remaining = scratch.verdict().and_then(Verdict::remaining);
    let is_limited = scratch.verdict().is_some() || !scratch.asked().is_empty();
    let result = match outcome {
        Outcome::Admitted(admission) => {
            let answer = if is_limited { Answer::Granted } else { Answer::Unlimited };
            return (StepResult { remaining, ..nothing(answer) }, admission.take_permits());
        }
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
    };
    (result, Permits::default())
}

/// Checks a request, with as much of its body as the limits need.
async fn check<'a>(
    head: RequestHead<'a>,
    step: &'a Step,
    enforcer: &Arc<Enforcer>,
    scratch: &mut Scratch,
) -> Result<Outcome, CheckError> {
    let Some(text) = step.body.as_deref().map(str::as_bytes) else {
        return enforcer.check(&head, scratch).await;
    };
    match enforcer.check(&head.with_body(Body::Unread), scratch).await? {
        Outcome::NeedsBody { wanted, matched } => {
            let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
            let key = Some(text).filter(|_| length <= wanted.max_key);
            let read = Body::Read { operations: wanted.count(text), matched };
            enforcer.check(&head.with_body(read).with_body_text(key), scratch).await
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
    if let Some(wanted) = expect.waited {
        differ("waited", waited(wanted), waited(report.last.waited));
    }
    if let Some(wanted) = &expect.by {
        differ("by", wanted.clone(), report.last.by.clone().unwrap_or_else(|| "nothing".to_owned()));
    }
}

fn waited(time: Micros) -> String {
    if time == Micros::ZERO { "not at all".into() } else { spoken(time) }
}
