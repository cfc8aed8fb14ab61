//! The first refusal after a burst, with the client's response: status, headers and body.

use serde_json::{Map, Value};
use tollgate_algorithms::{Decision, Micros, Retry, decide};
use tollgate_tower::{ErrorResponse, problem};

use super::preview::{FreshHit, statuses, writer};

/// Every field about limits, in the order in which they are shown: as it is sent, and as people write it.
const FIELDS: [(&str, &str); 8] = [
    ("retry-after", "Retry-After"),
    ("ratelimit-policy", "RateLimit-Policy"),
    ("ratelimit", "RateLimit"),
    ("x-ratelimit-limit", "X-RateLimit-Limit"),
    ("x-ratelimit-remaining", "X-RateLimit-Remaining"),
    (RESET, "X-RateLimit-Reset"),
    ("cache-control", "Cache-Control"),
    ("content-type", "Content-Type"),
];
/// An instant, and there is none before there is a response.
const RESET: &str = "x-ratelimit-reset";

/// The first refusal of a client that sends this request again and again, all at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// How many requests are granted before.
    pub(super) granted: u64,
    /// The limit that refuses for the longest.
    pub(super) limit: String,
    /// Whole seconds for `Retry-After`; `None` if waiting does not help.
    pub(super) retry_after: Option<u64>,
    /// The status.
    pub(super) status: u16,
    /// Every field of the response about limits, in the order in which they are shown.
    pub(super) fields: Vec<(&'static str, String)>,
    /// The members of the problem in the body, in the order in which they are shown.
    pub(super) body: Vec<(&'static str, Value)>,
}

/// The refusal after the burst.
///
/// So many requests at one instant are the same as one of their cost together (a law of the core), so that no burst is
/// too large to be worked out.
pub(super) fn refusal(hits: &[FreshHit], now: Micros) -> Option<Refusal> {
    let granted = hits.iter().filter_map(|hit| hit.limit.capacity().checked_div(hit.cost)).min()?;
    let decided: Vec<_> = hits.iter().map(|hit| (hit, after(hit, granted, now))).collect();
    let mut longest: Option<((Retry, bool), &str)> = None;
    for (hit, decision) in &decided {
        let Some(retry) = decision.retry() else { continue };
        // Of two that never grant it, the one that grants no request at all.
        let rank = (retry, hit.limit.capacity() == 0);
        if longest.is_none_or(|(longest, _)| rank > longest) {
            longest = Some((rank, hit.descriptor.name()));
        }
    }
    let ((retry, _), limit) = longest?;
    let retry_after = match retry {
        Retry::After(wait) => Some(wait.secs_rounded_up()),
        Retry::Never => None,
    };
    let decisions = decided.iter().map(|(_, decision)| *decision);
    let answer = writer(hits).refused(statuses(hits, decisions), now)?;
    let status = answer.status.as_u16();
    let (fields, body) = (fields(&answer), body(&answer));
    Some(Refusal { granted, limit: limit.into(), retry_after, status, fields, body })
}

/// What the next request is answered, after so many.
fn after(hit: &FreshHit, granted: u64, now: Micros) -> Decision {
    let mut state = None;
    let (change, _) = decide(&hit.limit, None, now, hit.cost.saturating_mul(granted));
    change.apply(&mut state);
    decide(&hit.limit, state.as_ref(), now, hit.cost).1
}

fn fields(answer: &ErrorResponse) -> Vec<(&'static str, String)> {
    let field = |(name, shown): &(&'static str, &'static str)| {
        let value = answer.headers.get(*name)?.to_str().ok()?;
        Some(match *name {
            RESET => (*shown, format!("+{value} s from then, as seconds since 1970")),
            _ => (*shown, value.to_owned()),
        })
    };
    FIELDS.iter().filter_map(field).collect()
}

fn body(answer: &ErrorResponse) -> Vec<(&'static str, Value)> {
    let mut body: Map<String, Value> = serde_json::from_slice(&answer.body).unwrap_or_default();
    problem::MEMBERS.into_iter().filter_map(|name| Some((name, body.remove(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use tollgate_algorithms::{Limit, Window};
    use tollgate_engine::{LimitDescriptor, Visibility};

    use super::*;

    const NOW: Micros = Micros::from_secs(1_000_000);

    fn hit(limit: Limit, cost: u64) -> FreshHit {
        named("a", limit, cost, Visibility::Shown)
    }

    fn named(name: &str, limit: Limit, cost: u64, visibility: Visibility) -> FreshHit {
        FreshHit { descriptor: LimitDescriptor::new(name, limit).with_visibility(visibility), limit, cost }
    }

    fn violated(refusal: &Refusal) -> String {
        let found = refusal.body.iter().find(|(name, _)| *name == "violated-policies");
        found.map(|(_, names)| names.to_string()).unwrap_or_default()
    }

    fn field<'a>(refusal: &'a Refusal, name: &str) -> Option<&'a str> {
        refusal.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The refusal that is worked out is the one that a client meets that sends one request after another.
    #[test]
    fn the_refusal_is_that_of_requests_one_by_one() {
        let limits = [
            Limit::token_bucket(5, 1, Micros::from_secs(10)),
            Limit::leaky_bucket(7, 2, Micros::SECOND),
            Limit::gcra(3, 1, Micros::MINUTE),
            Limit::fixed_window(4, Window::Every(Micros::HOUR)),
            Limit::sliding_window(9, Micros::MINUTE),
            Limit::sliding_window_buckets(9, Micros::MINUTE, 6),
            Limit::sliding_window_log(6, Micros::MINUTE),
        ];
        for limit in limits.map(|limit| limit.expect("it fits")) {
            for cost in 1..=4 {
                let (mut state, mut granted) = (None, 0);
                let (retry, last) = loop {
                    let (change, decision) = decide(&limit, state.as_ref(), NOW, cost);
                    change.apply(&mut state);
                    match decision.retry() {
                        None => granted += 1,
                        Some(Retry::After(wait)) => break (Some(wait.secs_rounded_up()), decision),
                        Some(Retry::Never) => break (None, decision),
                    }
                };
                let found = refusal(&[hit(limit, cost)], NOW).expect("it refuses");
                assert_eq!((found.granted, found.retry_after), (granted, retry), "{limit}, cost {cost}");
                let remaining = last.remaining.to_string();
                assert_eq!(field(&found, "X-RateLimit-Remaining"), Some(remaining.as_str()), "{limit}");
            }
        }
    }

    #[test]
    fn what_costs_more_than_the_limit_is_never_granted_and_what_costs_nothing_never_refused() {
        let limit = Limit::token_bucket(5, 1, Micros::SECOND).expect("it fits");
        let found = refusal(&[hit(limit, 6)], NOW).expect("it refuses");
        assert_eq!((found.granted, found.retry_after, field(&found, "Retry-After")), (0, None, None));
        assert_eq!(found.status, 422);
        assert_eq!(refusal(&[hit(limit, 0)], NOW), None);
        assert_eq!(refusal(&[], NOW), None);
    }

    #[test]
    fn of_two_limits_the_tighter_refuses_first_and_the_longer_wait_is_told() {
        let minute = Limit::sliding_window_log(3, Micros::MINUTE).expect("it fits");
        let bucket = Limit::token_bucket(3, 1, Micros::SECOND).expect("it fits");
        let (minute, bucket) = (hit(minute, 1), named("bucket", bucket, 1, Visibility::Shown));
        let found = refusal(&[bucket, minute], NOW).expect("it refuses");
        assert_eq!((found.granted, found.limit.as_str(), found.retry_after), (3, "a", Some(60)));
        assert_eq!(violated(&found), r#"["bucket","a"]"#);
        let reset = field(&found, "X-RateLimit-Reset").expect("a field");
        assert!(reset.starts_with("+60 s"), "{reset}");
    }

    #[test]
    fn a_hidden_limit_refuses_without_being_named() {
        let limit = Limit::token_bucket(5, 1, Micros::SECOND).expect("it fits");
        let found = refusal(&[named("a", limit, 1, Visibility::Hidden)], NOW).expect("it refuses");
        let names: Vec<_> = found.fields.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["Retry-After", "Cache-Control", "Content-Type"]);
        assert_eq!((violated(&found).as_str(), found.limit.as_str()), ("[]", "a"));
    }
}
