//! Acquiring and releasing a permit, on one thread, beside tokio's semaphore.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use dashmap::DashMap;
use tokio::sync::Semaphore;
use tollgate::Limiter;

use crate::memory::allocated;

const ROUNDS: usize = 9;
const OPERATIONS: usize = 1_000_000;
const KEYS: usize = 100_000;

/// The median of some rounds, in nanoseconds for one operation.
fn nanos(mut round: impl FnMut(usize)) -> f64 {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..OPERATIONS).for_each(&mut round);
            start.elapsed().as_secs_f64() * 1e9 / OPERATIONS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

/// One limit for everybody.
pub(crate) fn unkeyed() -> Result<(), Box<dyn std::error::Error>> {
    let limit = Limiter::new()?.concurrency("all", 100);
    let ours = nanos(|_| drop(black_box(limit.try_acquire(()))));
    let semaphore = Semaphore::new(100);
    let theirs = nanos(|_| drop(black_box(semaphore.try_acquire())));
    println!("Unkeyed: acquire and release, one thread\n");
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
    let ours = nanos(|at| drop(black_box(limit.try_acquire(name(at).as_str()))));
    drop(held);

    let before = allocated();
    let semaphores: DashMap<String, Arc<Semaphore>> = DashMap::new();
    for name in &names {
        semaphores.insert(name.clone(), Arc::new(Semaphore::new(100)));
    }
    let of_theirs = (allocated() - before) as f64 / KEYS as f64;
    let theirs = nanos(|at| {
        let semaphore = semaphores.get(name(at).as_str()).map(|found| Arc::clone(&found));
        drop(black_box(semaphore.map(Semaphore::try_acquire_owned)));
    });
    let of_ours = counted as f64 / KEYS as f64;
    println!("Keyed: acquire and release, 100,000 keys, one thread\n");
    println!("| | time | ratio | bytes per key | of theirs |\n|---|---|---|---|---|");
    println!("| tollgate | {ours:.1} ns | {:.2} | {of_ours:.1} | {:.2} |", ours / theirs, of_ours / of_theirs);
    println!("| DashMap of tokio Semaphores | {theirs:.1} ns | 1.00 | {of_theirs:.1} | 1.00 |\n");
    Ok(())
}
