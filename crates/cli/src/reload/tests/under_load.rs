//! Reloads while requests are checked: none fails, and the limit stays exact.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::super::*;
use super::support::{World, granted, policy};

/// Number of reloads.
const RELOADS: u64 = 100;
/// More than are granted before the reloads are over, less than are asked for.
const LIMIT: u64 = 100_000;

#[tokio::test]
async fn a_hundred_reloads_under_load_neither_lose_nor_repeat_a_charge() {
    let mut world = World::with(&policy(LIMIT, "")).await.run();
    let over = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicUsize::new(0));
    let asking: Vec<_> = (0..2)
        .map(|_| {
            let (live, over, count) = (Arc::clone(&world.live), Arc::clone(&over), Arc::clone(&count));
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    count.fetch_add(granted(&live, "/reports", 10), Ordering::Relaxed);
                    thread::yield_now();
                }
            })
        })
        .collect();
    for generation in 2..2 + RELOADS {
        world.ask().await;
        world.until_generation(generation).await;
    }
    over.store(true, Ordering::Relaxed);
    asking.into_iter().for_each(|thread| thread.join().unwrap());
    let before = count.load(Ordering::Relaxed);
    assert!(before > 0);
    let after = world.granted("/reports", usize::try_from(LIMIT).unwrap() + 10);
    assert_eq!(before + after, usize::try_from(LIMIT).unwrap());
    assert_eq!(world.metrics.reloads.ok.get(), RELOADS);
}
