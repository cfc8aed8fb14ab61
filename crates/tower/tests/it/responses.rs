//! What a response does to charges: a 401 gives back what was claimed, a reported cost settles an estimate.

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use tollgate_engine::Scratch;
use tollgate_tower::{Admitted, Reply, RequestHead, TollgateLayer};

use crate::support::{Gateway, PEER, Told, limiter, policy, request, send, send_to};

fn respond(layer: &TollgateLayer, headers: &[(&str, &str)], status: u16, reported: &[&str]) -> Told {
    send_to(layer, request("GET", "/a", headers), |_| {
        let mut response = Response::builder().status(status);
        for value in reported {
            response = response.header("x-spent", *value);
        }
        response.body(Full::<Bytes>::default()).expect("it is a response")
    })
}

/// What each limit has left, as a request that costs nothing more would see it: one is asked for, and added again.
fn left(layer: &TollgateLayer, headers: &[(&str, &str)]) -> Vec<i64> {
    let told = send(layer, request("GET", "/a", headers));
    assert_eq!(told.status, 200);
    told.list("ratelimit").into_iter().map(|(_, numbers)| numbers[0].1 + 1).collect()
}

const CLAIMED: &str = "
tollgate: 1
routes:
  - path: /a
    rate_limit:
      - { name: key, algorithm: token_bucket, capacity: 100, refill_rate: 1 per day, consumer_key: 'header:X-Key' }
      - { name: all, algorithm: token_bucket, capacity: 100, refill_rate: 1 per day, consumer_key: everyone }
";

#[test]
fn a_401_gives_back_what_was_charged_to_somebody_by_their_own_word() {
    for (status, headers, wanted) in [
        (401, &[("x-key", "ada")][..], [100, 95]),
        (403, &[("x-key", "ada")], [95, 95]),
        (200, &[("x-key", "ada")], [95, 95]),
        (500, &[("x-key", "ada")], [95, 95]),
        // An address is nobody's word.
        (401, &[], [95, 95]),
    ] {
        let (limiter, _) = limiter();
        let layer = policy(&limiter, CLAIMED);
        for _ in 0..5 {
            respond(&layer, headers, status, &[]);
        }
        assert_eq!(left(&layer, headers), wanted, "{status}");
    }
}

/// Its numbers are those of whom the client claims to be: to tell them would be to let strangers read another's traffic.
#[test]
fn a_401_does_not_tell_what_it_gives_back() {
    let (limiter, _) = limiter();
    let layer = policy(&limiter, CLAIMED);
    for (status, headers, wanted) in [
        (401, &[("x-key", "ada")][..], &["all"][..]),
        (200, &[("x-key", "ada")], &["key", "all"]),
        (403, &[("x-key", "ada")], &["key", "all"]),
        (401, &[], &["key", "all"]),
    ] {
        let told = send_to(&layer, request("GET", "/a", headers), |_| {
            Response::builder().status(status).body(Full::<Bytes>::default()).expect("it is a response")
        });
        for field in ["ratelimit", "ratelimit-policy"] {
            let names: Vec<_> = told.list(field).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, wanted, "{status}: {headers:?}");
        }
        assert_eq!(told.number("x-ratelimit-limit"), 100);
    }
}

/// A handler that streams its response knows what it cost when the body is sent, which is after the head.
#[test]
fn what_the_head_says_nothing_of_can_be_settled_after_it() {
    for (status, wanted) in [(200, [100, 100]), (401, [100, 100])] {
        let (limiter, _) = limiter();
        let layer = policy(&limiter, CLAIMED);
        let kept = std::sync::Mutex::new(None);
        let _ = send_to(&layer, request("GET", "/a", &[("x-key", "ada")]), |request| {
            *kept.lock().expect("nobody panics") = request.extensions().get::<Admitted>().cloned();
            Response::builder().status(status).body(Full::<Bytes>::default()).expect("it is a response")
        });
        let admitted = kept.into_inner().expect("nobody panics").expect("it was admitted");
        assert!(admitted.clone().refund(), "there is something left");
        assert!(!admitted.refund(), "and then nothing");
        assert_eq!(left(&layer, &[("x-key", "ada")]), wanted, "{status}");
    }
}

const REPORTED: &str = "
tollgate: 1
routes:
  - path: /a
    rate_limit:
      - { name: spent, algorithm: token_bucket, capacity: 100, refill_rate: 1 per day, consumer_key: everyone,
          cost: { reported: X-Spent, estimate: 10, max: 40 } }
      - { name: all, algorithm: token_bucket, capacity: 100, refill_rate: 1 per day, consumer_key: everyone }
";

#[test]
fn a_reported_cost_settles_the_estimate_of_its_limit_alone() {
    for (reported, wanted) in [
        (&["3"][..], 97),
        (&["10"], 90),
        (&["25"], 75),
        (&["0"], 100),
        // At most what the policy says.
        (&["41"], 60),
        (&["18446744073709551615"], 60),
        // What is missing or odd leaves the estimate.
        (&[], 90),
        (&["3", "3"], 90),
        (&["3.0"], 90),
        (&["+3"], 90),
        (&["03"], 90),
        (&["-3"], 90),
        (&["3, 4"], 90),
        (&[""], 90),
        (&["18446744073709551616"], 90),
    ] {
        let (limiter, _) = limiter();
        let layer = policy(&limiter, REPORTED);
        let left = |told: Told| -> Vec<_> {
            told.list("ratelimit").into_iter().map(|(_, numbers)| numbers[0].1).collect()
        };
        let told = respond(&layer, &[], 200, reported);
        assert_eq!(left(told), [wanted, 99], "{reported:?}: the response shows what it settles");
        let told = send(&layer, request("GET", "/a", &[]));
        assert_eq!(left(told), [wanted - 10, 98], "{reported:?}");
    }
}

/// The same, as a gateway does it: with a head and no service.
#[test]
fn a_gateway_settles_by_the_head_of_a_response() {
    let (limiter, _) = limiter();
    let gateway = Gateway::new(&limiter, CLAIMED);
    let mut scratch = Scratch::default();
    for key in [Some("ada"), None] {
        let mut headers = http::HeaderMap::new();
        headers.extend(
            key.map(|key| (http::HeaderName::from_static("x-key"), http::HeaderValue::from_static(key))),
        );
        let head = RequestHead::new("GET", "/a", &headers).with_peer(PEER);
        let Reply::Admitted(admission) = gateway.check(&head, &mut scratch) else { panic!("it passes") };
        assert_eq!((admission.path(), scratch.hits().charges().len()), (None, 2));
        gateway.finish(&admission, 401);
        assert!(!admission.refund(), "what the response does not settle is charged for good");
    }
    assert_eq!(left(&policy(&limiter, CLAIMED), &[("x-key", "ada")]), [100, 98]);
}
