//! Ways to spell a path, a method or a key (letter F): the same limit, or 400, or 404; and the upstream gets what was matched.

use crate::scripted::Scripted;
use crate::support::{Rig, field, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// One limit on `GET /limited`, a great one on the root, and a key in a header.
const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
x-rate-limit: { name: root, algorithm: token_bucket, capacity: 1000, refill_rate: 0.001, consumer_key: ip }
paths:
  /limited:
    get:
      x-rate-limit: { name: small, algorithm: token_bucket, capacity: 100, refill_rate: 0.001, consumer_key: ip }
  /caf\u{e9}/{id}: { get: {} }
  /keyed:
    get:
      x-rate-limit: { name: keyed, algorithm: token_bucket, capacity: 2, refill_rate: 0.001, consumer_key: 'header:X-Key' }
";

fn forwarding_the_rest() -> String {
    format!("{POLICY}x-tollgate: {{ unmatched: forward }}\n")
}

fn rig(policy: &str, upstream: &Scripted) -> Rig {
    Rig::new(policy, upstream.address, |settings| settings.upstream.idle_max = 0)
}

/// The first line of what the upstream got last.
fn last_line(upstream: &Scripted) -> String {
    let seen = upstream.seen();
    seen.last().and_then(|request| request.lines().next()).unwrap_or_default().to_owned()
}

/// Which limits were charged, and the target that the upstream got.
enum Goes {
    /// Refused with this status; the upstream gets nothing.
    Nowhere(u16),
    /// To the upstream with this target, and charged by this limit.
    To(&'static str, &'static str),
}
use Goes::{Nowhere, To};

fn check(policy: &str, table: &[(&str, Goes)]) {
    let upstream = Scripted::always(OK);
    let rig = rig(policy, &upstream);
    for (first_line, goes) in table {
        let before = upstream.seen().len();
        let got = rig.send(format!("{first_line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        let arrived = upstream.settled().len() - before;
        match goes {
            Nowhere(wanted) => assert_eq!((status(&got), arrived), (*wanted, 0), "{first_line}: {got}"),
            To(target, limit) => {
                assert_eq!((status(&got), arrived), (200, 1), "{first_line}: {got}");
                let method = first_line.split(' ').next().expect("there is a method");
                assert_eq!(last_line(&upstream), format!("{method} {target} HTTP/1.1"), "{first_line}");
                let told = field(&got, "ratelimit").unwrap_or_default();
                assert!(told.starts_with(&format!("\"{limit}\";")), "{first_line}: {told}");
            }
        }
    }
}

#[test]
fn a_path_spelt_otherwise_is_the_same_limit_or_refused() {
    check(
        POLICY,
        &[
            ("GET /limited", To("/limited", "small")),
            ("GET /%6cimited", To("/limited", "small")),
            ("GET /%6Cimited?a=%6c", To("/limited?a=%6c", "small")),
            ("GET /./limited", To("/limited", "small")),
            ("GET /x/../limited", To("/limited", "small")),
            ("GET /x/%2e%2e/limited", Nowhere(400)),
            ("GET /%2e/limited", Nowhere(400)),
            ("GET /limited?", To("/limited?", "small")),
            ("GET /limited?x=1&y=/../z", To("/limited?x=1&y=/../z", "small")),
            ("GET /limited?x=%00%0d%0a", To("/limited?x=%00%0d%0a", "small")),
            ("GET http://a/limited", To("/limited", "small")),
            ("GET HTTP://A:80/x/../limited?q", To("/limited?q", "small")),
            ("GET http://a/%6cimited", To("/limited", "small")),
            ("HEAD /limited", To("/limited", "small")),
            ("GET /caf%c3%a9/1", To("/caf%C3%A9/1", "root")),
            ("GET /limited/", Nowhere(404)),
            ("GET /LIMITED", Nowhere(404)),
            ("GET /limited;x", Nowhere(404)),
            ("GET /limited;jsessionid=1", Nowhere(404)),
            ("GET //limited", Nowhere(400)),
            ("GET /x//limited", Nowhere(400)),
            ("GET /limited//", Nowhere(400)),
            ("GET ///a/limited", Nowhere(400)),
            ("GET /../limited", Nowhere(400)),
            ("GET /x/../../limited", Nowhere(400)),
            ("GET /%2flimited", Nowhere(400)),
            ("GET /x%2f..%2flimited", Nowhere(400)),
            ("GET /x/..;/limited", Nowhere(400)),
            ("GET /x/..%3b/limited", Nowhere(400)),
            ("GET /%5climited", Nowhere(400)),
            ("GET /\\limited", Nowhere(400)),
            ("GET /limited%00", Nowhere(400)),
            ("GET /limited%0d%0aX:y", Nowhere(400)),
            ("GET /limited%252f", Nowhere(400)),
            ("GET /%c0%aflimited", Nowhere(400)),
            ("GET /%e0%80%aflimited", Nowhere(400)),
            ("GET /%u002flimited", Nowhere(400)),
            ("GET /limited%", Nowhere(400)),
            ("GET /limited%6", Nowhere(400)),
            ("GET /%ff", Nowhere(400)),
            ("GET /li\tmited", Nowhere(400)),
            ("GET /{limited}", Nowhere(400)),
            ("GET /caf\u{e9}/1", Nowhere(400)),
            ("GET limited", Nowhere(400)),
            ("GET *", Nowhere(400)),
            ("GET ?x", Nowhere(400)),
            ("OPTIONS *", Nowhere(400)),
            ("CONNECT a:80", Nowhere(501)),
        ],
    );
}

#[test]
fn a_fragment_goes_nowhere() {
    let upstream = Scripted::always(OK);
    let rig = rig(POLICY, &upstream);
    let got = rig.get("/limited#/free", "");
    match status(&got) {
        400 => assert_eq!(upstream.seen().len(), 0),
        200 => assert_eq!(last_line(&upstream), "GET /limited HTTP/1.1"),
        other => panic!("{other}: {got}"),
    }
}

#[test]
fn what_no_document_names_is_limited_by_the_root_or_by_what_it_looks_like() {
    check(
        &forwarding_the_rest(),
        &[
            ("GET /else", To("/else", "root")),
            ("GET /x/../%65lse", To("/else", "root")),
            ("GET /limited/", To("/limited/", "small")),
            ("GET /LIMITED", To("/LIMITED", "small")),
            ("GET /limited;x=1", To("/limited;x=1", "small")),
            ("GET /%4cimited", To("/Limited", "small")),
            ("PURGE /limited", To("/limited", "root")),
            ("GET //limited", Nowhere(400)),
            ("GET /x%2flimited", Nowhere(400)),
            ("OPTIONS *", Nowhere(400)),
            ("CONNECT a:80", Nowhere(501)),
        ],
    );
}

#[test]
fn methods_are_taken_as_they_are_or_refused() {
    check(
        POLICY,
        &[
            ("get /limited", Nowhere(400)),
            ("Get /limited", Nowhere(400)),
            ("PURGE /limited", Nowhere(405)),
            ("POST /limited", Nowhere(405)),
            ("G@T /limited", Nowhere(400)),
            ("GETTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT /limited", Nowhere(400)),
            ("HEAD /limited", To("/limited", "small")),
        ],
    );
}

#[test]
fn head_spends_what_get_spends() {
    let upstream = Scripted::always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    let rig = rig(POLICY, &upstream);
    let head = || rig.send("HEAD /limited HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let left = |got: &str| field(got, "x-ratelimit-remaining").map(str::to_owned);
    assert_eq!(left(&head()).as_deref(), Some("99"));
    assert_eq!(left(&head()).as_deref(), Some("98"));
}

#[test]
fn fields_that_mean_another_request_are_taken_out_unless_the_settings_say_otherwise() {
    let names =
        ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"];
    let fields: String = names.iter().map(|name| format!("{name}: DELETE\r\n")).collect();
    for kept in [false, true] {
        let upstream = Scripted::always(OK);
        let rig = Rig::new(POLICY, upstream.address, |settings| settings.forwarding.method_override = kept);
        let got = rig.get("/limited", &fields);
        assert_eq!(status(&got), 200, "{got}");
        let seen = upstream.seen().concat();
        for name in names {
            assert_eq!(field(&seen, name), kept.then_some("DELETE"), "{name}");
        }
        assert!(field(&got, "ratelimit").is_some_and(|told| told.starts_with("\"small\";r=99")), "{got}");
    }
}

#[test]
fn a_key_that_is_sent_twice_is_refused() {
    let upstream = Scripted::always(OK);
    let rig = rig(POLICY, &upstream);
    for fields in ["X-Key: a\r\nX-Key: b\r\n", "X-Key: a\r\nX-Key: a\r\n", "X-Key: a\r\nx-key:\r\n"] {
        assert_eq!(status(&rig.get("/keyed", fields)), 400, "{fields:?}");
    }
    assert_eq!(upstream.seen().len(), 0);
}

#[test]
fn a_key_that_the_upstream_does_not_see_is_no_key() {
    let upstream = Scripted::always(OK);
    let rig = rig(POLICY, &upstream);
    // Without a key it is the address that is charged, and not a key that is new each time.
    let hidden = |key: usize| {
        let fields = format!("Connection: close, X-Key\r\nX-Key: {key}\r\n");
        status(&rig.send(format!("GET /keyed HTTP/1.1\r\nHost: a\r\n{fields}\r\n")))
    };
    let statuses: Vec<_> = (0..4).map(hidden).collect();
    assert_eq!(statuses, [200, 200, 429, 429]);
    assert!(upstream.settled().iter().all(|request| field(request, "x-key").is_none()));
    assert_eq!(status(&rig.get("/keyed", "X-Key: 0\r\n")), 200, "a key has its own");
}

/// In absolute form a path may be left out, and in origin form it may not (RFC 9112 3.2.1).
#[test]
fn a_target_without_a_path_goes_to_the_root() {
    let policy = POLICY.replace("paths:\n", "paths:\n  /: { get: {} }\n");
    check(
        &policy,
        &[
            ("GET http://a?x=1", To("/?x=1", "root")),
            ("GET http://a/?x=1", To("/?x=1", "root")),
            ("GET http://a?", To("/?", "root")),
            ("GET http://a", To("/", "root")),
        ],
    );
    check(&forwarding_the_rest(), &[("GET http://a?x=1", To("/?x=1", "root"))]);
}

/// An encoded slash is a character of its segment on routes that allow it, and refused everywhere else.
#[test]
fn encoded_slashes_pass_on_routes_that_allow_them() {
    let policy = "
openapi: 3.1.0
info: { title: Test, version: '1' }
x-rate-limit: { name: root, algorithm: token_bucket, capacity: 1000, refill_rate: 0.001, consumer_key: ip }
paths:
  /files/{name}:
    get:
      x-encoded-slashes: allow
      x-rate-limit: { name: files, algorithm: token_bucket, capacity: 1000, refill_rate: 0.001, consumer_key: ip }
  /users/{id}: { get: {} }
x-tollgate: { unmatched: forward }
";
    check(
        policy,
        &[
            ("GET /files/a%2fb", To("/files/a%2Fb", "files")),
            ("GET /x/../files/a%2Fb%2Fc", To("/files/a%2Fb%2Fc", "files")),
            ("GET /files/..%2Fusers%2F1", Nowhere(400)),
            ("GET /files/a%2F..", Nowhere(400)),
            ("GET /files%2Fa", Nowhere(400)),
            ("GET /users/a%2Fb", Nowhere(400)),
            ("POST /files/a%2Fb", Nowhere(400)),
            ("GET /elsewhere%2Fx", Nowhere(400)),
            ("GET /users/7", To("/users/7", "root")),
        ],
    );
}
