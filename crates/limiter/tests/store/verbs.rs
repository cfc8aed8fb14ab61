//! Every verb through the store: what one process does, another one sees.

use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::time::Instant;
use tollgate::{
    Adjustment, ClosedReservation, HitError, Limit, Micros, Reservation, ReservationError,
    ReservationOutcome, Retry, Source, Window,
};
use tollgate_testing::patience::until;

use crate::support::{World, many};

#[test]
fn two_processes_spend_one_budget() {
    let world = World::new();
    let (one, other) = (world.limiter(), world.limiter());
    let limits = [
        many(10),
        Limit::leaky_bucket(10, 1, Micros::DAY).unwrap(),
        Limit::gcra(10, 1, Micros::DAY).unwrap(),
        Limit::fixed_window(10, Window::Every(Limit::WINDOW_MAX)).unwrap(),
        Limit::sliding_window(10, Limit::WINDOW_MAX).unwrap(),
        Limit::sliding_window_buckets(10, Limit::WINDOW_MAX, 8).unwrap(),
        Limit::sliding_window_log(10, Limit::WINDOW_MAX).unwrap(),
    ];
    for (number, limit) in limits.into_iter().enumerate() {
        let name = format!("limit {number}");
        let (mine, theirs) = (one.limit(&name, limit), other.limit(&name, limit));
        let granted = (0..15).filter(|turn| {
            let verdict = if turn % 2 == 0 {
                one.try_charge(&[mine.hit("ada")]).unwrap()
            } else {
                world.runtime.block_on(other.charge(&[theirs.hit("ada")])).unwrap()
            };
            assert_eq!(verdict.results()[0].source(), Source::Own, "{limit}");
            verdict.is_granted()
        });
        assert_eq!(granted.count(), 10, "{limit}");
        assert_eq!(
            other.try_peek(&[theirs.hit("grace")]).unwrap().remaining(),
            Some(10),
            "{limit}: another key"
        );
    }
}

#[test]
fn a_batch_is_charged_whole_or_not_at_all_and_shadow_hits_only_count() {
    let world = World::new();
    let limiter = world.limiter();
    let [wide, narrow, watched] =
        [("wide", 10), ("narrow", 2), ("watched", 1)].map(|(name, burst)| limiter.limit(name, many(burst)));
    let ask =
        |cost| limiter.try_charge(&[wide.hit("k"), narrow.hit("k").cost(cost), watched.hit("k").shadow()]);
    let verdict = ask(2).unwrap();
    assert!(verdict.is_granted() && verdict.results()[2].is_granted());
    let verdict = ask(1).unwrap();
    assert!(!verdict.is_granted() && verdict.refused_by() == Some(1));
    assert_eq!(verdict.results()[0].decision().remaining, 9, "the wide one has not paid for it");
    let verdict = ask(3).unwrap();
    assert_eq!(verdict.retry(), Some(Retry::Never));
    let verdict = ask(0).unwrap();
    assert!(verdict.is_granted() && !verdict.results()[2].is_granted(), "only counted");
}

#[test]
fn what_was_charged_can_be_given_back_or_settled_from_the_receipt() {
    let world = World::new();
    let (limiter, other) = (world.limiter(), world.limiter());
    let limit = limiter.limit("tokens", many(100));
    let left = || other.try_inspect(&other.limit("tokens", many(100)), "k").unwrap().decision.remaining;
    let charge =
        |cost| limiter.try_charge_for_receipt(&[limit.hit("k").cost(cost)]).unwrap().1.expect("a receipt");
    let came_to = |adjusted: Result<Adjustment, HitError>| {
        let Adjustment { refunded, charged, unsettled, .. } = adjusted.unwrap();
        (refunded, charged, unsettled)
    };
    assert_eq!((came_to(limiter.try_refund(charge(30))), left()), ((30, 0, 0), 100));
    assert_eq!((came_to(limiter.try_settle(charge(30), 10)), left()), ((20, 0, 0), 90));
    assert_eq!((came_to(world.runtime.block_on(limiter.settle(charge(10), 25))), left()), ((0, 15, 0), 65));
    assert_eq!((came_to(world.runtime.block_on(limiter.refund(charge(5)))), left()), ((5, 0, 0), 65));
}

/// As while processes are reloaded one after the other: one refills a bucket that the other sees as spent.
#[test]
fn a_refund_gives_nothing_that_another_process_has_granted_by_other_numbers() {
    let world = World::new();
    let (old, new) = (world.limiter(), world.limiter());
    let slow = old.limit("tokens", many(10));
    let fast = new.limit("tokens", Limit::token_bucket(10, 10, Micros::from_millis(1)).unwrap());
    let (_, receipt) = old.try_charge_for_receipt(&[slow.hit("k").cost(5)]).unwrap();
    until("ten are there", || new.try_charge(&[fast.hit("k").cost(10)]).unwrap().is_granted());
    let left = || old.try_inspect(&slow, "k").unwrap().decision.remaining;
    assert_eq!(left(), 0);
    old.try_refund(receipt.unwrap()).unwrap();
    assert_eq!(left(), 0, "the five have come back by the new numbers, and were spent again");
}

#[test]
fn a_reservation_is_committed_once_or_cancelled() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("tokens", many(100));
    let left = || limiter.try_inspect(&limit, "k").unwrap().decision.remaining;
    let reserve = || limiter.try_reserve(&[limit.hit("k").estimate(40)], Duration::from_secs(600)).unwrap();
    let (verdict, reservation) = reserve();
    let id = reservation.map(Reservation::into_id);
    let ended = |closed: Result<ClosedReservation, ReservationError>| closed.map(|closed| closed.ended);
    assert!(verdict.is_granted() && left() == 60);
    assert_eq!(ended(limiter.try_commit(id.unwrap(), 15)), Ok(ReservationOutcome::Committed(15)));
    assert_eq!(
        ended(limiter.try_commit(id.unwrap(), 99)),
        Ok(ReservationOutcome::Committed(15)),
        "once more changes nothing"
    );
    assert_eq!(left(), 85);
    let (_, reservation) = world
        .runtime
        .block_on(limiter.reserve(&[limit.hit("k").estimate(40)], Duration::from_secs(600)))
        .unwrap();
    let id = reservation.map(Reservation::into_id);
    assert_eq!(ended(world.runtime.block_on(limiter.cancel(id.unwrap()))), Ok(ReservationOutcome::Cancelled));
    assert_eq!(
        limiter.try_commit(id.unwrap(), 1),
        Err(ReservationError::Ended(ReservationOutcome::Cancelled))
    );
    assert_eq!(left(), 85);
    let (verdict, id) =
        limiter.try_reserve(&[limit.hit("k").estimate(86)], Duration::from_secs(600)).unwrap();
    assert!(!verdict.is_granted() && id.is_none());
}

#[test]
fn a_part_is_granted_a_key_is_looked_at_and_forgotten() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("parts", many(10));
    assert!(!limiter.try_inspect(&limit, "k").unwrap().known);
    let verdict = limiter.try_charge_up_to(&limit.hit("k").cost(7)).unwrap();
    assert_eq!(verdict.results()[0].decision().charged, 7);
    let verdict = world.runtime.block_on(limiter.charge_up_to(&limit.hit("k").cost(7))).unwrap();
    assert_eq!(verdict.results()[0].decision().charged, 3);
    assert!(!limiter.try_charge_up_to(&limit.hit("k")).unwrap().is_granted());
    assert!(limiter.try_inspect(&limit, "k").unwrap().known);
    assert!(limiter.try_reset(&limit, "k").unwrap());
    assert!(!world.runtime.block_on(limiter.reset(&limit, "k")).unwrap(), "there is nothing any more");
    assert_eq!(world.runtime.block_on(limiter.inspect(&limit, "k")).unwrap().decision.remaining, 10);
}

#[test]
fn a_wrong_question_is_an_error_and_changes_nothing() {
    let world = World::new();
    let (limiter, other) = (world.limiter(), world.limiter());
    let limit = limiter.limit("l", many(10));
    let long = vec![0; tollgate::KEY_BYTES_MAX + 1];
    let (same, foreign) = (limiter.limit("l", many(11)), other.limit("l", many(10)));
    let many_hits = vec![limit.hit("k"); tollgate::HITS_MAX + 1];
    assert!(limiter.try_charge(&[limit.hit(&long)]).is_err());
    assert!(limiter.try_charge(&[limit.hit("k"), same.hit("k")]).is_err());
    assert!(limiter.try_charge(&[foreign.hit("k")]).is_err());
    assert!(limiter.try_charge(&many_hits).is_err());
    assert_eq!(limiter.try_inspect(&limit, "k").unwrap().decision.remaining, 10);
}

/// What several limits cost the server is one call, whatever the limits are.
#[test]
fn several_hits_of_one_request_are_one_call() {
    let world = World::new();
    let limiter = world.limiter();
    let [one, two, three] = [
        ("one", many(9)),
        ("two", Limit::fixed_window(9, Window::Every(Micros::DAY)).unwrap()),
        ("three", Limit::sliding_window_log(9, Micros::DAY).unwrap()),
    ]
    .map(|(name, limit)| limiter.limit(name, limit));
    let answered = || limiter.store_health().unwrap().answered;
    let verdict = limiter.try_charge(&[one.hit("k"), two.hit("k"), three.hit("k")]).unwrap();
    assert!(verdict.is_granted() && verdict.results().len() == 3 && answered() == 1, "{verdict:?}");
    let hits =
        [one.hit("k").cost(9), two.hit("other").shadow(), three.hit("k").non_refundable(), one.hit("k")];
    let verdict = limiter.try_charge(&hits).unwrap();
    assert!(!verdict.is_granted() && verdict.results().len() == 4 && answered() == 2, "{verdict:?}");
}

/// A charge that was answered before the reset, and read after it.
#[test]
fn a_receipt_is_void_if_a_reset_came_before_its_charge_was_heard_of() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("tokens", many(10));
    // There is a connection, so that what is asked is sent at once.
    assert!(limiter.try_charge(&[limit.hit("other")]).unwrap().is_granted());
    let hits = [limit.hit("k").cost(5)];
    let mut charging = pin!(limiter.charge_for_receipt(&hits));
    // Stopped meanwhile, so that the server does not answer before it is asked for the reset.
    world.server.signal("STOP").unwrap();
    let entered = world.runtime.enter();
    let first = charging.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(entered);
    world.server.signal("CONT").unwrap();
    assert!(first.is_pending(), "it is on its way: {first:?}");
    assert!(limiter.try_reset(&limit, "k").unwrap(), "it was charged before");
    assert!(limiter.try_charge(&[limit.hit("k").cost(5)]).unwrap().is_granted(), "somebody else");
    let (verdict, receipt) = world.runtime.block_on(charging).unwrap();
    assert!(verdict.is_granted());
    limiter.try_refund(receipt.expect("it was charged")).unwrap();
    let left = limiter.try_inspect(&limit, "k").unwrap().decision.remaining;
    assert_eq!(left, 5, "what somebody else has paid is not given back");
}

/// The server forgets the key, and nobody hears of it in time.
#[test]
fn a_receipt_is_void_after_a_reset_of_which_nothing_was_heard() {
    let world = World::new();
    let (limiter, other) = (world.limiter_within(Duration::from_millis(200)), world.limiter());
    let [limit, theirs] = [&limiter, &other].map(|limiter| limiter.limit("tokens", many(10)));
    // So that the server knows the script.
    assert_eq!(limiter.try_reset(&limit, "other"), Ok(false));
    let (_, receipt) = limiter.try_charge_for_receipt(&[limit.hit("k").cost(5)]).unwrap();
    let receipt = receipt.expect("it was charged in the store");
    world.server.signal("STOP").unwrap();
    let unheard = limiter.try_reset(&limit, "k");
    assert!(unheard.is_err());
    world.server.signal("CONT").unwrap();
    // The server may take the two in any order.
    let deadline = Instant::now() + Duration::from_secs(20);
    while other.try_inspect(&theirs, "k").unwrap().known {
        assert!(Instant::now() < deadline, "the server does it in the end: {unheard:?}");
    }
    assert!(other.try_charge(&[theirs.hit("k").cost(5)]).unwrap().is_granted());
    limiter.try_refund(receipt).unwrap();
    assert_eq!(other.try_inspect(&theirs, "k").unwrap().decision.remaining, 5);
}

#[test]
fn a_receipt_is_void_after_a_reset_and_under_other_numbers() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("tokens", many(10));
    let charge = || limiter.try_charge_for_receipt(&[limit.hit("k").cost(5)]).unwrap().1.expect("a receipt");
    let left = || limiter.try_inspect(&limit, "k").unwrap().decision.remaining;
    let (old, reset) = (charge(), limiter.try_reset(&limit, "k").unwrap());
    let new = charge();
    assert_eq!(limiter.try_refund(old), Ok(Adjustment::default()));
    assert!(reset && left() == 5, "what was charged since is not given back for what was forgotten");
    limiter.try_refund(new).unwrap();
    assert_eq!(left(), 10);
    let old = charge();
    let other = limiter.limit("tokens", Limit::token_bucket(10, 2, Micros::DAY).unwrap());
    assert!(limiter.try_charge(&[other.hit("k")]).unwrap().is_granted());
    limiter.try_refund(old).unwrap();
    assert_eq!(left(), 4);
}

#[test]
fn the_reset_of_one_key_leaves_the_receipts_of_others_good() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("tokens", many(10));
    let charge = |key: &str| limiter.try_charge_for_receipt(&[limit.hit(key).cost(5)]).unwrap().1.unwrap();
    let (ada, grace) = (charge("ada"), charge("grace"));
    assert!(limiter.try_reset(&limit, "ada").unwrap());
    assert_eq!(limiter.try_refund(grace).unwrap().refunded, 5);
    assert_eq!(limiter.try_refund(ada).unwrap().refunded, 0);
}

/// The amounts are worked out from what the server tells, which is not everything about a list.
#[test]
fn what_comes_back_is_told_for_every_algorithm() {
    let world = World::new();
    let limiter = world.limiter();
    let limits = [
        many(10),
        Limit::leaky_bucket(10, 1, Micros::DAY).unwrap(),
        Limit::gcra(10, 1, Micros::DAY).unwrap(),
        Limit::fixed_window(10, Window::Every(Limit::WINDOW_MAX)).unwrap(),
        Limit::sliding_window(10, Limit::WINDOW_MAX).unwrap(),
        Limit::sliding_window_buckets(10, Limit::WINDOW_MAX, 8).unwrap(),
        Limit::sliding_window_log(10, Limit::WINDOW_MAX).unwrap(),
    ];
    for (number, limit) in limits.into_iter().enumerate() {
        let named = limiter.limit(&format!("limit {number}"), limit);
        let charge = |cost| {
            let (_, receipt) = limiter.try_charge_for_receipt(&[named.hit("k").cost(cost)]).unwrap();
            receipt.unwrap()
        };
        let (first, second) = (charge(6), charge(3));
        assert_eq!(limiter.try_settle(first, 2).unwrap().refunded, 4, "{limit}");
        assert_eq!(limiter.try_refund(second).unwrap().refunded, 3, "{limit}");
        assert_eq!(limiter.try_inspect(&named, "k").unwrap().decision.remaining, 8, "{limit}");
        assert_eq!(limiter.try_settle(charge(1), 100).unwrap().charged, 17, "{limit}: up to one overdraft");
    }
}

#[test]
fn a_reservation_that_is_dropped_is_cancelled_in_the_background() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("tokens", many(100));
    let left = || limiter.try_inspect(&limit, "k").unwrap().decision.remaining;
    let within = Duration::from_secs(600);
    // On a thread without a runtime, and on one of a runtime.
    let (_, reservation) = limiter.try_reserve(&[limit.hit("k").estimate(40)], within).unwrap();
    assert_eq!(left(), 60);
    drop(reservation);
    until("forty come back", || left() == 100);
    world.runtime.block_on(async {
        let (_, reservation) = limiter.reserve(&[limit.hit("k").estimate(40)], within).await.unwrap();
        assert_eq!(limiter.inspect(&limit, "k").await.unwrap().decision.remaining, 60);
        drop(reservation);
    });
    until("forty come back", || left() == 100);
}

#[test]
fn what_the_store_does_not_answer_is_told_as_unsettled() {
    let world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(50));
    let limit = limiter.limit("tokens", many(10));
    let mut receipt = None;
    until("the store grants", || {
        let (verdict, charged) = limiter.try_charge_for_receipt(&[limit.hit("k")]).unwrap();
        receipt = charged;
        !verdict.is_degraded()
    });
    world.server.signal("STOP").unwrap();
    let adjusted = limiter.try_refund(receipt.unwrap()).unwrap();
    assert_eq!((adjusted.refunded, adjusted.unsettled), (0, 1));
    world.server.signal("CONT").unwrap();
}
