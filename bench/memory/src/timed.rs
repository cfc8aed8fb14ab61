//! Nanoseconds per decision and thread: subjects in turn, so that a noisy moment hits all of them alike.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::keys::{Asked, Names};
use crate::print;
use crate::scale::Scale;
use crate::subject::{Candidate, Subject};
use crate::workload::Plan;

/// Decisions between two looks at the stopwatch.
const CHUNK: usize = 1_024;

/// The stopwatch.
#[expect(clippy::disallowed_methods, reason = "measuring time is what this is for")]
#[inline]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// One subject and what was found of it.
struct Runner {
    name: &'static str,
    subject: Box<dyn Subject>,
    /// Nanoseconds per decision, of each repetition.
    times: Vec<f64>,
    decided: u64,
    granted: u64,
}

/// Times all candidates that take part in it, and prints what it found.
///
/// # Errors
/// When a subject cannot be made, or does not do what was to be measured.
pub(crate) fn run(plan: &Plan, candidates: &[Candidate], scale: &Scale) -> Result<(), String> {
    let taking =
        candidates.iter().filter(|one| one.takes.contains(&plan.workload) && plan.keys <= one.keys_max);
    let numbers = plan.order.of(plan.keys);
    let all = Names::of(0..plan.keys);
    let in_order = Names::of(if plan.scattered { &[] } else { numbers.as_slice() }.iter().copied());
    let order =
        if plan.scattered { all.asked_by_number(&numbers) } else { in_order.asked(numbers.iter().copied()) };
    let mut runners = Vec::new();
    for candidate in taking {
        eprintln!("{}: {} with {} keys", plan.name, candidate.name, plan.keys);
        let subject = (candidate.prepare)(plan.keys, plan.limit)?;
        // Every key is there before anything is timed, and a table that was still growing when the last one came has grown.
        let each = all.asked(0..plan.keys);
        for _ in 0..3 {
            black_box(subject.decide_all(&each));
        }
        runners.push(Runner { name: candidate.name, subject, times: Vec::new(), decided: 0, granted: 0 });
    }
    for &threads in plan.threads {
        rounds(&mut runners, &order, threads, scale);
        for runner in &mut runners {
            let granted = share(runner.granted, runner.decided);
            print::times(&plan.name, threads, runner.name, &runner.times, Some(granted));
            if !plan.granted.contains(&granted) {
                let (from, to) = (plan.granted.start(), plan.granted.end());
                let which = format!("{} of {}, {threads} threads", plan.name, runner.name);
                return Err(format!("{which}: {granted:.2} % were granted, and it was to be {from} to {to}"));
            }
            (runner.times, runner.decided, runner.granted) = (Vec::new(), 0, 0);
        }
    }
    Ok(())
}

/// Warms all up, then times each in turn, again and again.
fn rounds(runners: &mut [Runner], order: &[Asked<'_>], threads: usize, scale: &Scale) {
    for runner in &*runners {
        eprintln!("warming up {}, {threads} threads", runner.name);
        once(runner.subject.as_ref(), order, 0, (threads, scale.time));
    }
    for round in 0..scale.repetitions {
        eprintln!("round {} of {}", round + 1, scale.repetitions);
        for runner in &mut *runners {
            // Each round goes on elsewhere in the order, so that slow subjects meet all keys too.
            let start = (round + 1) * (order.len() / (scale.repetitions + 1));
            let done = once(runner.subject.as_ref(), order, start, (threads, scale.time));
            runner.times.push(done.iter().map(Done::each).sum::<f64>() / done.len() as f64);
            runner.decided += done.iter().map(|done| done.decided).sum::<u64>();
            runner.granted += done.iter().map(|done| done.granted).sum::<u64>();
        }
    }
}

/// What one thread did.
struct Done {
    time: Duration,
    decided: u64,
    granted: u64,
}

impl Done {
    /// Nanoseconds per decision.
    fn each(&self) -> f64 {
        self.time.as_secs_f64() * 1e9 / self.decided as f64
    }
}

/// Decides for a while, on so many threads at once.
fn once(
    subject: &dyn Subject,
    order: &[Asked<'_>],
    start: usize,
    (threads, time): (usize, Duration),
) -> Vec<Done> {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let begin = |thread: usize| {
            let (barrier, start) = (&barrier, start + thread * (order.len() / threads));
            scope.spawn(move || {
                barrier.wait();
                decide_for(subject, order, start, time)
            })
        };
        let handles: Vec<_> = (0..threads).map(begin).collect();
        handles.into_iter().map(|handle| handle.join().expect("a subject does not panic")).collect()
    })
}

/// Decides until the time is over, from somewhere in the order, which begins again at its end.
fn decide_for(subject: &dyn Subject, order: &[Asked<'_>], start: usize, time: Duration) -> Done {
    let chunks = order.len() / CHUNK;
    let (mut at, mut decided, mut granted) = (start / CHUNK, 0, 0);
    let began = now();
    loop {
        let from = (at % chunks) * CHUNK;
        granted += black_box(subject.decide_all(&order[from..from + CHUNK]));
        decided += CHUNK as u64;
        at += 1;
        let elapsed = began.elapsed();
        if elapsed >= time {
            return Done { time: elapsed, decided, granted };
        }
    }
}

/// How many of a hundred.
pub(crate) fn share(granted: u64, decided: u64) -> f64 {
    100.0 * granted as f64 / decided as f64
}
