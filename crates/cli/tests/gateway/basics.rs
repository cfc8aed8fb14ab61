//! A request through the gateway: granted, told, refused, and not found. Everything else is in the files beside it.

use crate::support::{POLICY, Recorder, Rig, field, small, status};

#[test]
fn a_request_is_forwarded_and_told_where_it_stands() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let response = rig.get("/limited?q=1", "");
    assert_eq!(status(&response), 200, "{response}");
    assert!(response.ends_with("\r\n\r\nok"), "{response}");
    assert_eq!(field(&response, "ratelimit-policy"), Some("\"small\";q=3;w=3000"));
    assert_eq!(field(&response, "ratelimit"), Some("\"small\";r=2;t=1000"));
    assert_eq!(field(&response, "via"), Some("1.1 tollgate"));
    let seen = upstream.seen().join("");
    assert!(seen.starts_with("GET /limited?q=1 HTTP/1.1\r\n"), "{seen}");
    assert_eq!(field(&seen, "host"), Some("api.example.org"));
    assert_eq!(field(&seen, "x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(field(&seen, "forwarded"), Some("for=127.0.0.1;host=\"api.example.org\";proto=http"));
    assert_eq!(field(&seen, "connection"), None, "it is between the client and the gateway");
}

#[test]
fn a_refused_request_never_reaches_the_upstream() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let statuses: Vec<_> = (0..5).map(|_| status(&rig.get("/limited", ""))).collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    assert_eq!(upstream.requests(), 3);
    let refused = rig.get("/limited", "");
    assert_eq!(field(&refused, "retry-after"), Some("1000"));
    assert_eq!(field(&refused, "content-type"), Some("application/problem+json"));
}

#[test]
fn what_no_document_names_is_not_found_and_not_forwarded() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    assert_eq!(status(&rig.get("/nothing", "")), 404);
    let other = rig.send("DELETE /limited HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!((status(&other), field(&other, "allow")), (405, Some("GET, HEAD")));
    assert_eq!(upstream.requests(), 0);
}
