//! Costs that are in a body or in a response: charged before the upstream sees it, forwarded whole, settled by the response.

use std::time::Duration;

use crate::scripted::{Reply, Scripted, essence};
use crate::support::{Rig, field, small, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /graphql:
    post:
      x-rate-limit:
        { name: graph, algorithm: token_bucket, capacity: 100, refill_rate: 0.001, consumer_key: ip,
          cost: { operations: graphql, max: 50, max_body: 1 KiB } }
  /batch:
    post:
      x-rate-limit:
        { name: batch, algorithm: token_bucket, capacity: 100, refill_rate: 0.001, consumer_key: ip,
          cost: { operations: json_array, max: 50, max_body: 1 KiB } }
  /reported:
    get:
      x-rate-limit:
        { name: told, algorithm: token_bucket, capacity: 100, refill_rate: 0.001, consumer_key: ip,
          cost: { reported: X-Cost, estimate: 10, max: 60 } }
  /login:
    post:
      x-rate-limit:
        { name: logins, algorithm: token_bucket, capacity: 2, refill_rate: 0.001, consumer_key: 'body:/username' }
  /keyed:
    get:
      x-rate-limit:
        { name: keyed, algorithm: token_bucket, capacity: 2, refill_rate: 0.001, consumer_key: 'header:X-Key' }
";

fn rig(upstream: &Scripted) -> Rig {
    Rig::new(POLICY, upstream.address, |settings| settings.upstream.idle_max = 0)
}

fn post(rig: &Rig, path: &str, body: &str) -> String {
    let length = body.len();
    rig.send(format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

fn remaining(got: &str) -> u64 {
    let left = field(got, "x-ratelimit-remaining").and_then(|left| left.parse().ok());
    left.unwrap_or_else(|| panic!("nothing is told: {got}"))
}

/// A GraphQL request of so many aliases.
fn aliases(count: usize) -> String {
    let fields: String = (0..count).map(|number| format!("a{number}:u ")).collect();
    format!("{{\"query\":\"{{ {fields}}}\"}}")
}

#[test]
fn operations_in_a_body_are_charged_and_the_body_goes_on_whole() {
    let table = [
        ("/graphql", aliases(1), 99),
        ("/graphql", aliases(7), 92),
        ("/graphql", "no JSON".to_owned(), 42),
        ("/batch", "[1, 2, 3]".to_owned(), 97),
        ("/batch", "{}".to_owned(), 96),
        ("/batch", String::new(), 46),
    ];
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    for (path, body, left) in table {
        let got = post(&rig, path, &body);
        assert_eq!((status(&got), remaining(&got)), (200, left), "{path} {body}: {got}");
        let seen = upstream.settled().pop().expect("it reaches the upstream");
        let wanted = format!("POST {path} HTTP/1.1|content-length: {}|{body}", body.len());
        assert_eq!(essence(&seen), wanted);
    }
}

/// A cheap body beside an expensive query string, of which the upstream may run either.
#[test]
fn graphql_in_a_query_string_is_charged_beside_a_body() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    for (target, body, left) in [
        ("/graphql?query=%7Ba%20b%20c%7D", aliases(1), 97),
        ("/graphql?query={a}", aliases(7), 90),
        ("/graphql?query={a", aliases(1), 40),
    ] {
        let got = post(&rig, target, &body);
        assert_eq!((status(&got), remaining(&got)), (200, left), "{target} {body}: {got}");
    }
}

#[test]
fn a_body_in_chunks_is_counted_and_goes_on_whole() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let got = rig.send(
        "POST /batch HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\n[1,\r\n4\r\n2,3]\r\n0\r\n\r\n",
    );
    assert_eq!((status(&got), remaining(&got)), (200, 97), "{got}");
    assert_eq!(essence(&upstream.settled().concat()), "POST /batch HTTP/1.1|content-length: 7|[1,2,3]");
}

#[test]
fn trailers_of_a_body_that_is_counted_go_on() {
    for (chunks, body) in [("5\r\n[1,2]\r\n", "5\r\n[1,2]\r\n"), ("", "")] {
        let upstream = Scripted::new(|_, request| {
            request.ends_with("x-check: good\r\n\r\n").then(|| Reply { bytes: OK.into(), close: false })
        });
        let rig = rig(&upstream);
        let got = rig.send(format!(
            "POST /batch HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
             {chunks}0\r\nX-Check: good\r\nCookie: no\r\n\r\n"
        ));
        assert_eq!(status(&got), 200, "{got}");
        let wanted =
            format!("POST /batch HTTP/1.1|transfer-encoding: chunked|{body}0\r\nx-check: good\r\n\r\n");
        assert_eq!(essence(&upstream.settled().concat()), wanted);
    }
}

/// An upstream that merges trailers would take the request for somebody else's than it was charged to.
#[test]
fn nobody_says_behind_a_body_who_asks() {
    let policy = POLICY.replace("  /keyed:\n    get:", "  /keyed:\n    post:");
    let upstream = Scripted::new(|_, request| {
        request.ends_with("x-check: good\r\n\r\n").then(|| Reply { bytes: OK.into(), close: false })
    });
    let rig = Rig::new(&policy, upstream.address, |settings| settings.upstream.idle_max = 0);
    let got = rig.send(
        "POST /keyed HTTP/1.1\r\nHost: a\r\nX-Key: mine\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\nx\r\n0\r\nX-Key: yours\r\nAuthorization: Bearer yours\r\nX-API-Key: yours\r\nX-Check: good\r\n\r\n",
    );
    assert_eq!(status(&got), 200, "{got}");
    let wanted = "POST /keyed HTTP/1.1|transfer-encoding: chunked|1\r\nx\r\n0\r\nx-check: good\r\n\r\n";
    assert_eq!(essence(&upstream.settled().concat()), wanted);
}

/// Its upstream was not asked for anything yet.
#[test]
fn a_client_that_is_late_with_a_body_that_is_counted_is_told_so_whatever_time_is_over() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.timeouts.total = Some(Duration::from_millis(100));
    });
    let got =
        rig.send("POST /batch HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9\r\n\r\n[1,");
    assert_eq!(status(&got), 408, "{got}");
    assert_eq!(upstream.seen().len(), 0);
}

#[test]
fn too_many_operations_are_refused_before_the_upstream_sees_any() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    assert_eq!(remaining(&post(&rig, "/graphql", &aliases(40))), 60);
    assert_eq!(remaining(&post(&rig, "/graphql", &aliases(40))), 20);
    let got = post(&rig, "/graphql", &aliases(40));
    assert_eq!((status(&got), remaining(&got)), (429, 20), "a refusal costs nothing: {got}");
    assert_eq!(upstream.settled().len(), 2);
}

#[test]
fn a_body_that_is_too_long_to_be_counted_costs_the_most_and_streams_through() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let long = format!("[{}]", "1,".repeat(100_000));
    let got = post(&rig, "/batch", &long);
    assert_eq!((status(&got), remaining(&got)), (200, 50), "{got}");
    let seen = upstream.settled().concat();
    assert!(seen.ends_with(&format!("\r\n\r\n{long}")), "it is whole");
    assert_eq!(field(&seen, "content-length"), Some(long.len().to_string().as_str()));
}

#[test]
fn a_body_that_breaks_off_while_it_is_counted_costs_nothing_and_reaches_nobody() {
    let upstream = Scripted::always(OK);
    let rig = rig(&upstream);
    let got =
        rig.send("POST /batch HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\nzz\r\n");
    assert_eq!(status(&got), 400, "{got}");
    assert_eq!(remaining(&post(&rig, "/batch", "[1]")), 99);
    assert_eq!(upstream.settled().len(), 1);
}

#[test]
fn a_cost_that_the_response_tells_replaces_the_estimate() {
    let told = |cost: &'static str| {
        move |_: usize, request: &str| {
            small(request).map(|_| {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{cost}\r\nok");
                Reply { bytes: head.into(), close: false }
            })
        }
    };
    // What is left after the first response and after the second: each is charged an estimate of 10, and settled before its head
    // is written.
    let table = [
        ("X-Cost: 1\r\n", 99, 98),
        ("X-Cost: 30\r\n", 70, 40),
        ("X-Cost: 1000\r\n", 40, 0),
        ("", 90, 80),
        ("X-Cost: -5\r\n", 90, 80),
        ("X-Cost: 1\r\nX-Cost: 1\r\n", 90, 80),
    ];
    for (cost, first, second) in table {
        let upstream = Scripted::new(told(cost));
        let rig = rig(&upstream);
        assert_eq!(remaining(&rig.get("/reported", "")), first, "{cost}");
        assert_eq!(remaining(&rig.get("/reported", "")), second, "{cost}");
    }
}

#[test]
fn a_401_charges_the_address_and_not_the_key_that_was_claimed() {
    let upstream = Scripted::new(|_, request| {
        small(request).map(|fine| {
            let stranger = request.contains("x-key: stolen");
            let bytes = if stranger {
                b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_vec()
            } else {
                fine
            };
            Reply { bytes, close: false }
        })
    });
    let rig = rig(&upstream);
    let get = |key: &str| status(&rig.get("/keyed", &format!("X-Key: {key}\r\n")));
    assert_eq!(get("stolen"), 401);
    // The address has one left, so that it may ask in another name.
    assert_eq!([get("own"), get("own"), get("own")], [200, 200, 429]);
    assert_eq!(get("stolen"), 401, "nothing was charged to the key");
    // Now the address has none left, whatever it claims.
    assert_eq!([get("stolen"), get("another"), status(&rig.get("/keyed", ""))], [429, 429, 429]);
}

/// Failed logins are what such a limit counts: a 401 gives nothing back.
#[test]
fn logins_are_counted_by_the_account_in_the_body_whatever_the_upstream_answers() {
    let upstream = Scripted::always(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
    let rig = rig(&upstream);
    let ada = r#"{"username": "ada", "password": "x"}"#;
    for (body, wanted) in [
        (ada.to_owned(), 401),
        (r#"{ "password": "y", "username": "\u0061da" }"#.to_owned(), 401),
        (ada.to_owned(), 429),
        (ada.replace("ada", "bob"), 401),
        // One name for the limit and another for the upstream, or a body that is too large to be read.
        (r#"{"username": "eve", "username": "ada"}"#.to_owned(), 400),
        (format!("{}{ada}", " ".repeat(70_000)), 400),
    ] {
        let got = post(&rig, "/login", &body);
        assert_eq!(status(&got), wanted, "{body}: {got}");
    }
    let seen = upstream.settled();
    assert_eq!(seen.len(), 3);
    assert!(seen[0].ends_with(ada), "the body goes on whole: {}", seen[0]);
}
