//! What is given back, and what is not: a refund never mints.

use std::time::Duration;

use tollgate::{Limit, Limiter, Micros, NamedLimit, Window};

use crate::with_clock;

fn left(limiter: &Limiter, limit: &NamedLimit) -> u64 {
    limiter.try_inspect(limit, "ada").unwrap().decision.remaining
}

#[test]
fn a_refund_gives_back_what_has_not_drained() {
    let (limiter, clock) = with_clock();
    let bucket = limiter.limit("bucket", Limit::token_bucket(10, 1, Micros::SECOND).unwrap());
    let window = limiter.limit("window", Limit::fixed_window(10, Window::Every(Micros::HOUR)).unwrap());
    let hits = [bucket.hit("ada").cost(6), window.hit("ada").cost(6)];
    let (_, receipt) = limiter.try_charge_for_receipt(&hits).unwrap();
    assert!(limiter.try_charge(&hits[..1]).unwrap().refused_by().is_some(), "4 are left");
    clock.advance(Duration::from_secs(2));
    limiter.try_refund(receipt.unwrap()).unwrap();
    assert_eq!((left(&limiter, &bucket), left(&limiter, &window)), (10, 10));
    let (refused, receipt) = limiter.try_charge_for_receipt(&[bucket.hit("ada").cost(11)]).unwrap();
    assert!(!refused.is_granted() && receipt.is_none(), "nothing was charged");
}

#[test]
fn a_receipt_is_void_after_a_reset_and_under_other_numbers() {
    let (limiter, clock) = with_clock();
    for limit in [
        Limit::token_bucket(10, 1, Micros::HOUR).unwrap(),
        Limit::fixed_window(10, Window::Every(Micros::HOUR)).unwrap(),
    ] {
        let named = limiter.limit(&format!("reset {limit}"), limit);
        let take = || limiter.try_charge_for_receipt(&[named.hit("ada").cost(5)]).unwrap().1.unwrap();
        let receipt = take();
        limiter.try_reset(&named, "ada").unwrap();
        clock.advance(Duration::from_micros(1));
        let _spent = take();
        limiter.try_refund(receipt).unwrap();
        assert_eq!(left(&limiter, &named), 5, "{limit}");

        // Numbers that were changed, and changed back.
        let receipt = take();
        let other = if matches!(limit, Limit::TokenBucket(_)) {
            Limit::token_bucket(10, 1_000, Micros::SECOND).unwrap()
        } else {
            Limit::fixed_window(10, Window::Every(Micros::MINUTE)).unwrap()
        };
        let other = limiter.limit(named.name(), other);
        clock.advance(Duration::from_micros(1));
        let _ = limiter.try_charge(&[other.hit("ada").cost(0)]).unwrap();
        let before = left(&limiter, &named);
        limiter.try_refund(receipt).unwrap();
        assert_eq!(left(&limiter, &named), before, "{limit}");
    }
    // The same numbers once more are the same limit: a policy that is loaded again voids nothing.
    let limit = Limit::fixed_window(10, Window::Every(Micros::HOUR)).unwrap();
    let first = limiter.limit("again", limit);
    let (_, receipt) = limiter.try_charge_for_receipt(&[first.hit("ada").cost(5)]).unwrap();
    let again = limiter.limit("again", limit);
    let _ = limiter.try_charge(&[again.hit("ada")]).unwrap();
    limiter.try_refund(receipt.unwrap()).unwrap();
    assert_eq!(left(&limiter, &first), 9);
}

#[test]
fn receipts_stay_good_however_many_tenants_have_numbers_of_their_own() {
    let (limiter, _clock) = with_clock();
    let of_tenant = |tenant: u64| Limit::fixed_window(10 + tenant, Window::Every(Micros::HOUR)).unwrap();
    let tenants = 50_000;
    for tenant in 0..tenants {
        let _ = limiter.limit("tenants", of_tenant(tenant));
    }
    let limit = of_tenant(tenants - 1);
    let first = limiter.limit("tenants", limit);
    let (_, receipt) = limiter.try_charge_for_receipt(&[first.hit("ada").cost(5)]).unwrap();
    let again = limiter.limit("tenants", limit);
    let _ = limiter.try_charge(&[again.hit("ada")]).unwrap();
    limiter.try_refund(receipt.unwrap()).unwrap();
    assert_eq!(left(&limiter, &first), tenants + 8, "of one more than all tenants and eight, one is charged");
}

#[test]
fn a_receipt_of_another_limiter_is_not_taken() {
    let (limiter, _clock) = with_clock();
    let (elsewhere, _its_clock) = with_clock();
    let limit = elsewhere.limit("there", Limit::gcra(1, 1, Micros::HOUR).unwrap());
    let (_, receipt) = elsewhere.try_charge_for_receipt(&[limit.hit("ada")]).unwrap();
    assert_eq!(
        limiter.try_refund(receipt.unwrap()).unwrap_err().to_string(),
        "`there` belongs to another limiter: use a limit that this limiter created"
    );
}

#[test]
fn a_window_that_the_calendar_has_moved_gives_nothing_back() {
    let (limiter, clock) = with_clock();
    let limit = limiter.limit("dated", Limit::fixed_window(10, Window::Every(Micros::HOUR)).unwrap());
    let (_, receipt) = limiter.try_charge_for_receipt(&[limit.hit("ada").cost(5)]).unwrap();
    clock.correct_wall_clock(-600_000_000);
    clock.advance(Duration::from_secs(2));
    limiter.try_refund(receipt.unwrap()).unwrap();
    assert_eq!(left(&limiter, &limit), 5);
}

#[test]
fn the_reset_of_one_key_leaves_the_receipts_of_others_good() {
    let (limiter, clock) = with_clock();
    for limit in [
        Limit::token_bucket(10, 1, Micros::HOUR).unwrap(),
        Limit::fixed_window(10, Window::Every(Micros::HOUR)).unwrap(),
    ] {
        let named = limiter.limit(&format!("one of two {limit}"), limit);
        let take = |key: &str| {
            let hits = [named.hit(key).estimate(5)];
            limiter.try_reserve(&hits, Duration::from_secs(60)).unwrap().1.unwrap()
        };
        let (ada, grace) = (take("ada"), take("grace"));
        limiter.try_reset(&named, "ada").unwrap();
        clock.advance(Duration::from_micros(1));
        assert_eq!(grace.try_commit(2).unwrap().adjustment.refunded, 3, "{limit}");
        assert_eq!(ada.try_commit(2).unwrap().adjustment.refunded, 0, "{limit}: it was forgotten");

        // The same for a key that is met under other numbers.
        let (ada, grace) = (take("ada"), take("grace"));
        let other = limiter.limit(named.name(), Limit::token_bucket(10, 1_000, Micros::SECOND).unwrap());
        assert!(limiter.try_charge(&[other.hit("ada").cost(0)]).unwrap().is_granted());
        assert!(limiter.try_charge(&[named.hit("ada").cost(0)]).unwrap().is_granted());
        assert_eq!(grace.try_commit(1).unwrap().adjustment.refunded, 4, "{limit}");
        assert_eq!(ada.try_commit(1).unwrap().adjustment.refunded, 0, "{limit}: other numbers");
    }
}

#[test]
fn a_refund_and_a_settlement_say_what_they_came_to() {
    let (limiter, clock) = with_clock();
    let bucket = limiter.limit("bucket", Limit::token_bucket(10, 1, Micros::SECOND).unwrap());
    let log = limiter.limit("log", Limit::sliding_window_log(10, Micros::MINUTE).unwrap());
    let take = |cost| {
        let hits = [bucket.hit("ada").cost(cost), log.hit("ada").cost(cost)];
        limiter.try_charge_for_receipt(&hits).unwrap().1.unwrap()
    };
    let receipt = take(6);
    clock.advance(Duration::from_secs(2));
    let adjusted = limiter.try_refund(receipt).unwrap();
    assert_eq!((adjusted.refunded, adjusted.charged), (4 + 6, 0), "two have drained from the bucket");
    let adjusted = limiter.try_settle(take(6), 1).unwrap();
    assert_eq!((adjusted.refunded, adjusted.charged), (5 + 5, 0));
    let adjusted = limiter.try_settle(take(1), 3).unwrap();
    assert_eq!((adjusted.refunded, adjusted.charged, adjusted.unsettled), (0, 2 + 2, 0));
    let settled = limiter.try_settle(take(1), 12).unwrap();
    assert_eq!(settled.charged, 11 + 11);
    let (_, none) = limiter.try_charge_for_receipt(&[bucket.hit("ada")]).unwrap();
    assert!(none.is_none());
}
