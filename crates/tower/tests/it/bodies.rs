//! Costs by what a body carries: asked for before, counted, charged. The counting itself is tested where it is written.

use tollgate_tower::operations::{BodyKind, count};
use tollgate_tower::{Answers, Asked, BodyWanted, Guard, Head, Room};

use crate::support::{PEER, guard, limiter};

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

fn with<T>(target: &str, body_operations: Option<u64>, mut then: impl FnMut(&Head<'_>) -> T) -> T {
    let (uri, headers) = (target.parse().expect("a target"), http::HeaderMap::new());
    then(&Head { method: &http::Method::POST, uri: &uri, headers: &headers, peer: PEER, body_operations })
}

#[test]
fn a_body_is_wanted_where_it_is_charged_for_and_nowhere_else() {
    let (limiter, _) = limiter();
    let guard = guard(&limiter, POLICY, Answers::default());
    let wants =
        |guard: &Guard, target: &str| with(target, None, |head| guard.wants_body(head, &mut Room::default()));
    let graphql = BodyWanted { kind: BodyKind::GraphQl, max_body: 100_000 };
    assert_eq!(wants(&guard, "/graphql"), Some(graphql));
    assert_eq!(wants(&guard, "/batch").map(|wanted| wanted.kind), Some(BodyKind::JsonArray));
    // A count that serves both is never smaller than either.
    assert_eq!(wants(&guard, "/both"), Some(BodyWanted { kind: BodyKind::GraphQl, max_body: 500 }));
    assert_eq!((wants(&guard, "/plain"), wants(&guard, "/none"), wants(&guard, "/%zz")), (None, None, None));
}

#[test]
fn three_thousand_aliases_cost_three_thousand_and_what_was_not_counted_the_most() {
    let aliases: String = (0..3_000).map(|number| format!("a{number}: me {{ id }} ")).collect();
    let body = format!(r#"{{"query": "{{ {aliases} }}"}}"#);
    let counted = count(BodyKind::GraphQl, body.as_bytes());
    for (operations, left) in [(counted, 2_000), (Some(0), 4_999), (Some(9_999), 1_000), (None, 1_000)] {
        let (limiter, _) = limiter();
        let guard = guard(&limiter, POLICY, Answers::default());
        let mut room = Room::default();
        let asked = with("/graphql", operations, |head| guard.ask(head, &mut room));
        assert!(matches!(asked, Asked::Pass(_)), "it fits");
        assert_eq!(room.verdict().and_then(|verdict| verdict.remaining()), Some(left), "{operations:?}");
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
        let guard = guard(&limiter, POLICY, Answers::default());
        let mut room = Room::default();
        let asked = with(target, Some(1), |head| guard.ask(head, &mut room));
        assert!(matches!(asked, Asked::Pass(_)), "it fits");
        assert_eq!(room.verdict().and_then(|verdict| verdict.remaining()), Some(left), "{target}");
    }
}
