//! Without the server: each limit's own rule, at once, and back to the store by itself. Nothing is granted by an error.

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::{Instant, timeout};
use tollgate::{
    FailureRule, HitError, Kind, Limiter, ReservationError, ReservationOutcome, Retry, Source, Unavailable,
};
use tollgate_redis::{Naming, Settings, Store};

use crate::support::{World, many};

const HALF: FailureRule = FailureRule::Local { share: 1, of: 2 };

#[test]
fn a_frozen_server_leaves_each_limit_to_its_rule_and_takes_over_again() {
    let world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(250));
    let [shared, allowed, denied] =
        [("shared", HALF), ("allowed", FailureRule::Allow), ("denied", FailureRule::Deny)]
            .map(|(name, fails)| limiter.shared_limit(name, many(6), fails));
    assert_eq!(until_own(&limiter, &shared).remaining(), Some(5));
    world.server.signal("STOP").unwrap();
    let granted = (0..8).filter(|_| {
        let verdict = limiter.try_charge(&[shared.hit("k")]).unwrap();
        assert!(verdict.is_degraded() && verdict.results()[0].source() == Source::Share);
        verdict.is_granted()
    });
    assert_eq!(granted.count(), 3, "half of six, whatever was spent in the store");
    let verdict = limiter.try_charge(&[allowed.hit("k")]).unwrap();
    assert!(verdict.is_granted() && verdict.results()[0].source() == Source::Nothing);
    let verdict = limiter.try_charge(&[denied.hit("k")]).unwrap();
    assert!(matches!(verdict.kind(), Kind::Unavailable(Unavailable::Store(_))), "{verdict:?}");
    let verdict = limiter.try_charge(&[allowed.hit("k"), denied.hit("k"), shared.hit("other")]).unwrap();
    assert!(matches!(verdict.kind(), Kind::Unavailable(_)), "one that denies is enough");
    let verdict =
        limiter.try_charge(&[allowed.hit("k"), denied.hit("k").shadow(), shared.hit("other")]).unwrap();
    assert!(verdict.is_granted(), "what only counts denies nobody");
    world.server.signal("CONT").unwrap();
    // A call that was on its way when the server stood still may have been charged: at most so many.
    let left = until_own(&limiter, &shared).remaining();
    assert!(left.is_some_and(|left| left <= 4), "{left:?}");
}

#[test]
fn a_limiter_starts_without_a_server() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let entered = runtime.enter();
    let address = "unix:///nonexistent/tollgate.socket".parse().unwrap();
    let store = Store::open(address, Settings::default()).unwrap();
    drop(entered);
    let limiter = Limiter::builder().store(store, Naming::new([7; 16])).build().unwrap();
    let limit = limiter.limit("l", many(2));
    let granted = (0..4).filter(|_| limiter.try_charge(&[limit.hit("k")]).unwrap().is_granted());
    assert_eq!(granted.count(), 2, "the whole limit, for this process alone");
    assert!(limiter.try_inspect(&limit, "k").is_err() && limiter.try_reset(&limit, "k").is_err());
    assert!(limiter.store_health().is_some_and(|health| !health.up));
}

/// It neither blocks the runtime nor counts in this process what the store should count.
#[test]
fn a_blocking_verb_in_a_runtime_is_an_error_that_names_the_other_form() {
    let world = World::new();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let address = format!("unix://{}", world.server.socket().display()).parse().unwrap();
        let store = Store::open(address, Settings::default()).unwrap();
        let limiter = Limiter::builder().store(store, Naming::new([7; 16])).build().unwrap();
        let limit = limiter.limit("l", many(2));
        let (hits, within) = ([limit.hit("k")], Duration::from_secs(60));
        let error = HitError::WouldBlock { limit: "l".into() };
        assert!(error.to_string().contains("await the verb without `try_`"), "{error}");
        assert_eq!(limiter.try_charge(&hits).map(|_| ()), Err(error.clone()));
        assert_eq!(limiter.try_charge_for_receipt(&hits).map(|_| ()), Err(error.clone()));
        assert_eq!(limiter.try_charge_into(&hits, &mut None).map(|_| ()), Err(error.clone()));
        assert_eq!(limiter.try_charge_each(&hits, |_, _| ()), Err(error.clone()));
        assert_eq!(limiter.try_charge_up_to(&hits[0]).map(|_| ()), Err(error.clone()));
        assert_eq!(limiter.try_peek(&hits).map(|_| ()), Err(error.clone()));
        assert_eq!(limiter.try_inspect(&limit, "k").map(|_| ()), Err(error.clone()));
        assert_eq!(limiter.try_reset(&limit, "k"), Err(error.clone()));
        assert_eq!(limit.try_check("k").map(|_| ()), Err(error.clone()));
        assert_eq!(limiter.try_reserve(&hits, within).map(|_| ()), Err(error.clone()));
        // A reservation is still open after such an error, and a receipt's charge stays charged.
        let (_, id) = limiter.reserve(&hits, within).await.unwrap();
        let id = id.expect("the store grants it").into_id();
        assert_eq!(limiter.try_commit(id, 0), Err(ReservationError::WouldBlock));
        assert_eq!(limiter.try_cancel(id), Err(ReservationError::WouldBlock));
        assert_eq!(limiter.cancel(id).await.map(|closed| closed.ended), Ok(ReservationOutcome::Cancelled));
        let (_, receipt) = limiter.charge_for_receipt(&hits).await.unwrap();
        assert_eq!(limiter.try_refund(receipt.expect("a charge")), Err(error));
        assert_eq!(limiter.inspect(&limit, "k").await.unwrap().decision.remaining, 1);
    });
}

#[test]
fn a_receipt_names_the_hits_that_were_charged_also_without_the_store() {
    let world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(50));
    let allowed = limiter.shared_limit("allowed", many(6), FailureRule::Allow);
    let shared = limiter.shared_limit("shared", many(6), HALF);
    world.server.signal("STOP").unwrap();
    let (verdict, receipt) =
        limiter.try_charge_for_receipt(&[allowed.hit("k"), shared.hit("k").cost(2)]).unwrap();
    assert!(verdict.is_granted() && verdict.is_degraded());
    let (first, second) = receipt.expect("the share was charged").part(|place| place == 0);
    assert!(first.is_empty() && !second.is_empty(), "nothing was charged for the one that is allowed");
    limiter.try_refund(second).unwrap();
    let granted = limiter.try_charge(&[shared.hit("k").cost(3)]).unwrap().is_granted();
    assert!(granted, "it was given back to the share");
    world.server.signal("CONT").unwrap();
}

/// Waiting does not make a share larger, but the store may come back.
#[test]
fn a_share_that_is_smaller_than_the_cost_says_nothing() {
    let world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(50));
    let shared = limiter.shared_limit("shared", many(6), HALF);
    let tiny = limiter.shared_limit("tiny", many(1), HALF);
    let near = limiter.local_limit("near", many(1));
    world.server.signal("STOP").unwrap();
    let charge = |hits: &[tollgate::Hit<'_>]| limiter.try_charge(hits).unwrap();
    let unknown = |kind| matches!(kind, Kind::Unavailable(Unavailable::Store(_)));
    assert!(charge(&[shared.hit("k").cost(3)]).is_granted(), "half of six");
    for cost in [4, 6] {
        let verdict = charge(&[shared.hit("other").cost(cost)]);
        assert!(unknown(verdict.kind()) && verdict.is_degraded(), "{cost}: {verdict:?}");
    }
    // Not even the whole limit could grant it.
    let verdict = charge(&[shared.hit("other").cost(7)]);
    assert_eq!((verdict.kind(), verdict.retry()), (Kind::Refused, Some(Retry::Never)));
    assert!(unknown(charge(&[tiny.hit("k")]).kind()), "half of one is nothing");
    assert!(unknown(limiter.try_charge_up_to(&tiny.hit("k")).unwrap().kind()));
    let verdict = charge(&[near.hit("k"), tiny.hit("k")]);
    assert!(unknown(verdict.kind()), "{verdict:?}");
    assert!(charge(&[near.hit("k"), tiny.hit("k").shadow()]).is_granted(), "nothing was charged before");
    // A share that is used up refuses, and says for how long.
    let verdict = charge(&[shared.hit("k").cost(2), tiny.hit("k")]);
    assert_eq!((verdict.kind(), verdict.refused_by()), (Kind::Refused, Some(0)), "{verdict:?}");
    assert!(matches!(verdict.retry(), Some(Retry::After(_))), "{verdict:?}");
    world.server.signal("CONT").unwrap();
}

#[test]
fn who_does_not_wait_any_more_has_not_paid_here_and_holds_no_place() {
    let world = World::new();
    let limiter = world.limiter();
    let (near, far) = (limiter.local_limit("near", many(5)), limiter.limit("far", many(9)));
    assert_eq!(until_own(&limiter, &far).remaining(), Some(8));
    world.server.signal("STOP").unwrap();
    let gone = Duration::from_millis(20);
    for _ in 0..3 {
        let hits = [near.hit("k").cost(2), far.hit("k")];
        let waited = world.runtime.block_on(async { timeout(gone, limiter.charge(&hits)).await });
        assert!(waited.is_err(), "the server stands still");
        let hits = [far.hit("k").estimate(1)];
        let reserving = limiter.reserve(&hits, Duration::from_secs(60));
        assert!(world.runtime.block_on(async { timeout(gone, reserving).await }).is_err());
    }
    assert_eq!(limiter.try_inspect(&near, "k").unwrap().decision.remaining, 5);
    world.server.signal("CONT").unwrap();
    assert!(!until_own(&limiter, &far).is_degraded());
    let reserved = limiter.try_reserve(&[far.hit("other").estimate(1)], Duration::from_secs(60)).unwrap();
    assert!(reserved.1.is_some(), "there is room for two, and none was kept: {:?}", reserved.0);
}

/// Charges until the store itself decides.
fn until_own(limiter: &Limiter, limit: &tollgate::NamedLimit) -> tollgate::Verdict {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let verdict = limiter.try_charge(&[limit.hit("fresh key")]).expect("a good question");
        if verdict.results().first().is_some_and(|answer| answer.source() == Source::Own) {
            return verdict;
        }
        assert!(Instant::now() < deadline, "the store has not come back: {verdict:?}");
        std::thread::yield_now();
    }
}

/// However many requests meet it.
#[cfg(feature = "tracing")]
#[test]
fn each_outage_of_the_store_is_one_event_and_its_end_another() {
    let world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(50));
    let far = limiter.limit("far", many(50_000));
    assert!(!until_own(&limiter, &far).is_degraded());
    world.server.signal("STOP").unwrap();
    let told = crate::lines::events(|| {
        for _ in 0..5 {
            assert!(limiter.try_charge(&[far.hit("k")]).unwrap().is_degraded());
        }
    });
    world.server.signal("CONT").unwrap();
    let [told] = told.as_slice() else { panic!("one event: {told:?}") };
    assert!(told.starts_with("WARN tollgate message=the shared store gives no decisions why="), "{told}");
    let told = crate::lines::events(|| drop(until_own(&limiter, &far)));
    assert_eq!(told, ["INFO tollgate message=the shared store gives decisions again"]);
}
