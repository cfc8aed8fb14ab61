//! The document that is measured with, and the requests that go to it, as text. Who reads them is not known here.

use std::fmt::Write;

/// Operations in the document.
const OPERATIONS: u32 = 50;
/// Different API keys among the requests.
const KEYS: u32 = 8;
/// One after the other, over and over: every operation, with several keys.
const REQUESTS: u32 = 200;

/// One request of the mixture, for those that need only one.
pub(crate) const REQUEST: &str =
    "GET /api/v1/resource-7/41 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: key-0000000000000003\r\n\r\n";

/// The limits of the document's operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limits {
    /// A token bucket for each operation and API key that no load here can empty.
    Generous,
    /// None.
    None,
    /// One request a day for each operation and API key.
    Exhausted,
}

/// The templates of the paths, as OpenAPI and axum both write them.
pub(crate) fn templates() -> impl Iterator<Item = String> {
    (0..OPERATIONS).map(|number| format!("/api/v1/resource-{number}/{{id}}"))
}

/// The document.
pub(crate) fn openapi(limits: Limits) -> String {
    let mut text = String::from(
        "openapi: 3.1.0\ninfo: { title: Fifty operations, version: '1' }\n\
         components: { securitySchemes: { key: { type: apiKey, in: header, name: X-API-Key } } }\n\
         security: [{ key: [] }]\npaths:\n",
    );
    let limit = match limits {
        Limits::Generous => {
            "{ algorithm: token_bucket, capacity: 1000000, refill_rate: 1000000, consumer_key: api_key }"
        }
        Limits::None => "none",
        Limits::Exhausted => {
            "{ algorithm: fixed_window, limit: 1, window_seconds: 86400, consumer_key: api_key }"
        }
    };
    for template in templates() {
        writeln!(text, "  {template}: {{ get: {{ x-rate-limit: {limit} }} }}").ok();
    }
    text
}

/// The mixture of requests as a script for wrk: written out beforehand, so that a request costs it a look into a table.
pub(crate) fn wrk_script() -> String {
    let mut text = String::from("local requests = {}\ninit = function()\n");
    for number in 0..REQUESTS {
        let (operation, key) = (number % OPERATIONS, number / 3 % KEYS);
        writeln!(
            text,
            "  requests[{}] = wrk.format('GET', '/api/v1/resource-{operation}/{number}', {{['X-API-Key'] = 'key-{key:016}'}})",
            number + 1
        )
        .ok();
    }
    let _ = write!(
        text,
        "end\nlocal at = 0\nrequest = function()\n  at = at % {REQUESTS} + 1\n  return requests[at]\nend\n"
    );
    text
}

/// So many requests of the mixture can be granted when each operation grants one a key.
pub(crate) const GRANTED_MAX: u64 = 50 * 8;

#[test]
fn the_document_has_fifty_operations_and_the_script_asks_for_all() {
    let (document, script) = (openapi(Limits::Generous), wrk_script());
    assert_eq!(document.matches("token_bucket").count(), 50);
    for number in 0..OPERATIONS {
        assert!(document.contains(&format!("/resource-{number}/{{id}}:")), "{number}");
        assert!(script.contains(&format!("/resource-{number}/")), "{number}");
    }
    assert!((0..KEYS).all(|key| script.contains(&format!("key-{key:016}"))));
    assert_eq!(GRANTED_MAX, u64::from(OPERATIONS * KEYS));
}
