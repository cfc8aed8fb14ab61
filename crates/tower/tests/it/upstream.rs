//! What the upstream says of its own limits is never made more permissive.

use bytes::Bytes;
use http::Response;
use http_body_util::Full;

use crate::support::{Told, limiter, policy, request, send_to};

const POLICY: &str = "tollgate: 1\nroutes: [{ path: /a, rate_limit: { name: ours, algorithm: token_bucket, capacity: 5, refill_rate: 0.1 } }]";

/// What a client is told when the upstream says this.
fn told(theirs: &[(&str, &str)]) -> Told {
    let (limiter, _) = limiter();
    let layer = policy(&limiter, POLICY);
    send_to(&layer, request("GET", "/a", &[]), |_| {
        let mut response = Response::builder();
        for (name, value) in theirs {
            response = response.header(*name, *value);
        }
        response.body(Full::<Bytes>::default()).expect("it is a response")
    })
}

#[test]
fn members_of_lists_are_kept_behind_ours() {
    let told = told(&[
        ("ratelimit-policy", r#""theirs";q=1;w=60"#),
        ("ratelimit", r#""theirs";r=0;t=60, "more";r=1"#),
        ("ratelimit", r#""last";r=2"#),
    ]);
    let names = |field| told.list(field).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names("ratelimit-policy"), ["ours", "theirs"]);
    assert_eq!(names("ratelimit"), ["ours", "theirs", "more", "last"]);
}

/// A reader ignores a list that is malformed anywhere: the upstream's older forms must not make it ignore ours.
#[test]
fn lines_of_another_form_do_not_spoil_ours() {
    for line in ["limit=10, remaining=0, reset=5", "10;w=60", "\"a", ""] {
        let told = told(&[("ratelimit", line), ("ratelimit-policy", line)]);
        assert_eq!(told.field("ratelimit"), r#""ours";r=4;t=10"#, "{line}");
        assert_eq!(told.field("ratelimit-policy"), r#""ours";q=5;w=50"#, "{line}");
    }
}

#[test]
fn of_two_sets_of_three_the_one_with_less_remaining_stands_whole() {
    let (ours, theirs) = (["5", "4"], ["1000", "3"]);
    let table = [
        ("3", theirs),
        ("0", ["1000", "0"]),
        // As much: theirs may hold for longer than ours.
        ("4", ["1000", "4"]),
        ("5", ours),
        ("1000", ours),
        // Less, or not known to be more.
        ("-1", ["1000", "-1"]),
        ("many", ["1000", "many"]),
        ("007", ["1000", "007"]),
        ("", ["1000", ""]),
    ];
    for (remaining, wanted) in table {
        let told = told(&[
            ("x-ratelimit-limit", "1000"),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", "77"),
        ]);
        assert_eq!(
            ["x-ratelimit-limit", "x-ratelimit-remaining"].map(|name| told.field(name)),
            wanted,
            "{remaining}"
        );
        assert_eq!(told.field("x-ratelimit-reset") == "77", wanted[0] == "1000", "{remaining}");
    }
}

#[test]
fn a_limit_or_a_reset_without_what_remains_stands_too() {
    let names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    let (theirs, ours) = (["3", "", "77"], ["5", "4"]);
    for sent in [[true, false, false], [false, false, true], [true, false, true]] {
        let fields = names.into_iter().zip(theirs).zip(sent).filter(|(_, is)| *is).map(|(field, _)| field);
        let told = told(&fields.collect::<Vec<_>>());
        for ((name, value), is) in names.into_iter().zip(theirs).zip(sent) {
            let found = told.headers.get(name).map(|value| value.to_str().expect("it is ASCII"));
            assert_eq!(found, is.then_some(value), "{sent:?}: {name}");
        }
    }
    // Lines without a value say nothing.
    let told = told(&[("x-ratelimit-limit", ""), ("x-ratelimit-reset", "")]);
    assert_eq!([names[0], names[1]].map(|name| told.field(name)), ours);
}

#[test]
fn an_upstreams_own_refusal_goes_through_as_it_is() {
    let told = told(&[("retry-after", "99"), ("cache-control", "private")]);
    assert_eq!((told.field("retry-after"), told.field("cache-control")), ("99", "private"));
}
