//! What clients are told of their limits, by whichever answer they get in the end. What the fields mean is the layer's.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use crate::process::read_one;
use crate::scripted::Scripted;
use crate::support::{Recorder, Rig, field, small, status};

const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /a:
    x-rate-limit: { name: small, algorithm: token_bucket, capacity: 9, refill_rate: 0.001, consumer_key: ip }
    get: {}
    post: {}
";

/// Short enough for a test, long enough for a busy machine.
const SHORT: Duration = Duration::from_millis(150);

/// What a client is told: how much is left, in both generations.
fn left(response: &str) -> [Option<&str>; 2] {
    ["ratelimit", "x-ratelimit-remaining"].map(|name| field(response, name))
}

/// It was charged, so that it is told, whoever answers it in the end.
#[test]
fn a_request_that_was_charged_is_told_so_whatever_becomes_of_it() {
    let silent = Recorder::new(|_| None);
    let closed = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let nobody = closed.local_addr().expect("it is bound");
    drop(closed);
    let (get, post) = ("GET /a HTTP/1.1\r\nHost: a\r\n", "POST /a HTTP/1.1\r\nHost: a\r\n");
    let upgrade =
        "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n";
    let table = [
        (502, nobody, format!("{get}\r\n")),
        (504, silent.address, format!("{get}\r\n")),
        (504, silent.address, format!("{get}{upgrade}\r\n")),
        (408, silent.address, format!("{post}Content-Length: 9\r\n\r\nhalf")),
        (
            413,
            silent.address,
            format!("{post}Transfer-Encoding: chunked\r\n\r\n14\r\n{}\r\n", "x".repeat(20)),
        ),
    ];
    for (wanted, upstream, sent) in table {
        let rig = Rig::new(POLICY, upstream, |settings| {
            (settings.timeouts.body, settings.timeouts.response) = (SHORT, SHORT);
            settings.bounds.body_bytes = Some(10);
        });
        let mut stream = rig.connect();
        stream.write_all(sent.as_bytes()).expect("it takes bytes");
        let got = read_one(&mut stream);
        assert_eq!(status(&got), wanted, "{got}");
        assert_eq!(left(&got), [Some("\"small\";r=8;t=1000"), Some("8")], "{got}");
    }
}

const CLAIMED: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /a:
    get:
      x-rate-limit:
        - { name: key, algorithm: token_bucket, capacity: 9, refill_rate: 0.001, consumer_key: 'header:X-Key' }
        - { name: all, algorithm: token_bucket, capacity: 99, refill_rate: 0.001, consumer_key: everyone }
  /key:
    get:
      x-rate-limit: { name: one, algorithm: token_bucket, capacity: 9, refill_rate: 0.001, consumer_key: 'header:X-Key' }
";

/// A stranger who names another's key learns from a 401 how much that one has left, unless it is not said.
#[test]
fn a_401_tells_nothing_of_a_budget_that_was_only_claimed() {
    let denies = Scripted::always(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
    let rig = Rig::new(CLAIMED, denies.address, |_| {});
    let got = rig.get("/a", "X-Key: ada\r\n");
    assert_eq!((status(&got), left(&got)), (401, [Some("\"all\";r=98;t=1000"), Some("98")]), "{got}");
    let got = rig.get("/key", "X-Key: ada\r\n");
    assert_eq!((status(&got), left(&got)), (401, [None, None]), "{got}");
    // A client that names no key is charged by its address, and its address has paid for the claim above.
    let got = rig.get("/key", "");
    assert_eq!((status(&got), left(&got)), (401, [Some("\"one\";r=7;t=2000"), Some("7")]), "{got}");
}

const WAITS: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /a:
    get:
      x-rate-limit: { name: small, algorithm: token_bucket, capacity: 1, refill_rate: 0.5, consumer_key: ip }
";

/// On the gateway's own clock: a client that waits as long as it is told, and not a moment longer, is let through.
#[test]
fn who_obeys_retry_after_is_granted() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(WAITS, upstream.address, |_| {});
    assert_eq!(status(&rig.get("/a", "")), 200);
    let refused = rig.get("/a", "");
    assert_eq!((status(&refused), field(&refused, "retry-after")), (429, Some("2")), "{refused}");
    let wait = field(&refused, "retry-after").and_then(|wait| wait.parse().ok());
    let wait = Duration::from_secs(wait.expect("it is a number of seconds"));
    // The event that does not come: a connection without a request is not closed so soon.
    let mut silent = rig.connect();
    silent.set_read_timeout(Some(wait)).expect("a socket has timeouts");
    assert!(std::io::Read::read(&mut silent, &mut [0]).is_err(), "it is left alone");
    let granted = rig.get("/a", "");
    assert_eq!(status(&granted), 200, "{granted}");
    assert_eq!(upstream.requests(), 2, "the refused one did not get there");
}

/// What a script of another origin has to see: the status, when to come back, and how much there is.
#[test]
fn a_refusal_is_readable_by_a_script_of_another_origin() {
    let policy = format!(
        "{}x-tollgate: {{ cors: {{ origins: 'https://app.example.org' }} }}\n",
        crate::support::POLICY
    );
    let upstream = Recorder::new(small);
    let rig = Rig::new(&policy, upstream.address, |_| {});
    let get = || rig.get("/limited", "Origin: https://app.example.org\r\n");
    for _ in 0..3 {
        let got = get();
        assert_eq!(
            (status(&got), field(&got, "access-control-allow-origin")),
            (200, None),
            "that is the upstream's"
        );
    }
    let got = get();
    assert_eq!(status(&got), 429, "{got}");
    assert_eq!(field(&got, "access-control-allow-origin"), Some("https://app.example.org"));
    let exposed = field(&got, "access-control-expose-headers").unwrap_or_default();
    for name in ["retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining"]
    {
        assert!(exposed.split(", ").any(|exposed| exposed == name), "{name} in {exposed}");
    }
}

#[test]
fn a_limit_of_0_is_answered_and_counted_as_the_policy_says() {
    let policy = crate::support::POLICY.replace("capacity: 3", "capacity: 0");
    let upstream = Recorder::new(small);
    for (policy, wanted) in
        [(policy.clone(), 403), (policy.replace("name: small", "name: small, zero_status: 429"), 429)]
    {
        let rig = Rig::new(&policy, upstream.address, |settings| {
            settings.operations = Some(([127, 0, 0, 1], 0).into());
        });
        let got = rig.get("/limited", "");
        assert_eq!((status(&got), field(&got, "retry-after")), (wanted, None), "{got}");
        assert_eq!(rig.metric("tollgate_answered_total{kind=\"zero_limit\"}"), Some(1));
    }
    assert_eq!(upstream.requests(), 0);
}

const CEILING: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /a:
    get:
      x-rate-limit: { name: small, algorithm: token_bucket, capacity: 2, refill_rate: 0.001, consumer_key: 'header:X-Key', address_ceiling: 1 }
";

#[test]
fn a_refusal_by_a_ceiling_has_the_name_and_the_numbers_of_the_ceiling() {
    let upstream = Scripted::always(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let rig = Rig::new(CEILING, upstream.address, |_| {});
    let get = |key: &str| rig.get("/a", &format!("X-Key: {key}\r\n"));
    assert_eq!(left(&get("a")), [Some("\"small\";r=1;t=1000"), Some("1")]);
    let list = "\"small\";r=1;t=1000, \"small (address)\";r=0;t=2000";
    assert_eq!(left(&get("b")), [Some(list), Some("0")]);
    let refused = get("c");
    assert_eq!(status(&refused), 429);
    assert_eq!(left(&refused), [Some("\"small\";r=2;t=0, \"small (address)\";r=0;t=1000"), Some("0")]);
    assert_eq!(field(&refused, "retry-after"), Some("1000"));
    assert!(refused.contains(r#""violated-policies":["small (address)"]"#), "{refused}");
}
