//! One scenario, step by step, on a limiter that nobody has used: what was answered, and where that is not what was expected.

use std::fmt::Write;
use std::sync::Arc;

use tollgate::{Clock, Gate, Kind, Limiter, Micros, Passage, Retry, Verdict};
use tollgate_policy::scenario::{Answer, Expect, Scenario, Step};
use tollgate_policy::text::shown;
use tollgate_policy::{Diagnostic, Directory, Facts, Hits, Matched, Policy, Request, Scratch, Severity};

/// What a request was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Answered {
    answer: Answer,
    remaining: Option<u64>,
    retry: Option<Retry>,
    by: Option<String>,
    /// Why the request is wrong, if it is.
    why: Option<String>,
}

/// What the requests of one step were answered.
#[derive(Debug, Default)]
struct Tally {
    /// How many of each, in the order of [`Answer::ALL`].
    counts: [u64; Answer::ALL.len()],
    last: Option<Answered>,
}

/// Plays a scenario; gives every step that did not go as it says.
///
/// # Errors
/// When there is no memory for a store, or no answer from it.
pub(super) fn scenario(
    scenario: &Scenario,
    policy: &Arc<Policy>,
    directory: Option<&Arc<Directory>>,
) -> Result<Vec<Diagnostic>, String> {
    let clock = Clock::manual(scenario.starts);
    let limiter = Limiter::builder().clock(clock.clock()).build().map_err(|error| error.to_string())?;
    let gate = Gate::new(limiter, Arc::clone(policy), directory.cloned());
    let mut failures = Vec::new();
    let mut hits = Hits::default();
    for step in &scenario.steps {
        clock.set(scenario.starts.saturating_add(step.at));
        let mut tally = Tally::default();
        for _ in 0..step.times {
            tally.add(ask(&gate, step, clock.now(), &mut hits)?);
        }
        failures.extend(unexpected(step, &tally));
    }
    Ok(failures)
}

/// Sends one request.
fn ask(gate: &Gate, step: &Step, now: Micros, hits: &mut Hits) -> Result<Answered, String> {
    let nothing = |answer| Answered { answer, remaining: None, retry: None, by: None, why: None };
    let wrong = |why: String| Answered { why: Some(why), ..nothing(Answer::Wrong) };
    let (method, target, headers) = (step.method.as_str(), step.target.as_str(), &step.headers);
    let request = Request { method, target, headers, authority: None, peer: step.from, now };
    let mut scratch = Scratch::default();
    let facts = match gate.policy().facts(&request, &mut scratch) {
        Ok(facts) => Facts { tier: step.tier.as_deref(), ..facts },
        Err(bad) => return Ok(wrong(bad.to_string())),
    };
    let passage = match gate.check(&facts, hits) {
        Ok(passage) => passage,
        Err(not_asked) => return Ok(wrong(not_asked.to_string())),
    };
    let Passage { matched, verdict } = passage;
    Ok(match (matched, verdict) {
        (Matched::Nothing { .. }, _) => nothing(Answer::Unmatched),
        (_, None) => nothing(Answer::Unlimited),
        (_, Some(verdict)) => judged(gate, &verdict, hits)?,
    })
}

fn judged(gate: &Gate, verdict: &Verdict, hits: &Hits) -> Result<Answered, String> {
    let answer = match (verdict.kind(), verdict.retry()) {
        (Kind::Granted, _) => Answer::Granted,
        (Kind::Refused, Some(Retry::Never)) => Answer::Never,
        (Kind::Refused, _) => Answer::Refused,
        (Kind::Unavailable(why), _) => return Err(format!("the store cannot answer: {why:?}")),
    };
    let charge = verdict.refused_by().and_then(|at| hits.charges().get(at));
    let limit = charge.and_then(|charge| gate.policy().limits().get(usize::try_from(charge.limit).ok()?));
    let (remaining, retry) = (verdict.remaining(), verdict.retry());
    Ok(Answered { answer, remaining, retry, by: limit.map(|limit| limit.name.clone()), why: None })
}

impl Tally {
    fn add(&mut self, answered: Answered) {
        let counts = self.counts.iter_mut().zip(Answer::ALL);
        for (count, _) in counts.filter(|(_, (_, answer))| *answer == answered.answer) {
            *count = count.saturating_add(1);
        }
        self.last = Some(answered);
    }

    fn count(&self, which: Answer) -> u64 {
        let mut counts = self.counts.iter().zip(Answer::ALL);
        counts.find(|(_, (_, answer))| *answer == which).map_or(0, |(count, _)| *count)
    }

    /// Those that a limit stood in the way of.
    fn refused(&self) -> u64 {
        self.count(Answer::Refused).saturating_add(self.count(Answer::Never))
    }

    /// `granted`, or `5 granted, 2 refused`.
    fn told(&self) -> String {
        let mut there = self.counts.iter().zip(Answer::ALL).filter(|(count, _)| **count > 0);
        if let (Some((_, (word, _))), None) = (there.next(), there.next()) {
            return word.into();
        }
        let there = self.counts.iter().zip(Answer::ALL).filter(|(count, _)| **count > 0);
        there.map(|(count, (word, _))| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    }
}

/// Everything that was answered otherwise than a step says, in one finding.
fn unexpected(step: &Step, tally: &Tally) -> Option<Diagnostic> {
    let Expect { answer, granted, refused, remaining, retry_after, by } = &step.expect;
    let mut wrong = Vec::new();
    if let Some(answer) = answer
        && tally.count(*answer) != step.times
    {
        wrong.push(format!("expected {}, and it was {}", answer.word(), tally.told()));
    }
    for (what, expected, got) in
        [("granted", granted, tally.count(Answer::Granted)), ("refused", refused, tally.refused())]
    {
        if expected.is_some_and(|expected| expected != got) {
            wrong.push(format!("expected {} {what}, and there were {got}", expected.unwrap_or(0)));
        }
    }
    let last = tally.last.as_ref();
    if let Some(expected) = remaining
        && last.and_then(|last| last.remaining) != Some(*expected)
    {
        let got = last.and_then(|last| last.remaining);
        let got = got.map_or_else(|| "nothing is said".into(), |got| format!("there were {got}"));
        wrong.push(format!("expected {expected} remaining, and {got}"));
    }
    let retry = last.and_then(|last| last.retry);
    if let Some(expected) = retry_after
        && retry != Some(Retry::After(*expected))
    {
        let got = match retry {
            None => "it was not refused".into(),
            Some(Retry::Never) => "waiting does not help".into(),
            Some(Retry::After(wait)) => format!("it was {wait}"),
        };
        wrong.push(format!("expected to retry after {expected}, and {got}"));
    }
    let refused_by = last.and_then(|last| last.by.as_ref());
    if let Some(expected) = by
        && refused_by != Some(expected)
    {
        let got = refused_by.map_or_else(|| "no limit did".into(), |name| format!("`{}` did", shown(name)));
        wrong.push(format!("expected `{}` to refuse it, and {got}", shown(expected)));
    }
    (!wrong.is_empty()).then(|| finding(step, &wrong, last))
}

fn finding(step: &Step, wrong: &[String], last: Option<&Answered>) -> Diagnostic {
    let mut message = wrong.join("; ");
    if let Some(why) = last.and_then(|last| last.why.as_ref()) {
        // Writing to a string does not fail.
        let _ = write!(message, ": {why}");
    }
    Diagnostic {
        severity: Severity::Error,
        code: "scenario",
        message,
        place: step.place,
        label: format!("at {}", step.at),
        also: Vec::new(),
        help: None,
    }
}
