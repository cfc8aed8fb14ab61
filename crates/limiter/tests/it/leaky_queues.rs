//! The leaky bucket as a queue: exact on its schedule, in order, bounded, and whoever leaves delays nobody. On the manual clock.

use std::time::Duration;

use tollgate::{Departure, LeakyQueue, Limiter, ManualClock, Micros, QueueError, Quota};
use tollgate_testing::random::Random;

use crate::waiting::Task;
use crate::with_clock;

type Entering = Task<Result<Departure, QueueError>>;

/// One leaves every 10 ms, and four may wait.
fn queue() -> (Limiter, ManualClock, LeakyQueue) {
    let (limiter, clock) = with_clock();
    let queue = limiter.leaky_queue("mails", Quota::new(4, 1, Micros::from_millis(10)).unwrap());
    (limiter, clock, queue)
}

fn enter(queue: &LeakyQueue, key: &'static str) -> (Entering, Option<Result<Departure, QueueError>>) {
    let queue = queue.clone();
    Task::new(async move { queue.enter(key).await })
}

/// Lets time pass, in steps of 1 ms, and lists when each of them leaves. Nobody is polled without having been woken.
fn departures(line: &mut Vec<Entering>, clock: &ManualClock) -> Vec<u64> {
    let (start, mut left) = (clock.now(), Vec::new());
    for _ in 0..10_000 {
        for _ in 0..2 {
            line.retain_mut(|task| {
                let done = task.run();
                left.extend(done.iter().map(|_| clock.now().saturating_sub(start).get() / 1_000));
                done.is_none_or(|departure| departure.is_err())
            });
        }
        if line.is_empty() {
            return left;
        }
        clock.advance(Duration::from_millis(1));
    }
    panic!("{} never leave", line.len());
}

#[test]
fn requests_leave_in_order_and_one_interval_apart() {
    let (_limiter, clock, queue) = queue();
    assert_eq!(enter(&queue, "ada").1, Some(Ok(Departure { waited: Duration::ZERO, behind: 0 })));
    let mut line: Vec<_> = (0..4).map(|_| enter(&queue, "ada").0).collect();
    assert_eq!(queue.waiting("ada"), 4);
    assert!(enter(&queue, "bob").1.is_some(), "another key has a schedule of its own");
    assert_eq!(departures(&mut line, &clock), [10, 20, 30, 40]);
    clock.advance(Duration::from_millis(3));
    let mut line = vec![enter(&queue, "ada").0];
    assert_eq!(departures(&mut line, &clock), [7], "the schedule goes on");
    clock.advance(Duration::from_secs(1));
    assert!(enter(&queue, "ada").1.is_some(), "and begins anew after a while");
}

#[test]
fn who_would_wait_for_too_long_is_refused_at_once_and_told_for_how_long() {
    let (_limiter, clock, queue) = queue();
    assert!(enter(&queue, "ada").1.is_some());
    let line: Vec<_> = (0..4).map(|_| enter(&queue, "ada").0).collect();
    assert_eq!(enter(&queue, "ada").1, Some(Err(QueueError::Full(Duration::from_millis(10)))));
    drop(line);
    assert_eq!(queue.waiting("ada"), 0);
    let short = queue.clone().with_max_wait(Duration::from_millis(15));
    let (mut first, _) = enter(&short, "ada");
    assert_eq!(enter(&short, "ada").1, Some(Err(QueueError::TooLong(Duration::from_millis(20)))));
    let patient = queue.clone();
    let (_, refused) = Task::new(async move { patient.enter_within("ada", Duration::from_millis(19)).await });
    assert_eq!(refused, Some(Err(QueueError::TooLong(Duration::from_millis(20)))));
    clock.advance(Duration::from_millis(10));
    assert_eq!(first.run(), Some(Ok(Departure { waited: Duration::from_millis(10), behind: 0 })));
}

#[test]
fn who_leaves_the_queue_frees_a_place_and_delays_nobody() {
    for cancelled in 0..4 {
        for passed in [0, 5, 10] {
            let (_limiter, clock, queue) = queue();
            assert!(enter(&queue, "ada").1.is_some());
            let mut line: Vec<_> = (0..4).map(|_| enter(&queue, "ada").0).collect();
            clock.advance(Duration::from_millis(passed));
            drop(line.remove(cancelled));
            line.push(enter(&queue, "ada").0);
            let left: Vec<_> = departures(&mut line, &clock).iter().map(|at| at + passed).collect();
            assert_eq!(left, [10, 20, 30, 40], "number {cancelled} went after {passed} ms");
        }
    }
}

/// With requests that come, go and are late at random, gaps on the schedule are exact, and order is kept.
#[test]
fn random_requests_leave_in_order_and_never_too_early() {
    for seed in 0..30 {
        let (_limiter, clock, queue) = queue();
        let queue = queue.with_strict(seed % 2 == 0);
        let least = if seed % 2 == 0 { 10_000 } else { 9_000 };
        let (mut random, mut line, mut last) = (Random::new(seed), Vec::new(), None::<Micros>);
        for number in 0..2_000_u32 {
            clock.advance(Duration::from_micros(random.below(4_000)));
            let now = clock.now();
            let mut left = 0;
            if random.below(2) == 0 {
                let (task, first) = enter(&queue, "ada");
                match first {
                    None => line.push((number, task)),
                    Some(Ok(_)) => {
                        assert!(line.is_empty(), "nobody overtakes");
                        left += 1;
                    }
                    Some(Err(_)) => assert_eq!(line.len(), 4, "a place is free"),
                }
            }
            if random.below(8) == 0 && !line.is_empty() {
                drop(line.remove(usize::try_from(random.below(line.len() as u64)).unwrap()));
            }
            // Who was polled may have given the turn to the next.
            for _ in 0..2 {
                if let Some((_, task)) = line.first_mut()
                    && let Some(done) = task.run()
                {
                    assert!(done.is_ok());
                    left += 1;
                    line.remove(0);
                }
            }
            assert!(line.iter().skip(1).all(|(_, task)| !task.is_woken()), "only the first is woken");
            assert!(left <= 1, "two leave at once");
            if left == 1 {
                let gap = last.replace(now).map_or(u64::MAX, |last| now.saturating_sub(last).get());
                assert!(gap >= least, "a gap of {gap} µs, seed {seed}");
            }
        }
    }
}

#[test]
fn schedules_that_are_over_take_no_memory_and_too_many_are_refused() {
    let clock = tollgate::Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter =
        Limiter::builder().max_memory(tollgate::MAX_MEMORY_BYTES_MIN).clock(clock.clock()).build().unwrap();
    let queue = limiter.leaky_queue("mails", Quota::new(4, 1, Micros::SECOND).unwrap());
    let enter = |key: u32| {
        let queue = queue.clone();
        Task::new(async move { queue.enter(key).await }).1.expect("nobody waits")
    };
    let entered = (0..10_000).take_while(|key| enter(*key).is_ok()).count();
    assert_eq!(entered, 2_048, "one sixteenth of the budget");
    assert_eq!(enter(10_000), Err(QueueError::NoRoom));
    clock.advance(Duration::from_secs(1));
    assert!((20_000..22_048).all(|key| enter(key).is_ok()), "those are over");
}

#[tokio::test]
async fn real_requests_leave_at_the_rate() {
    let limiter = Limiter::new().unwrap();
    let queue = limiter.leaky_queue("mails", Quota::new(100, 1, Micros::from_millis(2)).unwrap());
    let start = limiter.now();
    let all: Vec<_> = (0..20)
        .map(|_| {
            let (queue, limiter) = (queue.clone(), limiter.clone());
            tokio::spawn(async move {
                queue.enter("ada").await.unwrap();
                limiter.now()
            })
        })
        .collect();
    let mut last = Micros::ZERO;
    for task in all {
        let at = task.await.unwrap();
        assert!(at >= last, "in order");
        last = at;
    }
    assert!(last.saturating_sub(start) >= Micros::from_millis(38));
}
