//! Measures limiters in memory side by side: time, memory, worst latency. It prints one measurement a line;
//! the tables are made by `cargo xtask bench memory`.

mod child;
mod floor;
mod histogram;
mod keys;
mod latency;
mod ours;
mod peers;
mod print;
mod rss;
mod scale;
mod subject;
mod timed;
mod workload;

use scale::Scale;
use subject::Candidate;
use workload::Workload;

const USAGE: &str = "\
usage: memory [quick] [only WORKLOAD [SUBJECT]]
       memory rss SUBJECT KEYS       one subject's resident bytes per key, in a process of its own
       memory latency SUBJECT KEYS   one subject's latencies, in a process of its own";

/// Everybody who is measured. Ours come first, and so stand first in the tables.
fn candidates() -> Vec<Candidate> {
    [ours::candidates(), peers::candidates(), floor::candidates()].into_iter().flatten().collect()
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => everything(&Scale::FULL),
        ["quick"] => everything(&Scale::QUICK),
        ["only", name] => one(Workload::named(name)?, &candidates(), &Scale::FULL),
        ["only", name, subject] => one(Workload::named(name)?, &[child::named(subject)?], &Scale::FULL),
        ["quick", "only", name] => one(Workload::named(name)?, &candidates(), &Scale::QUICK),
        ["rss", subject, keys] => rss::measure(child::named(subject)?, child::count(keys)?),
        ["latency", subject, keys] => latency::measure(child::named(subject)?, child::count(keys)?),
        _ => Err(USAGE.into()),
    }
}

fn everything(scale: &Scale) -> Result<(), String> {
    let candidates = candidates();
    candidates.iter().for_each(print::note);
    Workload::ALL.into_iter().try_for_each(|workload| one(workload, &candidates, scale))
}

fn one(workload: Workload, candidates: &[Candidate], scale: &Scale) -> Result<(), String> {
    if workload == Workload::Rss {
        return rss::run(candidates, scale);
    } else if workload == Workload::Latency {
        return latency::run(candidates, scale);
    }
    workload::plans(workload, scale).iter().try_for_each(|plan| timed::run(plan, candidates, scale))
}
