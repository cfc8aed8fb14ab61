//! What the tests have in common: policies from several files at once, requests in one line, hits in words.

use std::collections::HashMap;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_policy::{
    BadRequest, ConsumerIndex, Hits, Policy, RejectedPolicy, Request, RequestMatch, Scratch, key,
};

/// A document with nothing but an `openapi` line and these paths.
pub(crate) fn openapi(paths: &str) -> String {
    format!("openapi: 3.1.0\ninfo: {{ title: Test, version: '1' }}\n{paths}")
}

/// The policy of a document that is right.
pub(crate) fn policy(text: &str) -> Policy {
    Policy::parse("test.yaml", text).unwrap_or_else(|refused| panic!("{refused}"))
}

/// The policy of several files; the first is the document.
pub(crate) fn files(files: &[(&str, &str)]) -> Result<Policy, RejectedPolicy> {
    let map: HashMap<_, _> = files.iter().copied().collect();
    let first = files.first().map_or("", |(name, _)| name);
    let mut read =
        |name: &str| map.get(name).map(|text| (*text).to_owned()).ok_or_else(|| "no such file".to_owned());
    Policy::load(first, &mut read)
}

/// A request from 203.0.113.9: `POST /a?b X-API-Key: k | Cookie: c=d`.
pub(crate) struct Asked {
    method: String,
    target: String,
    headers: HeaderMap,
    pub(crate) peer: IpAddr,
}

pub(crate) fn asked(text: &str) -> Asked {
    let (method, rest) = text.split_once(' ').unwrap_or((text, "/"));
    let (target, headers) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut map = HeaderMap::new();
    for (name, value) in headers.split(" | ").filter_map(|line| line.split_once(": ")) {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header's name");
        map.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a header's value"));
    }
    let peer = "203.0.113.9".parse().expect("an address");
    Asked { method: method.into(), target: target.into(), headers: map, peer }
}

impl Asked {
    pub(crate) fn from(mut self, peer: &str) -> Self {
        self.peer = peer.parse().expect("an address");
        self
    }

    /// What was matched, and each charge as `limit: key parts x cost`.
    pub(crate) fn hits(
        &self,
        policy: &Policy,
        directory: Option<&ConsumerIndex>,
    ) -> Result<(RequestMatch, Vec<String>), BadRequest> {
        let request = Request {
            method: &self.method,
            target: &self.target,
            headers: &self.headers,
            authority: None,
            peer: self.peer,
            now: tollgate_algorithms::Micros::from_secs(1_700_000_000),
        };
        let mut scratch = Scratch::default();
        let facts = policy.facts(&request, &mut scratch)?;
        let matched = policy.matched(&facts);
        let mut hits = Hits::default();
        policy.hits(&facts, matched, directory, &mut hits)?;
        let shown = hits.charges().iter().chain(hits.held()).map(|charge| {
            let limit = &policy.limits()[charge.limit.index()];
            let parts: Vec<_> =
                key::parts(hits.key(charge)).expect("a key").map(|part| part.to_string()).collect();
            let numbers = policy.numbers(charge.variant, directory).expect("numbers");
            format!("{}: {} x{} ({numbers})", limit.name, parts.join(" + "), charge.cost)
        });
        Ok((matched, shown.collect()))
    }

    /// The hits, or the sentence that refuses the request.
    pub(crate) fn lines(&self, policy: &Policy) -> Vec<String> {
        self.hits(policy, None).map_or_else(|bad| vec![bad.to_string()], |(_, lines)| lines)
    }

    /// The operation that it means.
    pub(crate) fn operation(&self, policy: &Policy) -> String {
        match self.hits(policy, None) {
            Err(bad) => format!("400 {bad}"),
            Ok((RequestMatch::Operation(id), _)) => policy.operations()[id.index()].name(),
            Ok((RequestMatch::Loosely(id), _)) => format!("about {}", policy.operations()[id.index()].name()),
            Ok((other, _)) => format!("{other:?}"),
        }
    }
}

/// An operation `GET /a` with a limit that has these further fields.
pub(crate) fn with(fields: &str) -> Policy {
    let limit = format!("{{ algorithm: gcra, capacity: 5, refill_rate: 1, name: l, {fields} }}");
    policy(&openapi(&format!("paths: {{ /a: {{ get: {{ x-rate-limit: {limit} }} }} }}")))
}

/// The keys that a request is charged under.
pub(crate) fn keys(policy: &Policy, request: &str) -> String {
    let lines = asked(request).lines(policy);
    lines
        .iter()
        .map(|line| line.replace(" x1 (5 at once, then 1 per second)", ""))
        .collect::<Vec<_>>()
        .join("; ")
}

/// A secret as it is shown.
pub(crate) fn shown(kind: &str, value: &str) -> String {
    let mut key = Vec::new();
    key::push(&mut key, key::Kind::ApiKey, value.as_bytes());
    let part = key::parts(&key).expect("a key").next().expect("a part").to_string();
    assert!(part.starts_with(kind), "{part}");
    part
}
