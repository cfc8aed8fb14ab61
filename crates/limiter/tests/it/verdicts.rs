//! What a verdict says: which limit refused, what each has left, how long to wait; in the same words, asynchronously too.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate::{Clock, Key, Kind, Limit, Limiter, Micros, Retry, Verb, Window};

use crate::with_clock;

#[test]
fn the_verdict_names_the_limit_that_has_to_wait_longest() {
    let (limiter, clock) = with_clock();
    let per_second = limiter.limit("per second", Limit::token_bucket(1, 1, Micros::SECOND).unwrap());
    let per_minute = limiter.limit("per minute", Limit::token_bucket(2, 1, Micros::MINUTE).unwrap());
    let shadow = limiter.limit("shadow", Limit::token_bucket(1, 1, Micros::HOUR).unwrap());
    let hits = [per_second.hit("ada"), per_minute.hit("ada"), shadow.hit("ada").shadow()];
    let first = limiter.try_charge(&hits).unwrap();
    assert_eq!((first.kind(), first.remaining(), first.retry()), (Kind::Granted, Some(0), None));
    clock.advance(Duration::from_secs(1));
    // The shadow limit is exhausted, and stands in nobody's way.
    let second = limiter.try_charge(&hits).unwrap();
    assert!(second.is_granted() && !second.results()[2].is_granted());
    let third = limiter.try_charge(&hits).unwrap();
    assert_eq!((third.kind(), third.refused_by()), (Kind::Refused, Some(1)));
    assert_eq!(third.retry(), Some(Retry::After(Micros::from_secs(59))));
    assert_eq!(third.results()[0].decision().retry(), Some(Retry::After(Micros::SECOND)));
    // Obeying it succeeds, and a moment earlier does not.
    clock.advance(Duration::from_micros(59_000_000 - 1));
    assert!(!limiter.try_charge(&hits).unwrap().is_granted());
    clock.advance(Duration::from_micros(1));
    assert!(limiter.try_charge(&hits).unwrap().is_granted());
}

#[test]
fn a_peek_charges_nothing_and_a_part_is_charged_exactly() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.limit("peeked", Limit::sliding_window(5, Micros::MINUTE).unwrap());
    for _ in 0..3 {
        let peeked = limiter.try_peek(&[limit.hit("ada").cost(5)]).unwrap();
        assert_eq!((peeked.is_granted(), peeked.remaining()), (true, Some(5)));
    }
    assert!(!limiter.try_peek(&[limit.hit("ada").cost(6)]).unwrap().is_granted());
    let part = limiter.try_charge_up_to(&limit.hit("ada").cost(9)).unwrap();
    assert_eq!((part.is_granted(), part.results()[0].decision().charged), (true, 5));
    assert!(!limiter.try_charge_up_to(&limit.hit("ada").cost(9)).unwrap().is_granted());
    assert!(
        limiter.try_charge(&[limit.hit("ada").cost(0)]).unwrap().is_granted(),
        "a cost of 0 asks for nothing"
    );
}

#[test]
fn the_same_key_under_two_names_is_two_keys_and_parts_do_not_run_together() {
    let (limiter, _clock) = with_clock();
    let one = Limit::token_bucket(1, 1, Micros::HOUR).unwrap();
    let (a, b) = (limiter.limit("a", one), limiter.limit("b", one));
    assert!(limiter.try_charge(&[a.hit("127.0.0.1")]).unwrap().is_granted());
    assert!(limiter.try_charge(&[b.hit("127.0.0.1")]).unwrap().is_granted());
    assert!(limiter.try_charge(&[a.hit(&Key::of(["a:b", "c"]))]).unwrap().is_granted());
    assert!(limiter.try_charge(&[a.hit(&Key::of(["a", "b:c"]))]).unwrap().is_granted());
    // Any bytes are a key: none at all, a NUL, what is not text.
    for key in [&b""[..], b"\0", b"\0\0", b"\xff\xfe", b"\r\nFLUSHALL"] {
        assert!(limiter.try_charge(&[a.hit(key)]).unwrap().is_granted(), "{key:?}");
        assert!(!limiter.try_charge(&[a.hit(key)]).unwrap().is_granted(), "{key:?}");
    }
}

#[test]
fn other_numbers_of_the_same_name_keep_what_was_used() {
    let (limiter, clock) = with_clock();
    let old = limiter.limit("plan", Limit::token_bucket(10, 1, Micros::MINUTE).unwrap());
    let new = limiter.limit("plan", Limit::token_bucket(30, 1, Micros::SECOND).unwrap());
    assert!(limiter.try_charge(&[old.hit("ada").cost(10)]).unwrap().is_granted());
    assert_eq!(limiter.try_charge(&[new.hit("ada").cost(0)]).unwrap().remaining(), Some(20));
    clock.advance(Duration::from_secs(4));
    assert_eq!(limiter.try_inspect(&new, "ada").unwrap().decision.remaining, 24);
    let unlimited = limiter.limit("plan", Limit::Unlimited);
    assert!(limiter.try_charge(&[unlimited.hit("ada").cost(u64::MAX)]).unwrap().is_granted());
    assert_eq!(limiter.try_inspect(&new, "ada").unwrap().decision.remaining, 24, "unlimited keeps no state");
}

#[test]
fn a_key_can_be_looked_at_and_reset() {
    let (limiter, _clock) = with_clock();
    for limit in [
        Limit::gcra(2, 1, Micros::HOUR).unwrap(),
        Limit::fixed_window(2, Window::Every(Micros::HOUR)).unwrap(),
    ] {
        let named = limiter.limit(&limit.to_string(), limit);
        assert!(!limiter.try_inspect(&named, "ada").unwrap().known);
        assert!(!limiter.try_reset(&named, "ada").unwrap(), "there is nothing to forget");
        assert!(limiter.try_charge(&[named.hit("ada").cost(2)]).unwrap().is_granted());
        let standing = limiter.try_inspect(&named, "ada").unwrap();
        assert!(standing.known && !standing.shared && standing.decision.remaining == 0);
        assert!(limiter.try_reset(&named, "ada").unwrap());
        assert_eq!(limiter.try_inspect(&named, "ada").unwrap().decision.remaining, 2);
    }
}

#[test]
fn asked_asynchronously_it_answers_the_same_and_never_yields() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.limit("async", Limit::gcra(2, 1, Micros::HOUR).unwrap());
    for expected in [true, true, false] {
        assert_eq!(at_once(limiter.charge(&[limit.hit("ada")])).unwrap().is_granted(), expected);
    }
}

fn at_once<T>(asked: impl Future<Output = T>) -> T {
    match pin!(asked).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(said) => said,
        Poll::Pending => panic!("memory answers at once"),
    }
}

/// Each verb in its two forms, one after the other on two keys: what is said, and what is left, is the same.
#[test]
fn every_verb_has_a_form_for_tasks_that_means_the_same() {
    let (limiter, clock) = with_clock();
    let limit = limiter.limit("limit", Limit::gcra(100, 1, Micros::HOUR).unwrap());
    let (one, other, within) =
        (limit.hit("one").cost(5), limit.hit("other").cost(5), Duration::from_secs(60));
    let left = |key: &str| limiter.try_inspect(&limit, key).unwrap().decision.remaining;
    let same = |expected: u64| assert_eq!((left("one"), left("other")), (expected, expected));

    assert!(
        limiter.try_charge(&[one]).unwrap().is_granted()
            && at_once(limiter.charge(&[other])).unwrap().is_granted()
    );
    same(95);
    let of_one = limiter.try_charge_for_receipt(&[one]).unwrap().1.unwrap();
    let of_other = at_once(limiter.charge_for_receipt(&[other])).unwrap().1.unwrap();
    same(90);
    assert_eq!(limiter.try_refund(of_one), at_once(limiter.refund(of_other)));
    same(95);
    let of_one = limiter.try_charge_for_receipt(&[one]).unwrap().1.unwrap();
    let of_other = at_once(limiter.charge_for_receipt(&[other])).unwrap().1.unwrap();
    assert_eq!(limiter.try_settle(of_one, 7), at_once(limiter.settle(of_other, 7)));
    same(88);
    let (of_one, of_other) = (limit.hit("one").cost(200), limit.hit("other").cost(200));
    assert!(
        !limiter.try_peek(&[of_one]).unwrap().is_granted()
            && !at_once(limiter.peek(&[of_other])).unwrap().is_granted()
    );
    same(88);
    let some =
        [limiter.try_charge_up_to(&of_one).unwrap(), at_once(limiter.charge_up_to(&of_other)).unwrap()];
    assert_eq!(some.map(|verdict| verdict.results()[0].decision().charged), [88, 88]);
    same(0);
    assert!(limiter.try_reset(&limit, "one").unwrap() && at_once(limiter.reset(&limit, "other")).unwrap());
    same(100);
    // Receipts of the instant of a reset are void.
    clock.advance(Duration::from_micros(1));
    let of_one = limiter.try_reserve(&[one.estimate(5)], within).unwrap().1.unwrap();
    let of_other = at_once(limiter.reserve(&[other.estimate(5)], within)).unwrap().1.unwrap();
    same(95);
    assert_eq!(of_one.try_commit(9), at_once(of_other.commit(9)));
    same(91);
    let of_one = limiter.try_reserve(&[one], within).unwrap().1.unwrap();
    let of_other = at_once(limiter.reserve(&[other], within)).unwrap().1.unwrap();
    assert_eq!(of_one.try_cancel(), at_once(of_other.cancel()));
    same(91);
    assert_eq!(limiter.try_inspect(&limit, "one"), at_once(limiter.inspect(&limit, "other")));
}

#[test]
fn a_pipeline_is_answered_in_order_each_hit_by_itself() {
    let (limiter, _clock) = with_clock();
    let bucket = limiter.limit("bucket", Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
    let window = limiter.limit("window", Limit::fixed_window(2, Window::Every(Micros::HOUR)).unwrap());
    let keys: Vec<String> = (0..50).map(|key| format!("key {key}")).collect();
    let mut hits: Vec<_> = keys.iter().map(|key| bucket.hit(key)).collect();
    hits.extend((0..4).map(|_| bucket.hit("hot")));
    hits.extend((0..3).map(|_| window.hit("hot")));
    hits.push(window.hit("hot").shadow());
    let mut answers = Vec::new();
    limiter
        .try_charge_each(&hits, |position, verdict| {
            assert_eq!(position, answers.len());
            answers.push(verdict.is_granted());
        })
        .unwrap();
    assert!(answers[..50].iter().all(|granted| *granted));
    // A shadow hit stops nobody, not even alone.
    assert_eq!(answers[50..], [true, true, true, false, true, true, false, true]);
}

#[test]
fn every_verdict_is_one_event() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let clock = Clock::manual(Micros::from_secs(1_000));
    let limiter = Limiter::builder()
        .clock(clock.clock())
        .on_event(move |event| {
            assert_eq!((event.hits[0].name(), event.hits[0].get_cost()), ("told", 2));
            let number = count.fetch_add(1, Ordering::Relaxed);
            let verbs = [Verb::Charge, Verb::Charge, Verb::Peek, Verb::Charge, Verb::Reserve];
            let verb = verbs.get(number).copied().unwrap_or(Verb::Charge);
            assert_eq!((event.verb, event.at), (verb, Micros::from_secs(1_000)));
            // One is left after the first, and of the last as much is charged as fits.
            assert_eq!(event.verdict.is_granted(), number == 0 || number == 8, "{number}");
        })
        .build()
        .unwrap();
    let limit = limiter.limit("told", Limit::gcra(3, 1, Micros::HOUR).unwrap());
    let hit = limit.hit("ada").cost(2);
    let _ = limiter.try_charge(&[hit]).unwrap();
    let _ = limiter.try_charge(&[hit]).unwrap();
    let _ = limiter.try_peek(&[hit]).unwrap();
    let _ = limiter.try_charge(&[hit, hit]).unwrap();
    let _ = limiter.try_reserve(&[hit], Duration::from_secs(1)).unwrap();
    limiter.try_charge_each(&[hit], |_, _| ()).unwrap();
    let _ = limiter.try_charge_for_receipt(&[hit]).unwrap();
    let _ = limiter.try_charge_into(&[hit], &mut None).unwrap();
    let _ = limiter.try_charge_up_to(&hit).unwrap();
    assert_eq!(told.load(Ordering::Relaxed), 9);
}

/// Several known keys whose debts are words are charged on a way of their own.
#[test]
fn a_plain_batch_makes_one_event_too() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let clock = Clock::manual(Micros::from_secs(1_000));
    let builder = Limiter::builder().clock(clock.clock());
    let builder = builder.on_event(move |event| {
        assert_eq!(event.hits.len(), event.verdict.results().len());
        count.fetch_add(1, Ordering::Relaxed);
    });
    let limiter = builder.build().unwrap();
    let limit = limiter.limit("told", Limit::gcra(3, 1, Micros::HOUR).unwrap());
    for keys in [&["ada", "bob"][..], &["ada", "bob", "eve"], &["ada", "bob", "eve", "joe"]] {
        let hits: Vec<_> = keys.iter().map(|key| limit.hit(*key)).collect();
        for _ in 0..5 {
            let before = told.load(Ordering::Relaxed);
            let _ = limiter.try_charge(&hits).unwrap();
            assert_eq!(told.load(Ordering::Relaxed), before + 1, "{keys:?}");
        }
    }
}
