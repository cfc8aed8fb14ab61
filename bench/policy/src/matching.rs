//! A request against documents of 10, 1,000 and 10,000 operations, beside axum's router, which does not normalise.

use std::fmt::Write;
use std::hint::black_box;

use http::{HeaderMap, HeaderValue};
use tollgate_policy::{Hits, Policy, Request, Scratch};

use crate::stopwatch::Times;

/// Requests in one run.
const REQUESTS: u32 = 2_000;
const ROUNDS: usize = 51;

/// The template of an operation.
fn template(number: u32) -> String {
    format!("/api/v1/resource-{number}/{{id}}/items/{{item}}")
}

/// Requests for operations all over the document.
fn targets(operations: u32) -> Vec<String> {
    let paths = (0..REQUESTS).map(|at| {
        let number = at.wrapping_mul(2_654_435_761) % operations;
        format!("/api/v1/resource-{number}/{}/items/{}", at % 977, at % 89)
    });
    paths.collect()
}

fn document(operations: u32) -> String {
    let mut text = String::from("openapi: 3.1.0\npaths:\n");
    for number in 0..operations {
        let limit = "{ algorithm: token_bucket, capacity: 5, refill_rate: 1 }";
        writeln!(text, "  {}: {{ get: {{ x-rate-limit: {limit} }} }}", template(number)).ok();
    }
    text
}

/// The table.
pub(crate) fn table() -> String {
    let mut out = String::from(
        "| operations | normalise and match | a whole request: target, host, address, match | and its hits, by API key | matchit: match alone |\n|---|---|---|---|---|\n",
    );
    for operations in [10, 1_000, 10_000] {
        match row(operations) {
            Ok(row) => out.push_str(&row),
            Err(why) => {
                writeln!(out, "| {operations} | {why} |").ok();
            }
        }
    }
    out
}

fn row(operations: u32) -> Result<String, String> {
    let policy = Policy::parse("bench.yaml", &document(operations)).map_err(|refused| refused.to_string())?;
    let targets = targets(operations);
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", HeaderValue::from_static("a-key-of-some-length"));
    let (mut scratch, mut hits) = (Scratch::default(), Hits::default());
    let peer = std::net::Ipv4Addr::LOCALHOST.into();
    let request = |target| Request {
        method: "GET",
        target,
        headers: &headers,
        authority: None,
        peer,
        now: Default::default(),
    };
    let mut first = Scratch::default();
    let known = policy.facts(&request("/"), &mut first).map_err(|bad| bad.to_string())?;
    let (mut found, mut buffer) = (0_u64, String::new());
    let is_operation = |matched| u64::from(matches!(matched, tollgate_policy::RequestMatch::Operation(_)));
    let matched = Times::of(ROUNDS, || {
        for target in &targets {
            let Ok(path) = tollgate_http::path::normalise(target, &mut buffer) else { continue };
            found += is_operation(policy.matched(&tollgate_policy::Facts { path, ..known }));
        }
    });
    let whole = Times::of(ROUNDS, || {
        for target in &targets {
            let Ok(facts) = policy.facts(&request(target), &mut scratch) else { continue };
            found += is_operation(policy.matched(&facts));
        }
    });
    let all = 2 * u64::from(REQUESTS) * (ROUNDS as u64 + 1);
    if found != all {
        return Err(format!("{found} of {all} requests were matched"));
    }
    let charged = Times::of(ROUNDS, || {
        for target in &targets {
            let Ok(facts) = policy.facts(&request(target), &mut scratch) else { continue };
            let matched = policy.matched(&facts);
            policy.hits(&facts, matched, None, &mut hits).ok();
            black_box(hits.charges().len());
        }
    });
    let mut peer = matchit::Router::new();
    for number in 0..operations {
        peer.insert(template(number), number).map_err(|error| error.to_string())?;
    }
    let theirs = Times::of(ROUNDS, || {
        for target in &targets {
            black_box(peer.at(target).map(|found| *found.value).ok());
        }
    });
    let times = [&matched, &whole, &charged, &theirs].map(|times| times.nanoseconds(REQUESTS));
    Ok(format!("| {operations} | {} |\n", times.join(" | ")))
}
