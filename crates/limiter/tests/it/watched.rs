//! All threads on a few keys, by a clock that goes: what was admitted is put to the independent model of the proof, charge by charge.
//! Whatever fits in a word is checked by `crowd.rs` too, interval by interval.

use std::time::Duration;

use tollgate::{Algorithm, Clock, Limiter, ManualClock, Micros, NamedLimit};
use tollgate_proof::engine::{Core, Engine as _};
use tollgate_proof::model;
use tollgate_proof::random::Random;
use tollgate_proof::spec::{Calendar, Spec};

/// More threads than processors, so that some lose theirs in the middle of a decision.
const THREADS: usize = 6;
const OPERATIONS: usize = 12_000;
/// Of refusals, one in so many is put to the model.
const REFUSALS_PER_LOOK: usize = 32;

/// One decision: when, what it cost, and whether it was granted.
type Decided = (u64, u64, bool);

/// Every algorithm, at twenty in a few milliseconds; a debt in a word and one in a cell.
fn specs() -> Vec<Spec> {
    let spec = |algorithm, count, window| Spec {
        algorithm,
        limit: 20,
        count,
        window,
        buckets: 5,
        calendar: Calendar::None,
    };
    let all = Algorithm::ALL.map(|algorithm| spec(algorithm, 20, 3_000));
    all.into_iter().chain([spec(Algorithm::Gcra, 10_007, 1_500_000)]).collect()
}

/// What all threads saw of each key.
fn run(limiter: &Limiter, named: &[NamedLimit], hands: Option<&ManualClock>) -> Vec<Vec<Decided>> {
    let logs: Vec<Vec<Vec<Decided>>> = std::thread::scope(|scope| {
        let one = |thread: usize| scope.spawn(move || one_thread(limiter, named, hands, thread));
        let threads: Vec<_> = (0..THREADS).map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let of_key = |key: usize| logs.iter().flat_map(|log| &log[key]).copied().collect();
    (0..named.len()).map(of_key).collect()
}

/// What one thread saw of each key. If it has the hands of the clock, it moves them on now and then.
fn one_thread(
    limiter: &Limiter,
    named: &[NamedLimit],
    hands: Option<&ManualClock>,
    thread: usize,
) -> Vec<Vec<Decided>> {
    let mut random = Random::case(11, thread as u64);
    let mut logs = vec![Vec::new(); named.len()];
    let mut refusals = 0;
    for operation in 0..OPERATIONS {
        let key = (thread + operation) % named.len();
        let cost = 1 + random.below(3);
        if let Some(hands) = hands.filter(|_| operation % 4 == 0) {
            // Mostly a microsecond, sometimes a good part of a window: so that instants are met by many, and boundaries hit.
            let step = if random.one_in(64) { random.below(2_000) } else { 1 };
            hands.advance(Duration::from_micros(step));
        }
        if operation % 8 == 0 {
            // Two at once, in an order of each thread's own.
            let other = (key + 1 + thread) % named.len();
            let keys = if key == other { vec![key] } else { vec![key, other] };
            let hits: Vec<_> = keys.iter().map(|key| named[*key].hit("few").cost(cost)).collect();
            let verdict = limiter.try_charge(&hits).unwrap();
            if verdict.is_granted() {
                for (key, answer) in keys.iter().zip(verdict.results()) {
                    logs[*key].push((answer.decision().at.get(), cost, true));
                }
            }
            continue;
        }
        let verdict = limiter.try_charge(&[named[key].hit("few").cost(cost)]).unwrap();
        refusals += usize::from(!verdict.is_granted());
        if verdict.is_granted() || refusals % REFUSALS_PER_LOOK == 0 {
            logs[key].push((verdict.results()[0].decision().at.get(), cost, verdict.is_granted()));
        }
    }
    logs
}

/// Puts the decisions on one key to the model, in the order of time.
fn check(spec: &Spec, mut log: Vec<Decided>, is_in_a_word: bool) -> (usize, usize) {
    // Of one instant, those that were granted come first: whoever was refused then was refused after them, or for less.
    log.sort_unstable_by_key(|(at, cost, granted)| (*at, !granted, *cost));
    let mut model = model::of(spec.algorithm);
    let (mut admitted, mut refused) = (0, 0);
    for (at, cost, granted) in log {
        let look = model.look(spec, at);
        assert_eq!(look.at, at, "the clock does not run back");
        let fits = model.fits(spec, look, spec.limit, cost);
        if granted {
            assert!(fits, "{cost} at {at} is too much: {spec:?}");
            model.charge(spec, look, cost);
            admitted += 1;
        } else if !is_in_a_word {
            // A word may have been charged by who read the clock later and came first; a cell is decided in the order of time.
            assert!(!fits, "{cost} at {at} was refused, and fits: {spec:?}");
            refused += 1;
        }
    }
    (admitted, refused)
}

fn watch(clock: Clock, hands: Option<&ManualClock>) {
    let limiter = Limiter::builder().clock(clock).build().unwrap();
    let specs = specs();
    let named: Vec<_> = specs
        .iter()
        .enumerate()
        .map(|(number, spec)| limiter.limit(&format!("limit {number}"), Core::limit(spec).unwrap()))
        .collect();
    let logs = run(&limiter, &named, hands);
    for (spec, log) in specs.iter().zip(logs) {
        let is_in_a_word = spec.is_debt() && spec.count == 20;
        let (admitted, refused) = check(spec, log, is_in_a_word);
        assert!(admitted > 20 && (is_in_a_word || refused > 0), "{spec:?}: {admitted}, {refused}");
    }
}

#[test]
fn every_algorithm_admits_what_the_model_admits_on_the_systems_clock() {
    watch(Clock::monotonic(), None);
}

#[test]
fn every_algorithm_admits_what_the_model_admits_on_a_clock_that_all_threads_move() {
    let hands = Clock::manual(Micros::from_secs(1_763_208_000));
    watch(hands.clock(), Some(&hands));
}
