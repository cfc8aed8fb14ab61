//! The first refusal after a burst, and all that the client is told with it: the status, the fields and the body.

use std::cmp::Reverse;

use serde_json::{Value, json};
use tollgate_core::{Decision, Micros, Retry, decide};

use super::limits::Met;
use super::told::{Fresh, policy_item, state_item};

/// What kind of problem it is (RFC 9457), as registered.
const TYPE: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
/// The words that are registered for it.
const TITLE: &str = "Request cannot be satisfied as assigned quota has been exceeded";

/// The first refusal of a client that sends this request again and again, all at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// How many requests are granted before.
    pub(super) granted: u64,
    /// The limit that refuses for the longest.
    pub(super) limit: String,
    /// Whole seconds for `Retry-After`; `None` if waiting does not help.
    pub(super) retry_after: Option<u64>,
    /// Every field of the response about limits, in the order in which they are shown.
    pub(super) fields: Vec<(&'static str, String)>,
    /// The sentence of the body.
    pub(super) detail: String,
    /// The limits that refuse, by name.
    pub(super) violated: Vec<String>,
}

impl Refusal {
    /// The members of the problem in the body, in the order in which they are shown.
    pub(super) fn body(&self) -> [(&'static str, Value); 5] {
        [
            ("type", json!(TYPE)),
            ("title", json!(TITLE)),
            ("status", json!(429)),
            ("detail", json!(self.detail)),
            ("violated-policies", json!(self.violated)),
        ]
    }
}

/// The refusal after the burst.
///
/// So many requests at one instant are the same as one of their cost together (a law of the core), so that no burst is
/// too large to be worked out.
pub(super) fn refusal(hits: &[Fresh<'_>], limits: &[Met], now: Micros) -> Option<Refusal> {
    let granted = hits.iter().filter_map(|hit| hit.limit.capacity().checked_div(hit.cost)).min()?;
    let decided: Vec<_> = hits.iter().map(|hit| (hit, after(hit, granted, now))).collect();
    let mut longest: Option<(Retry, &str)> = None;
    let mut violated: Vec<String> = Vec::new();
    for (hit, decision) in &decided {
        let Some(retry) = decision.retry() else { continue };
        if !violated.iter().any(|name| name == hit.name) {
            violated.push(hit.name.into());
        }
        if longest.is_none_or(|(longest, _)| retry > longest) {
            longest = Some((retry, hit.name));
        }
    }
    let (retry, limit) = longest?;
    let retry_after = match retry {
        Retry::After(wait) => Some(wait.secs_rounded_up()),
        Retry::Never => None,
    };
    let description = limits.iter().find(|met| met.name == limit).and_then(|met| met.description.as_deref());
    Some(Refusal {
        granted,
        limit: limit.into(),
        retry_after,
        fields: fields(&decided, retry_after),
        detail: detail(limit, retry_after, description),
        violated,
    })
}

/// What the next request is answered, after so many.
fn after(hit: &Fresh<'_>, granted: u64, now: Micros) -> Decision {
    let mut state = None;
    let (change, _) = decide(&hit.limit, None, now, hit.cost.saturating_mul(granted));
    change.apply(&mut state);
    decide(&hit.limit, state.as_ref(), now, hit.cost).1
}

/// A limit whose numbers are hidden is in none of them.
fn fields(decided: &[(&Fresh<'_>, Decision)], retry_after: Option<u64>) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    fields.extend(retry_after.map(|seconds| ("Retry-After", seconds.to_string())));
    let shown: Vec<_> = decided.iter().filter(|(hit, _)| hit.shown).collect();
    // The older fields have room for one limit: the one that refuses for the longest, or is the nearest to it.
    let nearest = shown.iter().min_by_key(|(_, decision)| (Reverse(decision.retry()), decision.remaining));
    if let Some((_, decision)) = nearest {
        let policy: Vec<_> = shown.iter().map(|(hit, _)| policy_item(hit)).collect();
        let state: Vec<_> = shown.iter().map(|(hit, decision)| state_item(hit, decision)).collect();
        fields.push(("RateLimit-Policy", policy.join(", ")));
        fields.push(("RateLimit", state.join(", ")));
        fields.push(("X-RateLimit-Limit", decision.limit.to_string()));
        fields.push(("X-RateLimit-Remaining", decision.remaining.to_string()));
        // An instant, and there is none before there is a response.
        let reset = decision.reset_after.secs_rounded_up();
        fields.push(("X-RateLimit-Reset", format!("+{reset} s from then, as seconds since 1970")));
    }
    fields.push(("Cache-Control", "no-store".into()));
    fields.push(("Content-Type", "application/problem+json".into()));
    fields
}

fn detail(limit: &str, retry_after: Option<u64>, description: Option<&str>) -> String {
    let mut detail = match retry_after {
        Some(seconds) => {
            format!("The limit {limit} is used up; the same request can be granted in {seconds} s.")
        }
        None => format!("One such request costs more than the limit {limit} ever allows."),
    };
    if let Some(description) = description {
        detail.push(' ');
        detail.push_str(description.trim_end());
    }
    detail
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Limit, Window};

    use super::*;

    const NOW: Micros = Micros::from_secs(1_000_000);

    fn hit(limit: Limit, cost: u64) -> Fresh<'static> {
        Fresh { name: "a", limit, cost, shown: true }
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
                let found = refusal(&[hit(limit, cost)], &[], NOW).expect("it refuses");
                assert_eq!((found.granted, found.retry_after), (granted, retry), "{limit}, cost {cost}");
                let remaining = last.remaining.to_string();
                assert_eq!(field(&found, "X-RateLimit-Remaining"), Some(remaining.as_str()), "{limit}");
            }
        }
    }

    #[test]
    fn what_costs_more_than_the_limit_is_never_granted_and_what_costs_nothing_never_refused() {
        let limit = Limit::token_bucket(5, 1, Micros::SECOND).expect("it fits");
        let found = refusal(&[hit(limit, 6)], &[], NOW).expect("it refuses");
        assert_eq!((found.granted, found.retry_after, field(&found, "Retry-After")), (0, None, None));
        assert_eq!(refusal(&[hit(limit, 0)], &[], NOW), None);
        assert_eq!(refusal(&[], &[], NOW), None);
    }

    #[test]
    fn of_two_limits_the_tighter_refuses_first_and_the_longer_wait_is_told() {
        let minute = Limit::sliding_window_log(3, Micros::MINUTE).expect("it fits");
        let bucket = Limit::token_bucket(3, 1, Micros::SECOND).expect("it fits");
        let (minute, bucket) = (hit(minute, 1), Fresh { name: "bucket", ..hit(bucket, 1) });
        let found = refusal(&[bucket, minute], &[], NOW).expect("it refuses");
        assert_eq!((found.granted, found.limit.as_str(), found.retry_after), (3, "a", Some(60)));
        assert_eq!(found.violated, ["bucket", "a"]);
        let reset = field(&found, "X-RateLimit-Reset").expect("a field");
        assert!(reset.starts_with("+60 s"), "{reset}");
    }

    #[test]
    fn a_hidden_limit_is_named_without_its_numbers() {
        let limit = Limit::token_bucket(5, 1, Micros::SECOND).expect("it fits");
        let found = refusal(&[Fresh { shown: false, ..hit(limit, 1) }], &[], NOW).expect("it refuses");
        let names: Vec<_> = found.fields.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["Retry-After", "Cache-Control", "Content-Type"]);
        assert_eq!(found.violated, ["a"]);
    }
}
