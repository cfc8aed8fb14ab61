//! What a client would be told: when it is granted, and at the first refusal after a burst. Decided by the core, on keys
//! never seen; nobody is charged.

use tollgate_core::{Limit, Micros, Mode, Retry, Window, decide};
use tollgate_policy::Budget;
use tollgate_policy::numbers::Numbers;

use super::limits::Met;

/// What a client would be told.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Told {
    /// The `RateLimit-Policy` field, if a limit may be shown.
    pub(super) policy: Option<String>,
    /// The `RateLimit` field of the first request.
    pub(super) first: Option<String>,
    /// Whether a limit on what is in flight may refuse it: when, depends on others.
    pub(super) in_flight: bool,
    /// The first refusal of a limit that counts, if there is ever one.
    pub(super) refusal: Option<Refusal>,
}

/// The first refusal of a client that sends this request again and again, all at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// How many requests are granted before.
    pub(super) granted: u64,
    /// The limit that refuses for the longest.
    pub(super) limit: String,
    /// Whole seconds for `Retry-After`; `None` if waiting does not help.
    pub(super) retry_after: Option<u64>,
}

/// A hit on a key never seen.
struct Fresh<'a> {
    name: &'a str,
    limit: Limit,
    cost: u64,
}

/// Works it out.
pub(super) fn told(limits: &[Met], now: Micros) -> Told {
    let mut told = Told::default();
    let shown = limits.iter().filter(|met| met.visible && met.mode == Mode::Enforced);
    let shown: Vec<_> = shown.flat_map(|met| fresh(met, &[Budget::Own])).collect();
    if !shown.is_empty() {
        let listed =
            |field: &dyn Fn(&Fresh<'_>) -> String| shown.iter().map(field).collect::<Vec<_>>().join(", ");
        told.policy = Some(listed(&policy_item));
        told.first = Some(listed(&|hit| first_item(hit, now)));
    }
    let all = [Budget::Own, Budget::AddressCeiling, Budget::WideAddress];
    let enforced = limits.iter().filter(|met| met.mode == Mode::Enforced);
    let enforced: Vec<_> = enforced.flat_map(|met| fresh(met, &all)).collect();
    told.refusal = refusal(&enforced, now);
    let held = |numbers: &Numbers| matches!(numbers, Numbers::Queue { .. } | Numbers::Concurrency { .. });
    let mut charges = limits.iter().filter(|met| met.mode == Mode::Enforced).flat_map(|met| &met.charges);
    told.in_flight = charges.any(|charge| held(&charge.numbers));
    told
}

fn fresh<'a>(met: &'a Met, budgets: &[Budget]) -> Vec<Fresh<'a>> {
    let charges = met.charges.iter().filter(|charge| budgets.contains(&charge.budget));
    let hit = |numbers: &Numbers, cost| match numbers {
        Numbers::Counted(limit) => Some(Fresh { name: &met.name, limit: *limit, cost }),
        // Of what is in flight nothing can be said beforehand.
        Numbers::Unlimited | Numbers::Queue { .. } | Numbers::Concurrency { .. } => None,
    };
    charges.filter_map(|charge| hit(&charge.numbers, charge.cost)).collect()
}

/// The refusal after the burst.
///
/// So many requests at one instant are the same as one of their cost together (a law of the core), so that no burst is
/// too large to be worked out.
fn refusal(hits: &[Fresh<'_>], now: Micros) -> Option<Refusal> {
    let granted = hits.iter().filter_map(|hit| hit.limit.capacity().checked_div(hit.cost)).min()?;
    let mut longest: Option<(Retry, &str)> = None;
    for hit in hits {
        let mut state = None;
        let (change, _) = decide(&hit.limit, None, now, hit.cost.saturating_mul(granted));
        change.apply(&mut state);
        let (_, decision) = decide(&hit.limit, state.as_ref(), now, hit.cost);
        if let Some(retry) = decision.retry()
            && longest.is_none_or(|(longest, _)| retry > longest)
        {
            longest = Some((retry, hit.name));
        }
    }
    let (retry, limit) = longest?;
    let retry_after = match retry {
        Retry::After(wait) => Some(wait.secs_rounded_up()),
        Retry::Never => None,
    };
    Some(Refusal { granted, limit: limit.into(), retry_after })
}

/// `"name";q=5;w=50`: how much, and in how many seconds all of it comes back.
fn policy_item(hit: &Fresh<'_>) -> String {
    let window = match hit.limit {
        Limit::Unlimited => None,
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => Some(quota.drain()),
        Limit::FixedWindow(rule) => match rule.window() {
            Window::Every(length) => Some(length),
            Window::Day(_) => Some(Micros::DAY),
            Window::Week(_) => Some(Micros::new(Micros::DAY.get().saturating_mul(7))),
            // Months differ, and a field that may be wrong is worse than none.
            Window::Month(_) => None,
        },
        Limit::SlidingWindow(rule) => Some(rule.window()),
        Limit::SlidingWindowBuckets(rule) => Some(rule.window()),
        Limit::SlidingWindowLog(rule) => Some(rule.window()),
    };
    let window = window.map(Micros::secs_rounded_up).filter(|seconds| *seconds > 0);
    let window = window.map_or_else(String::new, |seconds| format!(";w={seconds}"));
    format!("{};q={}{window}", quoted(hit.name), hit.limit.capacity())
}

/// `"name";r=4;t=10`: how much is left after the first request, and in how many seconds all of it is there again.
fn first_item(hit: &Fresh<'_>, now: Micros) -> String {
    let (_, decision) = decide(&hit.limit, None, now, hit.cost);
    let reset = decision.reset_after.secs_rounded_up();
    format!("{};r={};t={reset}", quoted(hit.name), decision.remaining)
}

/// A string of structured fields (RFC 9651). Names are printable ASCII.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = Micros::from_secs(1_000_000);

    fn hit(limit: Limit, cost: u64) -> Fresh<'static> {
        Fresh { name: "a \"b\"", limit, cost }
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
                let retry = loop {
                    let (change, decision) = decide(&limit, state.as_ref(), NOW, cost);
                    change.apply(&mut state);
                    match decision.retry() {
                        None => granted += 1,
                        Some(Retry::After(wait)) => break Some(wait.secs_rounded_up()),
                        Some(Retry::Never) => break None,
                    }
                };
                let found = refusal(&[hit(limit, cost)], NOW).expect("it refuses");
                assert_eq!((found.granted, found.retry_after), (granted, retry), "{limit}, cost {cost}");
            }
        }
    }

    #[test]
    fn what_costs_more_than_the_limit_is_never_granted_and_what_costs_nothing_never_refused() {
        let limit = Limit::token_bucket(5, 1, Micros::SECOND).expect("it fits");
        let found = refusal(&[hit(limit, 6)], NOW).expect("it refuses");
        assert_eq!((found.granted, found.retry_after), (0, None));
        assert_eq!(refusal(&[hit(limit, 0)], NOW), None);
        assert_eq!(refusal(&[], NOW), None);
    }

    #[test]
    fn of_two_limits_the_tighter_refuses_first() {
        let minute = Limit::sliding_window_log(3, Micros::MINUTE).expect("it fits");
        let bucket = Limit::token_bucket(3, 1, Micros::SECOND).expect("it fits");
        let (minute, bucket) = (hit(minute, 1), Fresh { name: "bucket", ..hit(bucket, 1) });
        let found = refusal(&[bucket, minute], NOW).expect("it refuses");
        assert_eq!((found.granted, found.limit.as_str(), found.retry_after), (3, "a \"b\"", Some(60)));
    }

    #[test]
    fn fields_are_structured_fields() {
        let limit = Limit::token_bucket(5, 1, Micros::from_secs(10)).expect("it fits");
        assert_eq!(policy_item(&hit(limit, 1)), r#""a \"b\"";q=5;w=50"#);
        assert_eq!(first_item(&hit(limit, 1), NOW), r#""a \"b\"";r=4;t=10"#);
        let month =
            Limit::fixed_window(9, Window::Month(tollgate_core::UtcOffset::default())).expect("it fits");
        assert_eq!(policy_item(&hit(month, 1)), r#""a \"b\"";q=9"#);
    }
}
