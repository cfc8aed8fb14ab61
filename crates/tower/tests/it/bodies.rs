//! Costs by what a body carries: asked for before, counted, charged. The counting itself is tested where it is written.

use tollgate_engine::{Body, Outcome, RequestHead, Scratch};
use tollgate_tower::RequiredBody;
use tollgate_tower::body_cost::{BodyKind, count};

use crate::support::{Gateway, PEER, limiter};

const POLICY: &str = "
tollgate: 1
routes:
  - path: /graphql
    rate_limit: { name: graph, algorithm: token_bucket, capacity: 5000, refill_rate: 1 per day, cost: { operations: graphql, max_body: 100000, max: 4000 } }
  - path: /batch
    rate_limit: { name: batch, algorithm: token_bucket, capacity: 5000, refill_rate: 1 per day, cost: { operations: json_array, max: 50 } }
  - path: /both
    rate_limit:
      - { name: one, algorithm: token_bucket, capacity: 5000, refill_rate: 1 per day, cost: { operations: json_array, max_body: 500, max: 50 } }
      - { name: two, algorithm: token_bucket, capacity: 5000, refill_rate: 1 per day, cost: { operations: graphql, max_body: 1000, max: 50 } }
  - path: /plain
    rate_limit: { name: plain, algorithm: token_bucket, capacity: 10, refill_rate: 1 }
";

fn check(gateway: &Gateway, target: &str, body: Body, scratch: &mut Scratch) -> Option<Outcome> {
    let headers = http::HeaderMap::new();
    let head = RequestHead::new("POST", target, &headers).with_peer(PEER).with_body(body);
    gateway.enforcer.try_check(&head, scratch).ok()
}

/// Checks a request whose body is read if a limit wants it. Says what it had left.
fn left(gateway: &Gateway, target: &str, operations: Option<u64>) -> Option<u64> {
    let mut scratch = Scratch::default();
    let outcome = check(gateway, target, Body::Unread, &mut scratch);
    let Some(Outcome::NeedsBody { matched, .. }) = outcome else { return None };
    assert!(scratch.verdict().is_none(), "nothing is charged before");
    let outcome = check(gateway, target, Body::Read { operations, matched }, &mut scratch);
    assert!(matches!(outcome, Some(Outcome::Admitted(_))), "it fits");
    scratch.verdict().and_then(|verdict| verdict.remaining())
}

#[test]
fn a_body_is_wanted_where_it_is_charged_for_and_nowhere_else() {
    let (limiter, _) = limiter();
    let gateway = Gateway::new(&limiter, POLICY);
    let wants =
        |gateway: &Gateway, target: &str| match check(gateway, target, Body::Unread, &mut Scratch::default())
        {
            Some(Outcome::NeedsBody { wanted, .. }) => Some(wanted),
            _ => None,
        };
    let graphql = RequiredBody { kind: Some(BodyKind::GraphQl), max_body: 100_000, max_key: 0 };
    assert_eq!(wants(&gateway, "/graphql"), Some(graphql));
    assert_eq!(wants(&gateway, "/batch").map(|wanted| wanted.kind), Some(Some(BodyKind::JsonArray)));
    // A count that serves both is never smaller than either.
    assert_eq!(
        wants(&gateway, "/both"),
        Some(RequiredBody { kind: Some(BodyKind::GraphQl), max_body: 500, max_key: 0 })
    );
    assert_eq!(
        (wants(&gateway, "/plain"), wants(&gateway, "/none"), wants(&gateway, "/%zz")),
        (None, None, None)
    );
}

#[test]
fn three_thousand_aliases_cost_three_thousand_and_what_was_not_counted_the_most() {
    let aliases: String = (0..3_000).map(|number| format!("a{number}: me {{ id }} ")).collect();
    let body = format!(r#"{{"query": "{{ {aliases} }}"}}"#);
    let counted = count(BodyKind::GraphQl, body.as_bytes());
    for (operations, left) in [(counted, 2_000), (Some(0), 4_999), (Some(9_999), 1_000), (None, 1_000)] {
        let (limiter, _) = limiter();
        let found = self::left(&Gateway::new(&limiter, POLICY), "/graphql", operations);
        assert_eq!(found, Some(left), "{operations:?}");
    }
}

/// Servers run `?query=` although there is a body, or in its place.
#[test]
fn graphql_in_the_query_string_costs_what_it_would_in_the_body() {
    let table = [
        ("/graphql", 4_999),
        ("/graphql?query={a,b,c}", 4_997),
        ("/graphql?query={a}&query={a}", 1_000),
        ("/graphql?query=no+graphql", 1_000),
        ("/graphql?extensions={}", 1_000),
        // Nothing but GraphQL is read from a query string.
        ("/batch?query={a,b,c}", 4_999),
    ];
    for (target, left) in table {
        let (limiter, _) = limiter();
        let found = self::left(&Gateway::new(&limiter, POLICY), target, Some(1));
        assert_eq!(found, Some(left), "{target}");
    }
}
