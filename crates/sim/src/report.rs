//! Tables of figures over several seeds, in Markdown.

use std::fmt::Write as _;

use crate::measure::{Figures, SUBJECTS, Subject};
use crate::scenario::{HOUR, SCENARIOS, Scenario};

/// Figures of one scenario and one subject over all seeds: the mean goodput, and the worst of everything else.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// The mean goodput, as a part of what was attainable.
    pub goodput: f64,
    /// The worst 99th percentile, as a multiple of the unloaded one.
    pub p99: Option<f64>,
    /// The longest time to converge, in seconds.
    pub converged: Option<u32>,
    /// The highest limit, as a multiple of the capacity.
    pub highest: f64,
    /// The largest part refused.
    pub refused: f64,
}

/// The summary of runs of one scenario. None of no runs.
#[must_use]
pub fn summarize(runs: &[Figures]) -> Option<Summary> {
    let worst = |figure: fn(&Figures) -> f64| runs.iter().map(figure).fold(0.0, f64::max);
    let all_converged: Option<Vec<u32>> = runs.iter().map(|run| run.converged).collect();
    let all_p99: Option<Vec<f64>> = runs.iter().map(|run| run.p99).collect();
    Some(Summary {
        goodput: runs.iter().map(|run| run.goodput).sum::<f64>() / runs.len() as f64,
        p99: all_p99?.into_iter().reduce(f64::max),
        converged: all_converged.and_then(|all| all.into_iter().max()),
        highest: worst(|run| run.highest),
        refused: worst(|run| run.refused),
    })
    .filter(|_| !runs.is_empty())
}

/// One subject in one scenario over seeds.
#[must_use]
pub fn over_seeds(subject: Subject, scenario: &Scenario, seeds: &[u64]) -> Vec<Figures> {
    seeds.iter().map(|seed| subject.measure(scenario, *seed)).collect()
}

/// The comparison of all subjects in all scenarios. Each line is `goodput / p99 / seconds / highest limit`.
#[must_use]
pub fn comparison(seeds: &[u64], mut progress: impl FnMut(&str)) -> String {
    let mut table = header("scenario");
    for scenario in &SCENARIOS {
        progress(scenario.name);
        let cells = SUBJECTS.map(|subject| cell(subject, &over_seeds(subject, scenario, seeds)));
        let _ = writeln!(table, "| {} | {} |", scenario.name, cells.join(" | "));
    }
    table
}

/// An hour of mild overload: goodput, the highest limit and the baseline at the end, of one seed.
#[must_use]
pub fn hour(seed: u64, mut progress: impl FnMut(&str)) -> String {
    let mut table = String::from(
        "| one hour at 1.1 × | goodput | highest limit (k = 40) | baseline at the end (true: 20 ms) |\n\
         | --- | ---: | ---: | ---: |\n",
    );
    for subject in SUBJECTS.iter().skip(2) {
        progress(subject.name());
        let figures = subject.measure(&HOUR, seed);
        let highest = figures.highest * HOUR.capacity.0;
        let baseline = figures.baseline.unwrap_or(0) as f64 / 1e3;
        let _ = writeln!(
            table,
            "| {} | {:.0} % | {highest:.0} | {baseline:.1} ms |",
            subject.name(),
            figures.goodput * 100.0
        );
    }
    table
}

/// The limits of one run of every adaptive subject, one line per second: `subject,second,answers,limit`.
#[must_use]
pub fn series(scenario: &Scenario, seed: u64) -> String {
    let mut lines = String::from("subject,second,answers,limit\n");
    for subject in SUBJECTS {
        let figures = subject.measure(scenario, seed);
        for (second, (answers, limit)) in figures.answers.iter().zip(&figures.limits).enumerate() {
            let _ = writeln!(lines, "{},{second},{answers},{limit}", subject.name().replace(',', ""));
        }
    }
    lines
}

fn header(first: &str) -> String {
    let names: Vec<_> = SUBJECTS.iter().map(|subject| subject.name()).collect();
    format!("| {first} | {} |\n| --- |{}\n", names.join(" | "), " ---: |".repeat(SUBJECTS.len()))
}

fn cell(subject: Subject, runs: &[Figures]) -> String {
    let goodput = 100.0 * runs.iter().map(|run| run.goodput).sum::<f64>() / runs.len() as f64;
    let Some(summary) = summarize(runs) else { return format!("{goodput:.0}") };
    if matches!(subject, Subject::FixedCapacity | Subject::Unlimited) {
        return format!("{goodput:.0}");
    }
    let p99 = summary.p99.map_or("–".into(), |p99| format!("{p99:.1}"));
    let converged = summary.converged.map_or("–".into(), |seconds| seconds.to_string());
    format!("{goodput:.0}/{p99}/{converged}/{:.1}", summary.highest)
}
