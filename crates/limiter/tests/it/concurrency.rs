//! Concurrency limits: never more than the limit, every permit released once, and no memory for keys without permits.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tollgate::{AcquireError, Busy, Limiter, MAX_MEMORY_BYTES_MIN, Permit};
use tollgate_testing::random::Random;

use crate::with_clock;

fn busy(result: Result<Permit, AcquireError>) -> Busy {
    match result {
        Err(AcquireError::Busy(busy)) => busy,
        other => panic!("it is busy: {other:?}"),
    }
}

#[test]
fn a_permit_is_released_on_every_way_out() {
    let limiter = Limiter::new().unwrap();
    let limit = limiter.concurrency("jobs", 1);
    let _ = limit.try_acquire("ada").map(drop);
    assert_eq!(limit.in_flight("ada"), 0, "success");
    let fails = || -> Result<(), AcquireError> {
        let _permit = limit.try_acquire("ada")?;
        let _second = limit.try_acquire("ada")?;
        Ok(())
    };
    assert!(fails().is_err());
    assert_eq!(limit.in_flight("ada"), 0, "error");
    let panics = catch_unwind(AssertUnwindSafe(|| {
        let _permit = limit.try_acquire("ada").unwrap();
        panic!("the work fails");
    }));
    assert!(panics.is_err());
    assert_eq!(limit.in_flight("ada"), 0, "panic");
    let permit = limit.try_acquire("ada").unwrap();
    let mut work = Box::pin(async move {
        let _permit = permit;
        std::future::pending::<()>().await;
    });
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(work.as_mut().poll(&mut context).is_pending());
    assert_eq!(limit.in_flight("ada"), 1);
    drop(work);
    assert_eq!(limit.in_flight("ada"), 0, "a cancelled future");
    let permit = limit.try_acquire("ada").unwrap();
    std::thread::spawn(move || drop(permit)).join().unwrap();
    assert_eq!(limit.in_flight("ada"), 0, "another thread");
}

/// What the limit should say, from the list of permits that are held.
#[derive(Default)]
struct Model {
    held: HashMap<(usize, bool), Vec<Permit>>,
}

impl Model {
    fn count(&self, key: usize, shadow: bool) -> u32 {
        u32::try_from(self.held.get(&(key, shadow)).map_or(0, Vec::len)).unwrap()
    }
}

#[test]
fn random_permits_agree_with_a_model() {
    for seed in 0..40 {
        let mut rng = Random::case(seed, 0);
        let (limiter, clock) = with_clock();
        let limits = [3, 5].map(|limit| limiter.concurrency("jobs", limit));
        let (mut model, mut most) = (Model::default(), [3_u32, 5]);
        for _ in 0..2_000 {
            clock.advance(Duration::from_millis(rng.below(20)));
            let (key, which) =
                (usize::try_from(rng.below(4)).unwrap(), usize::try_from(rng.below(2)).unwrap());
            let (name, shadow) = (format!("key {key}"), rng.below(4) == 0);
            match rng.below(10) {
                0 => {
                    most[which] = u32::try_from(rng.below(7)).unwrap();
                    limits[which].set_limit(most[which]);
                }
                1..=5 if shadow => {
                    let permit = limits[which].try_acquire_shadow(&name).unwrap();
                    assert_eq!(permit.exceeds_limit(), model.count(key, true) >= most[which]);
                    model.held.entry((key, true)).or_default().push(permit);
                }
                1..=5 => match limits[which].try_acquire(&name) {
                    Ok(permit) => {
                        assert!(model.count(key, false) < most[which] && !permit.exceeds_limit());
                        model.held.entry((key, false)).or_default().push(permit);
                    }
                    refused => {
                        let busy = busy(refused);
                        assert!(model.count(key, false) >= most[which], "no idle permit is refused");
                        assert_eq!((busy.in_flight(), busy.limit()), (model.count(key, false), most[which]));
                    }
                },
                _ => {
                    let permits = model.held.entry((key, shadow)).or_default();
                    if !permits.is_empty() {
                        let place = rng.below(permits.len() as u64);
                        drop(permits.swap_remove(usize::try_from(place).unwrap()));
                    }
                }
            }
            let counted = (limits[0].in_flight(&name), limits[1].in_flight_shadow(&name));
            assert_eq!(counted, (model.count(key, false), model.count(key, true)), "seed {seed}");
        }
    }
}

#[test]
fn a_lower_limit_takes_nothing_away_and_a_higher_one_admits_at_once() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.concurrency("jobs", 3);
    let mut held: Vec<_> = (0..3).map(|_| limit.try_acquire("ada").unwrap()).collect();
    limit.set_limit(1);
    assert_eq!(busy(limit.try_acquire("ada")).in_flight(), 3);
    held.pop();
    held.pop();
    assert_eq!(busy(limit.try_acquire("ada")).in_flight(), 1, "one is as many as the new limit");
    held.pop();
    assert_eq!(limit.in_flight("ada"), 0);
    held.push(limit.try_acquire("ada").unwrap());
    limit.set_limit(2);
    held.push(limit.try_acquire("ada").unwrap());
    // A limit of the same name, as after a reload, takes over the count.
    let reloaded = limiter.concurrency("jobs", 3);
    held.push(reloaded.try_acquire("ada").unwrap());
    assert_eq!(busy(reloaded.try_acquire("ada")).in_flight(), 3);
    drop(held);
    assert_eq!((limit.in_flight("ada"), reloaded.in_flight("ada")), (0, 0));
    limit.set_limit(0);
    assert_eq!(busy(limit.try_acquire("ada")).estimated_wait(), None, "no wait helps");
}

#[test]
fn the_wait_is_estimated_from_the_times_that_permits_were_held() {
    let (limiter, clock) = with_clock();
    let limit = limiter.concurrency("jobs", 2).with_max_hold(Duration::from_secs(60));
    for _ in 0..3 {
        let permit = limit.try_acquire("ada").unwrap();
        assert_eq!(permit.expires_at().unwrap(), permit.since().saturating_add(tollgate::Micros::MINUTE));
        clock.advance(Duration::from_secs(6));
    }
    assert_eq!(limit.average_hold(), Duration::from_secs(6));
    let _held = [limit.try_acquire("ada").unwrap(), limit.try_acquire("ada").unwrap()];
    let busy = busy(limit.try_acquire("ada"));
    assert_eq!(busy.estimated_wait(), Some(Duration::from_secs(3)));
    assert_eq!(
        busy.to_string(),
        "`jobs` allows 2 at the same time and 2 are in progress: try again in about 3 s"
    );
}

#[test]
fn a_key_that_is_too_long_is_an_error_and_the_same_name_of_a_rate_is_another_count() {
    let limiter = Limiter::new().unwrap();
    let limit = limiter.concurrency("jobs", 1);
    let long = vec![b'a'; tollgate::KEY_BYTES_MAX + 1];
    let error = limit.try_acquire(&long).unwrap_err();
    assert_eq!(error, AcquireError::KeyTooLong { limit: "jobs".into(), bytes: 65_537 });
    let rate = limiter.limit("jobs", tollgate::Limit::token_bucket(1, 1, tollgate::Micros::SECOND).unwrap());
    let _permit = limit.try_acquire("ada").unwrap();
    assert!(limiter.try_charge(&[rate.hit("ada")]).unwrap().is_granted());
    limiter.try_reset(&rate, "ada").unwrap();
    assert_eq!(limit.in_flight("ada"), 1, "a reset does not touch permits");
}

/// Each thread counts what is in flight where the work is done.
#[test]
fn threads_never_have_more_than_the_limit_at_the_resource() {
    const KEYS: usize = 3;
    let limiter = Limiter::new().unwrap();
    let limit = limiter.concurrency("jobs", 3);
    let at_work: [AtomicU32; KEYS] = Default::default();
    let (barrier, granted) = (Barrier::new(8), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (limit, at_work, barrier, granted) = (limit.clone(), &at_work, &barrier, &granted);
            scope.spawn(move || {
                barrier.wait();
                for turn in 0..20_000 {
                    let key = (thread + turn) % KEYS;
                    let Ok(permit) = limit.try_acquire(key.to_string()) else { continue };
                    let working = at_work[key].fetch_add(1, Ordering::SeqCst) + 1;
                    assert!(working <= 3, "{working} at once");
                    at_work[key].fetch_sub(1, Ordering::SeqCst);
                    granted.fetch_add(1, Ordering::Relaxed);
                    drop(permit);
                }
            });
        }
    });
    assert!(granted.load(Ordering::Relaxed) > 1_000);
    assert!((0..KEYS).all(|key| limit.in_flight(key.to_string()) == 0));
}

#[test]
fn a_full_store_never_admits_more_than_the_limit_and_is_empty_afterwards() {
    let limiter = Limiter::builder().max_memory(MAX_MEMORY_BYTES_MIN).build().unwrap();
    let limit = limiter.concurrency("jobs", 2);
    let (mut held, mut overflowed, mut refused) = (Vec::new(), 0, 0);
    // Two rounds: in the second, keys from the first that found no room have some permits in the common count.
    for round in 0..2 {
        for key in 0..40_000_u32 {
            match limit.try_acquire(key.to_be_bytes()) {
                Ok(permit) => {
                    overflowed += u32::from(permit.is_overflow());
                    held.push((key, permit));
                }
                Err(_) => refused += 1,
            }
        }
        if round == 0 {
            assert!(overflowed > 0 && refused > 10_000, "{overflowed} without room, {refused} refused");
            // Some room comes.
            held.retain(|(key, permit)| key % 7 != 0 || permit.is_overflow());
        }
        assert!(limiter.stats().bytes <= MAX_MEMORY_BYTES_MIN, "{}", limiter.stats().bytes);
    }
    let mut counts: HashMap<u32, u32> = HashMap::new();
    held.iter().for_each(|(key, _)| *counts.entry(*key).or_default() += 1);
    assert!(counts.values().all(|count| *count <= 2));
    drop(held);
    // All room is there again, so that nobody is refused and nobody is counted with others.
    let again: Vec<_> =
        (50_000..60_000_u32).map(|key| limit.try_acquire(key.to_be_bytes()).unwrap()).collect();
    assert!(!again.iter().any(Permit::is_overflow));
}

#[test]
fn a_key_without_permits_takes_no_memory() {
    let limiter = Limiter::new().unwrap();
    let limit = limiter.concurrency("jobs", 2);
    let empty = limiter.stats().bytes;
    for key in 0..300_000_u32 {
        drop(limit.try_acquire(key.to_be_bytes()).unwrap());
    }
    assert_eq!(limiter.stats().bytes, empty);
}
