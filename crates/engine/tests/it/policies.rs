//! A policy in force: what an enforcer grants and refuses, and what stays when the policy changes while it runs.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use tollgate::{Limiter, Retry};
use tollgate_engine::{Body, CheckError, Enforcer, Outcome, PolicyLimits, RequestHead, Scratch};
use tollgate_policy::{KEY_BODY_MAX, Policy};

use crate::with_clock;

fn enforcer(limiter: &Limiter, text: &str) -> Arc<Enforcer> {
    let policy = Policy::parse("t.yaml", text).unwrap_or_else(|refused| panic!("{refused}"));
    Arc::new(PolicyLimits::new(limiter.clone(), Arc::new(policy), None).into())
}

/// Checks a request with a key, and describes the outcome in a few words.
fn check(enforcer: &Arc<Enforcer>, target: &str, key: &str) -> String {
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", key.parse().expect("a header's value"));
    let peer = "203.0.113.9".parse().expect("an address");
    let head = RequestHead::new("GET", target, &headers).with_peer(peer);
    match enforcer.try_check(&head, &mut Scratch::default()) {
        Err(CheckError::NotFound) => "not found".into(),
        Err(error) => format!("wrong: {error}"),
        Ok(Outcome::Admitted(admission)) => match admission.binding_limit() {
            None => "unlimited".into(),
            Some(limit) => format!("granted, {} left", limit.remaining()),
        },
        Ok(Outcome::Refused(refusal)) => {
            let by = refusal.limit().name();
            match refusal.retry() {
                Retry::After(wait) => format!("refused by {by}, come back in {wait}"),
                Retry::Never => format!("refused by {by} for ever"),
            }
        }
        Ok(other) => format!("{other:?}"),
    }
}

const NESTED: &str = "
tollgate: 1
routes:
  - path: /a
    rate_limit:
      - { name: keyed, algorithm: token_bucket, capacity: 3, refill_rate: 1 }
      - { name: all, algorithm: token_bucket, capacity: 4, refill_rate: 0.1, consumer_key: everyone }
";

#[test]
fn limits_on_one_request_are_charged_all_or_none() {
    let (limiter, hands) = with_clock();
    let enforced = enforcer(&limiter, NESTED);
    let asked = |key| check(&enforced, "/a", key);
    assert_eq!(
        [asked("k"), asked("k"), asked("k")].join("; "),
        "granted, 2 left; granted, 1 left; granted, 0 left"
    );
    // Refused by its own limit, which takes nothing from everyone's.
    assert_eq!(asked("k"), "refused by keyed, come back in 1 s");
    assert_eq!(asked("k"), "refused by keyed, come back in 1 s");
    assert_eq!(asked("l"), "granted, 0 left");
    assert_eq!(asked("l"), "refused by all, come back in 10 s");
    hands.advance(Duration::from_secs(10));
    assert_eq!(asked("l"), "granted, 0 left", "what everyone's limit refused was not taken from l's own");
}

#[test]
fn a_policy_is_swapped_whole_and_keys_keep_what_they_have_used() {
    let (limiter, _) = with_clock();
    let numbers = |capacity: u64| {
        NESTED.replace("capacity: 3", &format!("capacity: {capacity}")).replace("capacity: 4", "capacity: 40")
    };
    let old = enforcer(&limiter, &numbers(3));
    for _ in 0..3 {
        let _ = check(&old, "/a", "k");
    }
    assert!(check(&old, "/a", "k").starts_with("refused by keyed"));
    // Two more than before: two more are granted, and the three are not forgotten.
    let new = enforcer(&limiter, &numbers(5));
    assert_eq!(
        [check(&new, "/a", "k"), check(&new, "/a", "k")].join("; "),
        "granted, 1 left; granted, 0 left"
    );
    assert!(check(&new, "/a", "k").starts_with("refused by keyed"));
    // Another name is another limit.
    let renamed = enforcer(&limiter, &numbers(5).replace("name: keyed", "name: by-key"));
    assert_eq!(check(&renamed, "/a", "k"), "granted, 4 left");
}

#[test]
fn a_limit_in_the_shadow_refuses_nobody() {
    let (limiter, _) = with_clock();
    let enforced = enforcer(&limiter, &NESTED.replace("name: keyed,", "name: keyed, mode: shadow,"));
    let answers: Vec<_> = (0..5).map(|_| check(&enforced, "/a", "k")).collect();
    assert_eq!(answers.iter().filter(|answer| answer.starts_with("granted")).count(), 4);
    assert!(answers[4].starts_with("refused by all"));
}

#[test]
fn no_spelling_of_a_path_is_a_second_budget() {
    let (limiter, _) = with_clock();
    let enforced = enforcer(&limiter, NESTED);
    let granted = ["/a", "/%61", "/./a", "/x/../a", "/a?b", "http://h/a", "/a", "/a"];
    let answers = granted.map(|target| check(&enforced, target, "k"));
    assert_eq!(answers.iter().filter(|answer| answer.starts_with("granted")).count(), 3);
    assert!(answers.iter().all(|answer| !answer.starts_with("unlimited") && !answer.starts_with("wrong")));
    assert!(check(&enforced, "/a%2f", "k").starts_with("wrong: "));
    assert_eq!(check(&enforced, "/A", "k"), "not found");
}

/// Rotating a key that nobody verifies defeats a limit; the ceiling per address is one of the two cures.
#[test]
fn a_ceiling_per_address_holds_whatever_keys_are_shown() {
    let (limiter, _) = with_clock();
    let text = "
tollgate: 1
rate_limit: { name: keyed, algorithm: token_bucket, capacity: 2, refill_rate: 1, address_ceiling: 5 }
routes: [{ path: /a }]
";
    let capped = enforcer(&limiter, text);
    let granted =
        (0..100).filter(|key| check(&capped, "/a", &format!("k{key}")).starts_with("granted")).count();
    assert_eq!(granted, 10);
    let open = enforcer(
        &limiter,
        &text.replace(", address_ceiling: 5", ", name: open").replace("name: keyed, ", ""),
    );
    let granted =
        (0..100).filter(|key| check(&open, "/a", &format!("k{key}")).starts_with("granted")).count();
    assert_eq!(granted, 100);
}

/// The charges of a limit's wider limits are charges of the limit.
#[test]
fn to_settle_a_limit_settles_its_wider_limits_too() {
    let (limiter, _) = with_clock();
    let text = "
tollgate: 1
rate_limit: { name: keyed, algorithm: token_bucket, capacity: 5, refill_rate: 1, address_ceiling: 1 }
routes: [{ path: /a }]
";
    let enforced = enforcer(&limiter, text);
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", http::HeaderValue::from_static("k"));
    let head = RequestHead::new("GET", "/a", &headers).with_peer("203.0.113.9".parse().expect("an address"));
    let Ok(Outcome::Admitted(admission)) = enforced.try_check(&head, &mut Scratch::default()) else {
        panic!("nothing was charged before")
    };
    let names: Vec<_> = admission.limits().map(|limit| limit.name().to_owned()).collect();
    assert_eq!(names, ["keyed", "keyed (address)"]);
    assert!(!admission.settle_limit("keyed (address)", 3), "it has no name of its own to settle by");
    assert!(admission.settle_limit("keyed", 3));
    assert_eq!(check(&enforced, "/a", "other"), "granted, 1 left", "three, and one more, of the ceiling");
}

/// What the check that wanted the body found out is believed: another path in the second head changes nothing.
#[test]
fn a_request_whose_body_is_counted_is_matched_once() {
    let (limiter, _) = with_clock();
    let text = "
tollgate: 1
routes:
  - path: /counted
    rate_limit: { name: counted, algorithm: token_bucket, capacity: 5, refill_rate: 1, cost: { operations: json_array, max: 5 } }
  - path: /free
";
    let (enforced, headers) = (enforcer(&limiter, text), HeaderMap::new());
    let mut scratch = Scratch::default();
    let head = |target| {
        RequestHead::new("POST", target, &headers).with_peer("203.0.113.9".parse().expect("an address"))
    };
    let wanted = enforced.try_check(&head("/counted").with_body(Body::Unread), &mut scratch);
    let Ok(Outcome::NeedsBody { matched, .. }) = wanted else { panic!("{wanted:?}") };
    let read = Body::Read { operations: Some(3), matched };
    let checked = enforced.try_check(&head("/free").with_body(read), &mut scratch);
    let Ok(Outcome::Admitted(admission)) = checked else { panic!("{checked:?}") };
    assert_eq!(admission.binding_limit().map(|limit| limit.remaining()), Some(2));
}

const LOGIN: &str = "
tollgate: 1
routes:
  - path: /login
    rate_limit: { name: logins, algorithm: token_bucket, capacity: 2, refill_rate: 0.1, consumer_key: 'body:/username', missing_key: reject }
";

/// Checks a login with a body as a gateway does: first without it, then, if a limit wants it, with it.
fn login(enforcer: &Arc<Enforcer>, body: &str, peer: &str) -> String {
    let headers = HeaderMap::new();
    let head = RequestHead::new("POST", "/login", &headers).with_peer(peer.parse().expect("an address"));
    let mut scratch = Scratch::default();
    let first = enforcer.try_check(&head.with_body(Body::Unread), &mut scratch);
    let Ok(Outcome::NeedsBody { wanted, matched }) = first else { panic!("{first:?}") };
    assert_eq!((wanted.kind, wanted.max_read()), (None, KEY_BODY_MAX));
    let text = (body.len() as u64 <= wanted.max_key).then_some(body.as_bytes());
    let head = head.with_body(Body::Read { operations: None, matched }).with_body_text(text);
    match enforcer.try_check(&head, &mut scratch) {
        Ok(Outcome::Admitted(_)) => "granted".into(),
        Ok(Outcome::Refused(refusal)) => format!("refused by {}", refusal.limit().name()),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_account_has_one_budget_from_wherever_it_is_tried() {
    let (limiter, _) = with_clock();
    let enforced = enforcer(&limiter, LOGIN);
    let ada = r#"{"username": "ada", "password": "x"}"#;
    assert_eq!(login(&enforced, ada, "203.0.113.1"), "granted");
    assert_eq!(login(&enforced, ada, "203.0.113.2"), "granted");
    assert_eq!(login(&enforced, ada, "203.0.113.3"), "refused by logins");
    assert_eq!(login(&enforced, r#"{"username": "bob"}"#, "203.0.113.3"), "granted");
    // Neither a name given twice nor a body too large to be read is a way around.
    for body in [r#"{"username": "ada", "username": "x"}"#.to_owned(), format!("{ada}{}", " ".repeat(70_000))]
    {
        let refused = login(&enforced, &body, "203.0.113.3");
        assert!(refused.contains("send one") || refused.contains("cannot be read"), "{refused}");
    }
    assert!(login(&enforced, r#"{"password": "x"}"#, "203.0.113.3").contains("requires a credential"));
}
