//! Requests that wait in queues: what a waiter takes in memory, and what a departure takes in time. On the manual clock.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use tollgate::{Clock, Departure, Limiter, Micros, QueueError, Quota};

use crate::memory::allocated;
use crate::stopwatch;

const WAITERS_OF_A_KEY: usize = 10;

/// Notes who was woken.
struct Woken {
    number: u32,
    all: Arc<Mutex<Vec<u32>>>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

type Entering = Pin<Box<dyn Future<Output = Result<Departure, QueueError>>>>;

/// A waiter with its waker; `None` when it has left.
type Waiter = (Option<Entering>, Waker);

/// More and more waiters.
pub(crate) fn departures() -> Result<(), Box<dyn std::error::Error>> {
    println!("### Queues: ten waiters of each key, which leave one after the other\n");
    println!("| waiters | keys | bytes per waiter | time per departure |\n|---|---|---|---|");
    for waiters in [1_000, 10_000, 100_000] {
        let (bytes, nanos) = measured(waiters)?;
        println!("| {waiters} | {} | {bytes:.1} | {nanos:.0} ns |", waiters / WAITERS_OF_A_KEY);
    }
    println!();
    Ok(())
}

fn measured(waiters: usize) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let clock = Clock::manual(Micros::from_secs(1_000_000));
    let limiter = Limiter::builder().clock(clock.clock()).build()?;
    let interval = Micros::from_millis(10);
    let queue = limiter.leaky_queue("queue", Quota::new(WAITERS_OF_A_KEY as u64, 1, interval)?);
    let keys = waiters / WAITERS_OF_A_KEY;
    for key in 0..keys {
        queue.try_enter(key as u64)?;
    }
    let woken = Arc::new(Mutex::new(Vec::with_capacity(2 * waiters)));
    let mut all: Vec<Waiter> = (0..waiters)
        .map(|number| {
            let queue = queue.clone();
            let entering: Entering = Box::pin(async move { queue.enter((number % keys) as u64).await });
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            (Some(entering), Waker::from(Arc::new(Woken { number, all: Arc::clone(&woken) })))
        })
        .collect();
    let before = allocated();
    for (entering, waker) in &mut all {
        let first = entering.as_mut().map(|entering| entering.as_mut().poll(&mut Context::from_waker(waker)));
        assert!(first.is_some_and(|polled| polled.is_pending()), "everybody waits");
    }
    let bytes = (allocated() - before) as f64 / waiters as f64;
    let (mut left, mut ready) = (0, Vec::with_capacity(2 * waiters));
    let start = stopwatch::start();
    for _ in 0..WAITERS_OF_A_KEY {
        clock.advance(Duration::from(interval));
        // Who leaves wakes the next.
        loop {
            std::mem::swap(&mut ready, &mut woken.lock().unwrap_or_else(PoisonError::into_inner));
            if ready.is_empty() {
                break;
            }
            for number in ready.drain(..) {
                let (entering, waker) = &mut all[number as usize];
                let polled =
                    entering.as_mut().map(|entering| entering.as_mut().poll(&mut Context::from_waker(waker)));
                if polled.is_some_and(|polled| polled.is_ready()) {
                    *entering = None;
                    left += 1;
                }
            }
        }
    }
    let nanos = start.elapsed().as_secs_f64() * 1e9 / waiters as f64;
    assert_eq!(left, waiters, "everybody leaves");
    Ok((bytes, nanos))
}
