//! What `{:?}` prints of things that hold much: a line, not a store.

use tollgate::Limit;

use crate::with_clock;

#[test]
fn a_limiter_is_debugged_in_one_line() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.limit("logins", Limit::per_second(1).burst(3).unwrap());
    for key in 0..1_000 {
        assert!(limit.try_check(key).unwrap().is_granted());
    }
    let shown = format!("{limiter:?}");
    assert!(shown.starts_with("Limiter { limits: 1, keys: 1000, bytes: "), "{shown}");
    assert!(shown.contains("clock: Manual") && shown.len() < 160, "{shown}");
    assert_eq!(format!("{limit:?}"), "NamedLimit(\"logins\", token_bucket: 1 per second, burst 3)");
    let verdict = limit.try_check("ada").unwrap();
    let shown = format!("{verdict:?}");
    assert!(shown.contains("remaining: 2") && shown.len() < 300, "{shown}");
    let (_, receipt) = limiter.try_charge_for_receipt(&[limit.hit("ada")]).unwrap();
    let shown = format!("{:?} {receipt:?}", limit.hit("ada"));
    assert!(shown.len() < 600, "{shown}");
}
