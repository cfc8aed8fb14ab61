//! The table on the front page, recomputed: every entry is measured here, or comes from the counts on record.

use std::path::Path;

use tollgate_algorithms::algorithm::list::Entry;
use tollgate_algorithms::{Algorithm, Count, Debt, State, TwoCounts};
use tollgate_testing::snapshot;

use crate::key::{Key, SECOND, of, wait};

const COUNTS: &str = include_str!("../../../../bench/core.txt");

/// What must be kept for one key.
fn memory(algorithm: Algorithm) -> String {
    let entry = size_of::<Entry>();
    match algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra => {
            format!("{} bytes", size_of::<Debt>())
        }
        Algorithm::FixedWindow => format!("{} bytes", size_of::<Count>()),
        Algorithm::SlidingWindow => format!("{} bytes", size_of::<TwoCounts>()),
        Algorithm::SlidingWindowBuckets => {
            assert_eq!(most_entries(algorithm), 10 + 1);
            format!("{entry} bytes × (buckets + 1)")
        }
        Algorithm::SlidingWindowLog => {
            assert_eq!(most_entries(algorithm), 50);
            format!("{entry} bytes × limit")
        }
    }
}

/// The longest list under a limit of 50 in 100 us (and ten buckets), with a hit every microsecond.
fn most_entries(algorithm: Algorithm) -> usize {
    let mut key = Key::new(of(algorithm, 50, 100));
    let lengths = (1_000..2_000).map(|at| {
        key.hit(at, 1);
        match &key.state {
            Some(State::SlidingWindowBuckets(list) | State::SlidingWindowLog(list)) => list.len(),
            other => panic!("not a list: {other:?}"),
        }
    });
    lengths.max().unwrap()
}

/// What the page says of a state in memory.
#[test]
fn a_state_takes_48_bytes() {
    assert_eq!(size_of::<State>(), 48);
}

/// Greedy demand at every tick and phase, and sparser demand: the most that one window admitted, and whether a hit was
/// refused although fewer than the limit had been admitted in the last window.
fn errors(algorithm: Algorithm) -> (u64, bool) {
    let (limit, window) = (10, 100);
    let (mut most, mut refused_with_room) = (0, false);
    for phase in 0..window {
        for gap in [1, 3, 7, 40, 99, 100, 101] {
            let mut key = Key::new(of(algorithm, limit, window));
            let mut admitted: Vec<u64> = Vec::new();
            let mut at = 100 * window + phase;
            let end = at + 6 * window;
            while at < end {
                let ask = if gap == 1 { 20 } else { 1 + at % 7 };
                for _ in 0..ask {
                    let in_window =
                        |admitted: &[u64]| admitted.iter().filter(|&&then| then + window > at).count() as u64;
                    if key.hit(at, 1).is_granted() {
                        admitted.push(at);
                        most = most.max(in_window(&admitted));
                    } else {
                        refused_with_room |= in_window(&admitted) < limit;
                    }
                }
                at += gap;
            }
        }
    }
    (most, refused_with_room)
}

fn accuracy((most, under): (u64, bool)) -> &'static str {
    match (most > 10, under) {
        (false, false) => "exact",
        (true, false) => "admits more",
        (false, true) => "refuses more",
        (true, true) => "both ways",
    }
}

/// After all ten were taken at once, three seconds into an aligned window: when there is one more, and when ten.
fn after_a_burst(algorithm: Algorithm) -> String {
    let mut key = Key::new(of(algorithm, 10, 10 * SECOND));
    let now = 1_003 * SECOND;
    assert_eq!(key.take(now, 10), 10);
    let seconds = |cost| wait(&key.peek(now, cost)) / SECOND;
    format!("{} s, {} s", seconds(1), seconds(10))
}

fn instructions(algorithm: Algorithm) -> String {
    let count = |what: &str| {
        let name = format!("{} {what} 100 ", algorithm.name());
        COUNTS.lines().find_map(|line| line.strip_prefix(&name)).unwrap().to_string()
    };
    format!("{}, {}", count("granted"), count("refused"))
}

fn table() -> String {
    let mut table = String::from(
        "| algorithm | state of a key | against “10 in any 10 s” | most in any 10 s | after a burst of 10: one more, ten more | instructions: granted, refused |\n\
         |---|---|---|---|---|---|\n",
    );
    for algorithm in Algorithm::ALL {
        let name = algorithm.name();
        let errors = errors(algorithm);
        table += &format!(
            "| [`{name}`](algorithm::{name}) | {} | {} | {} | {} | {} |\n",
            memory(algorithm),
            accuracy(errors),
            errors.0,
            after_a_burst(algorithm),
            instructions(algorithm)
        );
    }
    table
}

#[test]
fn every_entry_of_the_table_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/docs/choosing.md");
    snapshot::check_table(&page, &table()).unwrap_or_else(|why| panic!("{why}"));
}
