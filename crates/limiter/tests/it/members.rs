//! Members of a key take turns, in queues and in lines for permits: a noisy one starves nobody. On the manual clock, and against a model.

use std::collections::VecDeque;
use std::time::Duration;

use tollgate::{Departure, LeakyQueue, Limiter, ManualClock, Micros, QueueError, Quota};
use tollgate_testing::random::Random;

use crate::waiting::Task;
use crate::with_clock;

type Entering = Task<Result<Departure, QueueError>>;

const KEY: &str = "example.org";

/// One leaves every 10 ms.
fn queue(capacity: u64) -> (Limiter, ManualClock, LeakyQueue) {
    let (limiter, clock) = with_clock();
    let queue = limiter.leaky_queue("mails", Quota::new(capacity, 1, Micros::from_millis(10)).unwrap());
    (limiter, clock, queue)
}

fn enter_for(queue: &LeakyQueue, member: u64) -> (Entering, Option<Result<Departure, QueueError>>) {
    let queue = queue.clone();
    Task::new(async move { queue.enter_for(KEY, member, None).await })
}

/// What became of the requests of one kind of member.
#[derive(Default, Debug)]
struct Fate {
    waits: Vec<u64>,
    refused: usize,
}

impl Fate {
    fn refused_percent(&self) -> usize {
        100 * self.refused / (self.refused + self.waits.len())
    }

    fn p99(&mut self) -> u64 {
        self.waits.sort_unstable();
        self.waits[self.waits.len() * 99 / 100]
    }
}

/// A minute in which one member offers three times what leaves, and nine others a twentieth each. Returns the fate of the noisy one, that
/// of the others, and the smallest gap in milliseconds.
fn minute_with_a_noisy_member(seed: u64, fair: bool) -> (Fate, Fate, u64) {
    let (_limiter, clock, queue) = queue(100);
    let (mut random, start) = (Random::new(seed), clock.now());
    let (mut noisy, mut light) = (Fate::default(), Fate::default());
    let mut line: Vec<(u64, Entering)> = Vec::new();
    let (mut last, mut smallest) = (None::<u64>, u64::MAX);
    for now in 0..60_000 {
        let noisy_ones = if random.below(1_000) < 300 { 1 } else { 0 };
        let members = (1..10).filter(|_| random.below(1_000) < 5).chain((0..noisy_ones).map(|_| 0));
        let mut left = 0;
        for member in members.collect::<Vec<_>>() {
            let (queue, at) = (queue.clone(), if fair { member } else { 0 });
            let entering = async move {
                if fair { queue.enter_for(KEY, at, None).await } else { queue.enter(KEY).await }
            };
            let fate = if member == 0 { &mut noisy } else { &mut light };
            match Task::new(entering) {
                (task, None) => line.push((member, task)),
                (_, Some(Ok(_))) => {
                    fate.waits.push(0);
                    left += 1;
                }
                (_, Some(Err(_))) => fate.refused += 1,
            }
        }
        for _ in 0..2 {
            line.retain_mut(|(member, task)| {
                let Some(done) = task.run() else { return true };
                let departure = done.expect("nobody has a deadline");
                let fate = if *member == 0 { &mut noisy } else { &mut light };
                fate.waits.push(u64::try_from(departure.waited.as_millis()).unwrap());
                left += 1;
                false
            });
        }
        assert!(left <= 1, "two leave at once");
        if left == 1 {
            smallest = smallest.min(last.replace(now).map_or(u64::MAX, |last| now - last));
        }
        clock.advance(Duration::from_millis(1));
    }
    assert!(clock.now() > start);
    (noisy, light, smallest)
}

/// The figures that the design asks for: the others are refused nothing, at the cost of the noisy one.
#[test]
fn a_noisy_member_starves_nobody() {
    for seed in 1..=3 {
        let (noisy, mut light, gap) = minute_with_a_noisy_member(seed, true);
        assert_eq!(light.refused, 0, "of {} requests", light.waits.len());
        assert!(light.p99() <= 120, "{} ms", light.p99());
        assert!((75..=85).contains(&noisy.refused_percent()), "{} %", noisy.refused_percent());
        assert!(gap >= 10, "{gap} ms");
        // As one line, most of them are refused.
        let (_, light, gap) = minute_with_a_noisy_member(seed, false);
        assert!(light.refused_percent() >= 60, "{} %", light.refused_percent());
        assert!(gap >= 10, "{gap} ms");
    }
}

/// Who waits, written again without links: each member has a line, and the members are in a circle.
#[derive(Default)]
struct Model {
    /// The first has the turn.
    circle: VecDeque<(u64, VecDeque<u32>)>,
}

impl Model {
    fn len(&self) -> usize {
        self.circle.iter().map(|(_, line)| line.len()).sum()
    }

    fn of(&self, member: u64) -> usize {
        self.circle.iter().find(|(of, _)| *of == member).map_or(0, |(_, line)| line.len())
    }

    fn join(&mut self, member: u64, number: u32) {
        match self.circle.iter_mut().find(|(of, _)| *of == member) {
            Some((_, line)) => line.push_back(number),
            None => self.circle.push_back((member, VecDeque::from([number]))),
        }
    }

    /// Takes out who is next.
    fn serve(&mut self) -> Option<u32> {
        let (member, mut line) = self.circle.pop_front()?;
        let served = line.pop_front();
        if !line.is_empty() {
            self.circle.push_back((member, line));
        }
        served
    }

    /// Takes out somebody who gives up.
    fn leave(&mut self, number: u32) {
        for (_, line) in &mut self.circle {
            line.retain(|other| *other != number);
        }
        self.circle.retain(|(_, line)| !line.is_empty());
    }
}

#[test]
fn members_take_turns_as_in_the_model() {
    for seed in 0..40 {
        let capacity = 4 + seed % 17;
        let (_limiter, clock, queue) = queue(capacity);
        let queue = queue.with_strict(true);
        let (mut random, mut model) = (Random::new(seed), Model::default());
        let mut line: Vec<(u32, Entering)> = Vec::new();
        let mut next = clock.now();
        for number in 0..3_000_u32 {
            clock.advance(Duration::from_millis(random.below(12)));
            // Whoever is next leaves when it is time, and nobody else.
            let due = clock.now() >= next;
            let expected = if due { model.serve() } else { None };
            let mut left = Vec::new();
            for _ in 0..3 {
                line.retain_mut(|(number, task)| match task.run() {
                    None => true,
                    Some(done) => {
                        assert!(done.is_ok(), "nobody has a deadline");
                        left.push(*number);
                        false
                    }
                });
            }
            assert_eq!(left, Vec::from_iter(expected), "seed {seed}, number {number}");
            if expected.is_some() {
                next = clock.now().saturating_add(Micros::from_millis(10));
            }
            let member = random.below(4);
            let (task, first) = enter_for(&queue, member);
            let places = model.len() + model.of(member);
            match first {
                None => {
                    assert!(places < usize::try_from(capacity).unwrap(), "a member has too many places");
                    model.join(member, number);
                    line.push((number, task));
                }
                Some(Ok(_)) => {
                    assert!(model.len() == 0 && clock.now() >= next, "somebody overtakes");
                    next = clock.now().saturating_add(Micros::from_millis(10));
                }
                Some(Err(QueueError::Full(_))) => {
                    assert!(places >= usize::try_from(capacity).unwrap(), "a place is free");
                }
                Some(Err(other)) => panic!("{other}"),
            }
            if random.one_in(4) && !line.is_empty() {
                let gone = usize::try_from(random.below(line.len() as u64)).unwrap();
                model.leave(line.remove(gone).0);
            }
            assert_eq!(queue.waiting(KEY) as usize, model.len(), "seed {seed}, number {number}");
        }
    }
}

/// A member that is pushed back by others is refused as soon as it is too late for it, and its turn is the next one's.
#[test]
fn who_is_pushed_back_for_too_long_is_refused_in_time_and_uses_no_turn() {
    let (_limiter, clock, queue) = queue(20);
    let impatient = queue.clone().with_max_wait(Duration::from_millis(30));
    let enter = |member: u64| {
        let queue = impatient.clone();
        Task::new(async move { queue.enter_for(KEY, member, None).await })
    };
    assert!(enter(0).1.is_some(), "the first leaves at once");
    let mut own: Vec<_> = (0..3).map(|_| enter(0).0).collect();
    let too_long = Some(Err(QueueError::TooLong(Duration::from_millis(40))));
    assert_eq!(enter(0).1, too_long, "behind three others");
    // Each of three newcomers is served before the third of the first member.
    let mut others: Vec<_> = (1..3).map(|member| enter(member).0).collect();
    let mut left = Vec::new();
    for now in 0..=60_u64 {
        for _ in 0..3 {
            for (kind, line) in [("own", &mut own), ("other", &mut others)] {
                line.retain_mut(|task| {
                    let done = task.run();
                    left.extend(done.iter().map(|done| (now, kind, done.is_ok())));
                    done.is_none()
                });
            }
        }
        clock.advance(Duration::from_millis(1));
    }
    let expected =
        [(10, "own", true), (20, "other", true), (30, "own", false), (30, "own", false), (30, "other", true)];
    left.sort_unstable();
    let mut expected = Vec::from(expected);
    expected.sort_unstable();
    assert_eq!(left, expected);
}

#[test]
fn members_take_turns_for_permits() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.concurrency("jobs", 1);
    let mut held = limit.try_acquire(KEY).unwrap();
    let mut noisy: Vec<_> = (0..5).map(|_| Task::new(limit.acquire(KEY).for_member("noisy")).0).collect();
    let mut light = vec![Task::new(limit.acquire(KEY).for_member("light")).0];
    let mut order = Vec::new();
    for _ in 0..6 {
        drop(held);
        let next = [("noisy", &mut noisy), ("light", &mut light)].into_iter().find_map(|(name, line)| {
            let permit = line.first_mut()?.run()?.unwrap();
            line.remove(0);
            Some((name, permit))
        });
        let (name, permit) = next.expect("the permit is handed on");
        order.push(name);
        held = permit;
    }
    assert_eq!(order, ["noisy", "light", "noisy", "noisy", "noisy", "noisy"]);
    assert_eq!(limit.waiting(KEY), 0);
}
