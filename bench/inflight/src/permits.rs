//! Acquiring and releasing a permit, on one thread, beside tokio's semaphore.

use std::hint::black_box;
use std::sync::Arc;

use dashmap::DashMap;
use tokio::sync::Semaphore;
use tollgate::Limiter;

use crate::memory::allocated;
use crate::stopwatch;

const ROUNDS: usize = 9;
const OPERATIONS: usize = 1_000_000;
const KEYS: usize = 100_000;

/// The medians of some rounds of both, one after the other, in nanoseconds for one operation.
fn nanos(mut ours: impl FnMut(usize), mut theirs: impl FnMut(usize)) -> (f64, f64) {
    let time = |round: &mut dyn FnMut(usize)| {
        let start = stopwatch::start();
        (0..OPERATIONS).for_each(round);
        start.elapsed().as_secs_f64() * 1e9 / OPERATIONS as f64
    };
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        of_ours.push(time(&mut ours));
        of_theirs.push(time(&mut theirs));
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    };
    (median(of_ours), median(of_theirs))
}

/// One limit for everybody.
pub(crate) fn unkeyed() -> Result<(), Box<dyn std::error::Error>> {
    let limit = Limiter::new()?.concurrency("all", 100);
    let semaphore = Semaphore::new(100);
    let (ours, theirs) =
        nanos(|_| drop(black_box(limit.try_acquire(""))), |_| drop(black_box(semaphore.try_acquire())));
    println!("### Unkeyed: acquire and release, one thread\n");
    println!("| | time | ratio |\n|---|---|---|");
    println!("| tollgate | {ours:.1} ns | {:.2} |", ours / theirs);
    println!("| tokio Semaphore | {theirs:.1} ns | 1.00 |\n");
    Ok(())
}

/// A limit for each of many keys, which are asked for in an order that no cache foresees.
pub(crate) fn keyed() -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<String> = (0..KEYS).map(|key| format!("client-{key}")).collect();
    let name = |number: usize| &names[number.wrapping_mul(7_919) % KEYS];
    let limiter = Limiter::new()?;
    let limit = limiter.concurrency("clients", 100);
    let before = limiter.stats().bytes;
    let held: Vec<_> = names.iter().map(|name| limit.try_acquire(name.as_str())).collect();
    let counted = limiter.stats().bytes - before;
    drop(held);

    let before = allocated();
    let semaphores: DashMap<String, Arc<Semaphore>> = DashMap::new();
    for name in &names {
        semaphores.insert(name.clone(), Arc::new(Semaphore::new(100)));
    }
    let of_theirs = (allocated() - before) as f64 / KEYS as f64;
    let (ours, theirs) = nanos(
        |at| drop(black_box(limit.try_acquire(name(at).as_str()))),
        |at| {
            let semaphore = semaphores.get(name(at).as_str()).map(|found| Arc::clone(&found));
            drop(black_box(semaphore.map(Semaphore::try_acquire_owned)));
        },
    );
    let of_ours = counted as f64 / KEYS as f64;
    println!("### Keyed: acquire and release, 100,000 keys, one thread\n");
    println!("| | time | ratio | bytes per key | of theirs |\n|---|---|---|---|---|");
    println!(
        "| tollgate | {ours:.1} ns | {:.2} | {of_ours:.1} | {:.2} |",
        ours / theirs,
        of_ours / of_theirs
    );
    println!("| DashMap of tokio Semaphores | {theirs:.1} ns | 1.00 | {of_theirs:.1} | 1.00 |\n");
    Ok(())
}
