//! Waiting: first come, first served for each key, nobody polls, and whoever leaves delays nobody. On the manual clock.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tollgate::{
    Acquire, AcquireError, ConcurrencyLimit, Limit, Limiter, ManualClock, Micros, NamedLimit, Permit,
    Verdict, WaitError,
};
use tollgate_testing::random::Random;

use crate::with_clock;

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A future that is polled only when somebody has woken it.
pub(crate) struct Task<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
    woken: Arc<Woken>,
    polled: usize,
}

impl<T> Task<T> {
    /// Polls it once.
    pub(crate) fn new(future: impl Future<Output = T> + 'static) -> (Self, Option<T>) {
        let mut task = Self { future: Box::pin(future), woken: Arc::default(), polled: 0 };
        let first = task.poll();
        (task, first)
    }

    fn poll(&mut self) -> Option<T> {
        self.polled += 1;
        let waker = Waker::from(Arc::clone(&self.woken));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst) >= self.polled
    }

    /// Polls it if it was woken since it was last polled.
    pub(crate) fn run(&mut self) -> Option<T> {
        if self.is_woken() { self.poll() } else { None }
    }
}

type Waiting = Task<Result<Permit, AcquireError>>;

fn waiting(acquire: Acquire) -> Waiting {
    let (task, first) = Task::new(acquire);
    assert!(first.is_none(), "it has to wait");
    task
}

fn permit(task: &mut Waiting) -> Permit {
    task.run().expect("it was woken, and is ready").expect("it is a permit")
}

#[test]
fn permits_are_handed_on_in_order_and_nobody_polls() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.concurrency("jobs", 1);
    let mut held = limit.try_acquire("ada").unwrap();
    let mut line: Vec<_> = (0..5).map(|_| waiting(limit.acquire("ada"))).collect();
    assert_eq!(limit.waiting("ada"), 5);
    assert!(limit.try_acquire("bob").is_ok(), "another key waits for nobody");
    for place in 0..line.len() {
        assert!(line[place..].iter().all(|task| !task.is_woken()), "nobody is woken before its turn");
        drop(held);
        assert!(limit.try_acquire("ada").is_err(), "nobody overtakes those who wait");
        held = permit(&mut line[place]);
        assert_eq!(line[place].polled, 2, "once to join, and once to take the permit");
    }
    drop(held);
    assert_eq!((limit.in_flight("ada"), limit.waiting("ada")), (0, 0));
}

#[test]
fn who_leaves_the_line_delays_nobody() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.concurrency("jobs", 1);
    let held = limit.try_acquire("ada").unwrap();
    let mut line: VecDeque<_> = (0..4).map(|_| waiting(limit.acquire("ada"))).collect();
    drop(line.remove(1));
    drop(held);
    // The first got the permit, and goes without taking it: it is handed on.
    assert!(line[0].is_woken() && !line[1].is_woken());
    drop(line.pop_front());
    let taken = permit(&mut line[0]);
    drop(line.pop_back());
    drop(taken);
    assert_eq!((limit.in_flight("ada"), limit.waiting("ada")), (0, 0));
    assert!(limit.try_acquire("ada").is_ok());
}

#[test]
fn a_higher_limit_admits_those_who_wait() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.concurrency("jobs", 1);
    let mut held = vec![limit.try_acquire("ada").unwrap()];
    let mut line: Vec<_> = (0..4).map(|_| waiting(limit.acquire("ada"))).collect();
    limit.set_limit(3);
    held.extend(line[..2].iter_mut().map(permit));
    assert!(!line[2].is_woken());
    limit.set_limit(1);
    held.pop();
    held.pop();
    assert!(!line[2].is_woken(), "one is as many as the new limit");
    held.pop();
    held.push(permit(&mut line[2]));
    assert_eq!(limit.in_flight("ada"), 1);
    limit.set_limit(0);
    let (_, refused) = Task::new(limit.acquire("bob"));
    assert!(matches!(refused, Some(Err(AcquireError::Busy(_)))), "no wait helps");
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let (limiter, clock) = with_clock();
    let limit = limiter.concurrency("jobs", 1);
    let held = limit.try_acquire("ada").unwrap();
    let mut short = waiting(limit.acquire("ada").within(Duration::from_secs(2)));
    let mut long = waiting(limit.acquire("ada"));
    clock.advance(Duration::from_micros(1_999_999));
    assert!(!short.is_woken());
    clock.advance(Duration::from_micros(1));
    assert!(matches!(short.run(), Some(Err(AcquireError::TimedOut(_)))), "two seconds are over");
    drop(held);
    drop(permit(&mut long));
    // Granted in time, and polled after the deadline: it is a permit.
    let held = limit.try_acquire("ada").unwrap();
    let mut late = waiting(limit.acquire("ada").within(Duration::from_secs(1)));
    drop(held);
    clock.advance(Duration::from_secs(5));
    drop(permit(&mut late));
    assert_eq!(limit.in_flight("ada"), 0);
}

/// One key, as a list: those who hold permits, and those who wait, in order.
struct Model {
    limit: ConcurrencyLimit,
    most: usize,
    held: Vec<Permit>,
    line: VecDeque<Waiting>,
}

impl Model {
    /// Whoever was woken gets its permit; there is no idle permit while somebody waits, and the line is in order.
    fn settle(&mut self) {
        while self.held.len() < self.most && !self.line.is_empty() {
            self.held.push(permit(&mut self.line[0]));
            self.line.pop_front();
        }
        assert!(self.line.iter().all(|task| !task.is_woken()), "nobody is woken out of turn");
        assert_eq!(usize::try_from(self.limit.in_flight("key")).unwrap(), self.held.len());
        assert_eq!(usize::try_from(self.limit.waiting("key")).unwrap(), self.line.len());
    }

    fn step(&mut self, random: &mut Random) {
        let below = |random: &mut Random, end: usize| usize::try_from(random.below(end as u64)).unwrap();
        match random.below(8) {
            0 => {
                self.most = below(random, 4);
                self.limit.set_limit(u32::try_from(self.most).unwrap());
            }
            1..=3 => {
                let is_free = self.held.len() < self.most && self.line.is_empty();
                let (task, first) = Task::new(self.limit.acquire("key"));
                match first {
                    Some(Ok(permit)) if is_free => self.held.push(permit),
                    None if !is_free => self.line.push_back(task),
                    Some(Err(_)) if self.most == 0 => {}
                    other => panic!("free: {is_free}, and {other:?}"),
                }
            }
            4 if !self.line.is_empty() => {
                let place = below(random, self.line.len());
                drop(self.line.remove(place));
            }
            5 => {
                let is_free = self.held.len() < self.most && self.line.is_empty();
                match self.limit.try_acquire("key") {
                    Ok(permit) if is_free => self.held.push(permit),
                    Err(_) if !is_free => {}
                    other => panic!("free: {is_free}, and {other:?}"),
                }
            }
            _ if !self.held.is_empty() => {
                let place = below(random, self.held.len());
                drop(self.held.swap_remove(place));
                // The first in line may go just when it was granted the permit.
                if random.below(3) == 0 && self.line.front().is_some_and(Task::is_woken) {
                    self.line.pop_front();
                }
            }
            _ => {}
        }
        self.settle();
    }
}

#[test]
fn random_waiters_agree_with_a_model() {
    for seed in 0..60 {
        let (limiter, _clock) = with_clock();
        let mut random = Random::new(seed);
        let limit = limiter.concurrency("jobs", 2);
        let mut model = Model { limit, most: 2, held: Vec::new(), line: VecDeque::new() };
        (0..400).for_each(|_| model.step(&mut random));
        model.line.clear();
        model.held.clear();
        assert_eq!((model.limit.in_flight("key"), model.limit.waiting("key")), (0, 0));
    }
}

/// One every 10 ms.
fn paced() -> (Limiter, ManualClock, NamedLimit) {
    let (limiter, clock) = with_clock();
    let limit = limiter.limit("calls", Limit::gcra(1, 1, Micros::from_millis(10)).unwrap());
    (limiter, clock, limit)
}

type Charging = Task<Result<Verdict, WaitError>>;

fn charging(limit: &NamedLimit, within: Option<Duration>) -> (Charging, Option<Result<Verdict, WaitError>>) {
    let limit = limit.clone();
    Task::new(async move {
        match within {
            Some(most) => limit.acquire_within("ada", most).await,
            None => limit.acquire("ada").await,
        }
    })
}

/// Lets time pass in steps of 1 ms until this one is ready, and runs nobody else. Says how many milliseconds that took.
fn run_until_ready(line: &mut [Charging], place: usize, clock: &ManualClock) -> u32 {
    for passed in 0..1_000 {
        match line[place].run() {
            Some(charged) => {
                assert!(charged.expect("it is charged").is_granted());
                return passed;
            }
            None => clock.advance(Duration::from_millis(1)),
        }
    }
    panic!("{place} is never ready");
}

#[test]
fn thirty_callers_of_a_rate_are_served_in_order_and_on_time() {
    let (_limiter, clock, limit) = paced();
    assert!(charging(&limit, None).1.expect("it is ready").is_ok());
    let mut line: Vec<_> = (0..30).map(|_| charging(&limit, None).0).collect();
    for place in 0..line.len() {
        assert_eq!(run_until_ready(&mut line, place, &clock), 10);
        assert!(line[place + 1..].iter().skip(1).all(|task| !task.is_woken()), "only the first in line asks");
        assert!(line[place].polled <= 3, "it joins, it has the turn, and it is charged");
    }
}

#[test]
fn a_cancelled_caller_of_a_rate_delays_nobody() {
    for cancelled in 0..3 {
        for passed in [0, 5, 10] {
            let (_limiter, clock, limit) = paced();
            assert!(charging(&limit, None).1.expect("it is ready").is_ok());
            let mut line: Vec<_> = (0..4).map(|_| charging(&limit, None).0).collect();
            clock.advance(Duration::from_millis(passed));
            drop(line.remove(cancelled));
            let mut total = u32::try_from(passed).unwrap();
            for place in 0..3 {
                total += run_until_ready(&mut line, place, &clock);
            }
            assert_eq!(total, 30, "number {cancelled} went after {passed} ms");
        }
    }
}

#[test]
fn a_wait_that_would_be_too_long_is_refused_at_once() {
    let (limiter, clock, limit) = paced();
    assert!(charging(&limit, None).1.expect("it is ready").is_ok());
    let within = |millis| charging(&limit, Some(Duration::from_millis(millis)));
    assert!(matches!(within(9).1, Some(Err(WaitError::Refused(verdict))) if verdict.retry_after().is_some()));
    let mut line = vec![within(10).0, within(20).0];
    let (_, refused) = within(29);
    let Some(Err(WaitError::LineTooLong(wait))) = refused else { panic!("{refused:?}") };
    assert_eq!(wait, Duration::from_millis(30));
    assert!(line[1].run().is_none());
    for place in 0..2 {
        assert_eq!(run_until_ready(&mut line, place, &clock), 10);
    }
    // More than ever fits is refused, however long it could wait.
    let twice = limit.clone();
    let (_, never) =
        Task::new(async move { limiter.charge_when_it_fits(&[twice.hit("ada").cost(2)], None).await });
    assert!(matches!(never, Some(Err(WaitError::Refused(_)))));
}

#[test]
fn several_limits_wait_for_whichever_refuses() {
    let (limiter, clock) = with_clock();
    let per_user = limiter.limit("user", Limit::gcra(1, 1, Micros::from_millis(10)).unwrap());
    let per_team = limiter.limit("team", Limit::gcra(1, 1, Micros::from_millis(30)).unwrap());
    let call = || {
        let (limiter, user, team) = (limiter.clone(), per_user.clone(), per_team.clone());
        Task::new(
            async move { limiter.charge_when_it_fits(&[user.hit("ada"), team.hit("engines")], None).await },
        )
    };
    assert!(call().1.expect("it is ready").is_ok());
    let mut line = vec![call().0, call().0];
    assert_eq!(run_until_ready(&mut line, 0, &clock), 30);
    assert_eq!(run_until_ready(&mut line, 1, &clock), 30);
}

/// The system's clock, and the thread that goes by it.
#[tokio::test]
async fn real_time_passes_between_calls() {
    let limiter = Limiter::new().unwrap();
    let limit = limiter.limit("calls", Limit::gcra(1, 1, Micros::from_millis(5)).unwrap());
    let start = limiter.now();
    let mut last = Micros::ZERO;
    for _ in 0..5 {
        let verdict = limit.acquire("ada").await.unwrap();
        let at = verdict.results()[0].decision().at;
        assert!(at.saturating_sub(last) >= Micros::from_millis(5));
        last = at;
    }
    assert!(limiter.now().saturating_sub(start) >= Micros::from_millis(20));
    let jobs = limiter.concurrency("jobs", 1);
    let held = jobs.acquire("ada").await.unwrap();
    let late = jobs.acquire("ada").within(Duration::from_millis(5)).await;
    assert!(matches!(late, Err(AcquireError::TimedOut(_))));
    drop(held);
    assert!(jobs.acquire("ada").within(Duration::from_millis(5)).await.is_ok());
}
