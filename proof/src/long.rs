//! The long run: every algorithm against its model, every law, and constant demand, on all cores, with a report.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tollgate_algorithms::Algorithm;
use tollgate_proof::compare::{self, Tally};
use tollgate_proof::drift;
use tollgate_proof::engine::Core;
use tollgate_proof::laws::Law;
use tollgate_proof::spec::{Calendar, Spec};

/// How many decisions one piece of work compares. Each piece has a seed of its own.
const CHUNK: u64 = 1_000_000;

/// Prints the report as it grows. `only` leaves the other algorithms' comparison with the model out.
///
/// # Errors
/// With the first difference or broken law.
pub(crate) fn run(decisions: u64, seed: u64, only: Option<Algorithm>) -> Result<(), String> {
    println!("seed {seed}\n");
    println!(
        "| algorithm | decisions | differences | charged | refused | never | refunds | settled | clock back | changes | \
         time |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let chosen = |algorithm: &Algorithm| only.is_none_or(|only| only == *algorithm);
    for (number, algorithm) in (0..).zip(Algorithm::ALL).filter(|(_, algorithm)| chosen(algorithm)) {
        // Traces of their own for each: a piece of work says its seed if it finds something.
        let (tally, time) = timed(|| compared(algorithm, seed.wrapping_add(number << 40), decisions));
        let Tally { decisions, charged, refused, never, refunds, settled, clock_back, changed } = tally?;
        println!(
            "| {algorithm} | {decisions} | 0 | {charged} | {refused} | {never} | {refunds} | {settled} | {clock_back} | \
             {changed} | {} s |",
            time.as_secs()
        );
    }
    println!("\n| law | random cases, all algorithms | broken | time |\n|---|---|---|---|");
    for law in Law::ALL {
        let (cases, time) = timed(|| checked(law, seed, decisions / 1_000));
        println!("| {} | {} | 0 | {} s |", law.name(), cases?, time.as_secs());
    }
    println!("\n| constant demand | steps | time spanned | admitted | floor(capacity + rate x time) |");
    println!("|---|---|---|---|---|");
    for algorithm in [Algorithm::TokenBucket, Algorithm::LeakyBucket, Algorithm::Gcra] {
        drifted(algorithm, seed, decisions / 10)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

/// Compares on all cores, a chunk at a time.
fn compared(algorithm: Algorithm, seed: u64, decisions: u64) -> Result<Tally, String> {
    let sum = Mutex::new(Tally::default());
    on_all_cores(decisions.div_ceil(CHUNK), algorithm.name(), |chunk| {
        let tally = compare::run::<Core>(algorithm, seed.wrapping_add(chunk), CHUNK.min(decisions))?;
        sum.lock().map_err(|_| "a worker panicked")?.add(&tally);
        Ok(())
    })?;
    sum.into_inner().map_err(|_| "a worker panicked".into())
}

/// Checks a law on every algorithm.
fn checked(law: Law, seed: u64, cases: u64) -> Result<u64, String> {
    let algorithms = Algorithm::ALL.len() as u64;
    on_all_cores(algorithms, law.name(), |chunk| {
        let algorithm = Algorithm::ALL[usize::try_from(chunk).unwrap_or(0)];
        law.check::<Core>(algorithm, seed, cases).map(|_| ())
    })?;
    Ok(cases * algorithms)
}

/// 7 per 3 s, and a capacity of 5: does not divide, and must not drift.
fn drifted(algorithm: Algorithm, seed: u64, steps: u64) -> Result<(), String> {
    let spec =
        Spec { algorithm, limit: 5, count: 7, window: 3_000_000, buckets: 1, calendar: Calendar::None };
    let drift = drift::run::<Core>(&spec, seed, steps, 1_000_000)?;
    println!(
        "| {algorithm}, 7 per 3 s | {steps} | {} s | {} | {} |",
        drift.micros / 1_000_000,
        drift.admitted,
        drift.exact
    );
    if drift.admitted == drift.exact { Ok(()) } else { Err(format!("{algorithm} drifts: {drift:?}")) }
}

/// Hands out numbered pieces of work to as many threads as there are cores, and shows how far it is. The first failure
/// ends it.
fn on_all_cores(
    pieces: u64,
    name: &str,
    work: impl Fn(u64) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let next = AtomicU64::new(0);
    let worker = || {
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return Ok(());
            }
            if piece.is_multiple_of((pieces / 10).max(1)) {
                eprintln!("{name}: {piece} of {pieces}");
            }
            work(piece).inspect_err(|_| next.store(pieces, Ordering::Relaxed))?;
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into())))
    })
}
