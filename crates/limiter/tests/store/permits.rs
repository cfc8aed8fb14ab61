//! Concurrency limits in a store: several limiters, as if of several processes, never have more permits than the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use tollgate::{AcquireError, ConcurrencyLimit, FailureRule, Limiter};
use tollgate_testing::patience;

use crate::support::World;

fn limit(limiter: &Limiter, most: u32, fails: FailureRule) -> ConcurrencyLimit {
    limiter.shared_concurrency("reports", most, fails)
}

/// Waits until the store grants: while it has no marker, it grants nothing for one lease.
fn warmed(world: &World, limits: &[&ConcurrencyLimit]) {
    for limit in limits {
        patience::until("the store grants", || world.runtime.block_on(limit.acquire_now("warm")).is_ok());
    }
}

#[test]
fn two_processes_share_the_permits_of_a_key() {
    let world = World::new();
    let (one, other) = (world.limiter(), world.limiter());
    let (one, other) = (limit(&one, 2, FailureRule::Deny), limit(&other, 2, FailureRule::Deny));
    warmed(&world, &[&one, &other]);
    world.runtime.block_on(async {
        let first = one.acquire_now("ada").await.unwrap();
        assert_eq!((first.remaining(), first.is_void(), first.is_degraded()), (1, false, false));
        let second = other.acquire_now("ada").await.unwrap();
        assert!(matches!(one.acquire_now("ada").await, Err(AcquireError::Busy(_))));
        assert!(one.acquire_now("bob").await.is_ok());
        drop(second);
        // Whoever waits gets what the other process gives back.
        let third = one.acquire("ada").within(Duration::from_secs(5)).await.unwrap();
        assert!(matches!(
            other.acquire("ada").within(Duration::from_millis(30)).await,
            Err(AcquireError::TimedOut(_))
        ));
        drop((first, third));
        let all = [other.acquire("ada").await.unwrap(), other.acquire("ada").await.unwrap()];
        assert_eq!(other.in_flight("ada"), 2);
        drop(all);
    });
}

#[test]
fn whoever_must_not_block_is_told_and_a_key_that_is_too_long_is_refused() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limit(&limiter, 1, FailureRule::Deny);
    warmed(&world, &[&limit]);
    // A thread outside the runtime may block.
    assert!(limit.try_acquire("ada").is_ok());
    world.runtime.block_on(async {
        assert!(matches!(limit.try_acquire("bob"), Err(AcquireError::WouldBlock { .. })));
        let long = vec![b'x'; 1 << 17];
        assert!(matches!(limit.acquire_now(&long[..]).await, Err(AcquireError::KeyTooLong { .. })));
        assert!(matches!(limit.acquire(&long[..]).await, Err(AcquireError::KeyTooLong { .. })));
    });
}

#[test]
fn without_the_store_each_failure_rule_does_what_it_says() {
    let mut world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(200));
    world.server.kill();
    let named = |name: &str, fails| limiter.shared_concurrency(name, 4, fails);
    world.runtime.block_on(async {
        let deny = named("deny", FailureRule::Deny);
        assert!(matches!(deny.acquire_now("ada").await, Err(AcquireError::Unavailable { .. })));
        let allow = named("allow", FailureRule::Allow);
        let mut permits = Vec::new();
        for _ in 0..9 {
            permits.push(allow.acquire_now("ada").await.unwrap());
        }
        assert!(permits.iter().all(|permit| permit.is_degraded() && !permit.is_void()));
        // Half of four.
        let local = named("local", FailureRule::Local { share: 1, of: 2 });
        let held = [local.acquire_now("ada").await.unwrap(), local.acquire_now("ada").await.unwrap()];
        assert!(matches!(local.acquire_now("ada").await, Err(AcquireError::Busy(_))));
        drop(held);
        assert!(local.acquire_now("ada").await.is_ok());
        let none = named("none", FailureRule::Local { share: 1, of: 5 });
        assert!(matches!(none.acquire_now("ada").await, Err(AcquireError::Unavailable { .. })));
    });
}

#[test]
fn under_load_no_more_than_the_limit_are_in_use_and_every_slot_is_given_back() {
    let world = World::new();
    let limiters: Vec<_> = (0..4).map(|_| world.limiter()).collect();
    let limits: Vec<_> = limiters.iter().map(|limiter| limit(limiter, 5, FailureRule::Deny)).collect();
    warmed(&world, &limits.iter().collect::<Vec<_>>());
    let (in_use, most, done) =
        (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)), Arc::new(AtomicU64::new(0)));
    world.runtime.block_on(async {
        let mut tasks = Vec::new();
        for number in 0..60_usize {
            let limit = limits[number % limits.len()].clone();
            let (in_use, most, done) = (Arc::clone(&in_use), Arc::clone(&most), Arc::clone(&done));
            tasks.push(tokio::spawn(async move {
                for turn in 0..10_u64 {
                    // Some lose patience, at any await point.
                    let acquiring = limit.acquire("ada");
                    let permit = if turn % 5 == 4 {
                        tokio::time::timeout(Duration::from_millis(turn), acquiring)
                            .await
                            .ok()
                            .map(Result::unwrap)
                    } else {
                        Some(acquiring.await.unwrap())
                    };
                    let Some(permit) = permit else { continue };
                    most.fetch_max(in_use.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_micros(500)).await;
                    in_use.fetch_sub(1, Ordering::SeqCst);
                    assert!(!permit.is_void());
                    drop(permit);
                    done.fetch_add(1, Ordering::SeqCst);
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        // All of it is free again.
        let mut all = Vec::new();
        for _ in 0..5 {
            all.push(limits[0].acquire("ada").within(Duration::from_secs(5)).await.unwrap());
        }
        assert!(matches!(limits[1].acquire_now("ada").await, Err(AcquireError::Busy(_))));
    });
    let (most, done) = (most.load(Ordering::SeqCst), done.load(Ordering::SeqCst));
    assert!((4..=5).contains(&most), "{most} at the same time");
    assert!(done >= 480, "{done} requests");
}
