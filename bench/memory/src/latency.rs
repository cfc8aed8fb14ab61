//! How long single decisions take at worst: while keys are new, and while all of them are live. One thread,
//! and a process of its own each time. The stopwatch itself is in the figures; the row without a limiter
//! shows it, and the machine.

use crate::histogram::Histogram;
use crate::keys::{Asked, Names, Order};
use crate::scale::Scale;
use crate::subject::{Candidate, Limit, Subject};
use crate::timed::share;
use crate::workload::Workload;
use crate::{child, print};

/// What a process prints, in this order: of new keys, then of live ones.
const FIGURES: [&str; 6] =
    ["insert-p50", "insert-p99.99", "insert-worst", "live-p50", "live-p99.99", "live-worst"];

/// Measures all candidates that take part in it, in turn, each time in a new process.
///
/// # Errors
/// When one of them fails.
pub(crate) fn run(candidates: &[Candidate], scale: &Scale) -> Result<(), String> {
    let taking: Vec<_> = candidates.iter().filter(|one| one.takes.contains(&Workload::Latency)).collect();
    let mut found = vec![Vec::new(); taking.len()];
    for _ in 0..scale.latency_repetitions {
        for (candidate, found) in taking.iter().zip(&mut found) {
            found.push(child::run("latency", candidate, scale.latency)?);
        }
    }
    for (candidate, found) in taking.iter().zip(found) {
        for (place, figure) in FIGURES.into_iter().enumerate() {
            let figures: Vec<f64> = found.iter().filter_map(|run| run.get(place).copied()).collect();
            print::times(figure, 1, candidate.name, &figures, None);
        }
    }
    Ok(())
}

/// Measures one, here, and prints its figures.
///
/// # Errors
/// When the subject cannot be made or refuses.
pub(crate) fn measure(candidate: Candidate, count: u32) -> Result<(), String> {
    let numbers = Order::Uniform.of(count);
    let (new, live) = (Names::of(0..count), Names::of(numbers.iter().copied()));
    let subject = (candidate.prepare)(count, Limit::Lasting)?;
    timed(&candidate, subject.as_ref(), &new.asked(0..count))?;
    timed(&candidate, subject.as_ref(), &live.asked(numbers.iter().copied()))
}

fn timed(candidate: &Candidate, subject: &dyn Subject, keys: &[Asked<'_>]) -> Result<(), String> {
    let mut times = Histogram::new();
    let granted = share(subject.time_all(keys, &mut times), keys.len() as u64);
    if granted < 99.0 {
        return Err(format!("{}: {granted:.2} % were granted, and it was to be all", candidate.name));
    }
    println!("{} {} {}", times.of_ten_thousand(5_000), times.of_ten_thousand(9_999), times.worst());
    Ok(())
}
