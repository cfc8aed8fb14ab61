//! Queues in a store: the requests of several limiters, as if of several processes, leave one interval apart, all together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tollgate::{FailureRule, LeakyQueue, Limiter, Micros, QueueError, Quota};

use crate::support::World;

/// One every so many milliseconds, and so many wait.
fn every(millis: u64, capacity: u64) -> Quota {
    Quota::new(capacity, 1, Micros::from_millis(millis)).expect("a quota")
}

fn queue(limiter: &Limiter, quota: Quota) -> LeakyQueue {
    limiter.shared_leaky_queue("mails", quota, FailureRule::Deny)
}

#[test]
fn four_processes_keep_one_interval() {
    const INTERVAL: Duration = Duration::from_millis(20);
    let world = World::new();
    let limiters: Vec<_> = (0..4).map(|_| world.limiter()).collect();
    let departures = Arc::new(Mutex::new(Vec::new()));
    world.runtime.block_on(async {
        let mut tasks = Vec::new();
        for limiter in &limiters {
            let queue = queue(limiter, every(20, 100));
            for _ in 0..15 {
                let (queue, departures) = (queue.clone(), Arc::clone(&departures));
                tasks.push(tokio::spawn(async move {
                    let entered = Instant::now();
                    let departure = queue.enter("ada").await.unwrap();
                    departures.lock().unwrap().push(entered + departure.waited);
                }));
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    let mut departures = departures.lock().unwrap().clone();
    departures.sort();
    assert_eq!(departures.len(), 60);
    let gaps: Vec<_> = departures.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The machine of a test may stop it between reading the time and leaving; that must stay the exception.
    let short = gaps.iter().filter(|gap| **gap < INTERVAL - Duration::from_micros(1_500)).count();
    assert!(short <= 2, "{short} gaps are short: {gaps:?}");
    let all = *departures.last().unwrap() - departures[0];
    assert!(all >= INTERVAL * 59 - Duration::from_millis(5), "all have left after {all:?}");
}

#[test]
fn who_could_not_leave_in_time_is_refused_at_once_and_told_the_wait() {
    let world = World::new();
    let (one, other) = (world.limiter(), world.limiter());
    let (one, other) = (queue(&one, every(60_000, 1)), queue(&other, every(60_000, 1)));
    world.runtime.block_on(async {
        assert_eq!(one.enter("ada").await.unwrap().behind, 0);
        // In the other process it is known that somebody has just left.
        let most = Duration::from_secs(1);
        let Err(QueueError::TooLong(wait)) = other.enter_within("ada", most).await else {
            panic!("it is too long")
        };
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(60), "{wait:?}");
        assert!(other.enter("bob").await.is_ok());
        let waiting = tokio::spawn({
            let one = one.clone();
            async move { one.enter("ada").await }
        });
        tollgate_testing::patience::until("it waits", || one.waiting("ada") == 1);
        let full = loop {
            match other.enter_within("ada", Duration::from_millis(1)).await {
                // The reservation of the other process is on its way.
                Err(QueueError::TooLong(_)) => tokio::task::yield_now().await,
                Err(QueueError::Full(wait)) => break wait,
                ended => panic!("nobody has left: {ended:?}"),
            }
        };
        assert!(full > Duration::ZERO && full <= Duration::from_secs(60), "{full:?}");
        // Whoever leaves the line gives the slot back, so that another one can have the place.
        waiting.abort();
        assert!(waiting.await.is_err());
        let refused = loop {
            match other.enter_within("ada", Duration::from_millis(1)).await {
                Err(QueueError::Full(_)) => tokio::task::yield_now().await,
                other => break other,
            }
        };
        assert!(matches!(refused, Err(QueueError::TooLong(_))), "{refused:?}");
    });
}

#[test]
fn without_the_store_each_failure_rule_does_what_it_says() {
    let mut world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(200));
    world.server.kill();
    let named = |name: &str, fails| limiter.shared_leaky_queue(name, every(60_000, 5), fails);
    world.runtime.block_on(async {
        let deny = named("deny", FailureRule::Deny);
        assert!(matches!(deny.enter("ada").await, Err(QueueError::Unavailable(_))));
        let allow = named("allow", FailureRule::Allow);
        for _ in 0..3 {
            assert!(allow.enter("ada").await.is_ok());
        }
        let local = named("local", FailureRule::Local { share: 1, of: 2 });
        assert!(local.enter("ada").await.is_ok());
        // Half as fast as all together.
        let Err(QueueError::TooLong(wait)) = local.enter_within("ada", Duration::ZERO).await else {
            panic!("it has to wait")
        };
        assert!(wait > Duration::from_secs(110), "{wait:?}");
    });
}
