//! Events of the feature `tracing`: refusals are told, grants are not, and no key is in an event.
#![cfg(feature = "tracing")]

use std::time::Duration;

use tollgate::{Kind, Limit, Limiter};

use crate::lines::events;
use crate::with_clock;

#[test]
fn refusals_of_every_verb_are_events_and_grants_are_not() {
    let (limiter, _clock) = with_clock();
    let [one, other] = ["one", "other"]
        .map(|name| limiter.limit(name, Limit::token_bucket(1, 1, Duration::from_secs(10)).unwrap()));
    let told = events(|| {
        assert!(one.try_check("ada").unwrap().is_granted());
        assert!(other.try_check("ada").unwrap().is_granted());
        assert!(limiter.try_peek(&[one.hit("ada")]).unwrap().retry_after().is_some());
    });
    assert_eq!(told, Vec::<String>::new(), "nobody was refused");
    let refused = "DEBUG tollgate message=refused limit=\"one\" retry_after=10s";
    let hit = one.hit("ada");
    let runs: [(&str, &dyn Fn()); 6] = [
        ("check", &|| drop(one.try_check("ada").unwrap())),
        ("several", &|| drop(limiter.try_charge(&[hit, other.hit("bob")]).unwrap())),
        ("many", &|| drop(limiter.try_charge(&[hit, hit, hit, hit, hit.cost(0)]).unwrap())),
        ("receipt", &|| drop(limiter.try_charge_for_receipt(&[hit]).unwrap())),
        ("up to", &|| drop(limiter.try_charge_up_to(&hit.cost(5)).unwrap())),
        ("reserve", &|| drop(limiter.try_reserve(&[hit], Duration::from_secs(1)).unwrap())),
    ];
    for (name, run) in runs {
        let told = events(run);
        assert_eq!(told.len(), 1, "{name}: {told:?}");
        assert!(name == "many" || told[0] == refused, "{name}: {told:?}");
        assert!(!told[0].contains("ada"), "{name}: a key is nobody's business: {told:?}");
    }
    let told = events(|| drop(limiter.try_charge(&[hit.cost(9)]).unwrap()));
    assert_eq!(told, ["DEBUG tollgate message=refused: retrying will never succeed limit=\"one\""]);
}

#[test]
fn what_cannot_be_decided_is_an_event() {
    let limiter = Limiter::builder().reservations_max(0).build().unwrap();
    let limit = limiter.limit("limit", Limit::per_second(1).burst(1).unwrap());
    let told = events(|| {
        let (verdict, _) = limiter.try_reserve(&[limit.hit("ada")], Duration::from_secs(1)).unwrap();
        assert!(matches!(verdict.kind(), Kind::Unavailable(_)));
    });
    assert_eq!(told, ["DEBUG tollgate message=no decision why=too many reservations are open"]);
}
