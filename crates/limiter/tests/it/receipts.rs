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
    assert!(!refused.granted() && receipt.is_none(), "nothing was charged");
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
