//! What a client would be told when it is granted. Decided by the core, on keys never seen; nobody is charged.

use tollgate_core::{Decision, Limit, Micros, Mode, Retry, Window, decide};
use tollgate_policy::Budget;
use tollgate_policy::numbers::Numbers;

use super::limits::{Charged, Met};
use super::refusal::{self, Refusal};

/// What a client would be told.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Told {
    /// The `RateLimit-Policy` field, if a limit may be shown.
    pub(super) policy: Option<String>,
    /// The `RateLimit` field of the first request.
    pub(super) first: Option<String>,
    /// Whether a limit on what is in flight is written. None is enforced as yet.
    pub(super) in_flight: bool,
    /// The first refusal of a limit that counts, if there is ever one.
    pub(super) refusal: Option<Refusal>,
}

/// A hit on a key never seen.
pub(super) struct Fresh<'a> {
    pub(super) name: &'a str,
    pub(super) limit: Limit,
    pub(super) cost: u64,
    /// Whether its numbers are shown: they are a limit's own, and not hidden.
    pub(super) shown: bool,
}

/// Works it out.
pub(super) fn told(limits: &[Met], now: Micros) -> Told {
    let mut told = Told::default();
    let enforced = limits.iter().filter(|met| met.mode == Mode::Enforced);
    let enforced: Vec<_> = enforced.flat_map(fresh).collect();
    told.refusal = refusal::refusal(&enforced, limits, now);
    // What is never granted is not told what it would be.
    let never = told.refusal.as_ref().is_some_and(|refusal| refusal.granted == 0);
    let shown: Vec<_> = enforced.iter().filter(|hit| hit.shown && !never).collect();
    if !shown.is_empty() {
        let policy: Vec<_> = shown.iter().map(|hit| policy_item(hit)).collect();
        let first: Vec<_> =
            shown.iter().map(|hit| state_item(hit, &decide(&hit.limit, None, now, hit.cost).1)).collect();
        told.policy = Some(policy.join(", "));
        told.first = Some(first.join(", "));
    }
    let held = |numbers: &Numbers| matches!(numbers, Numbers::Queue { .. } | Numbers::Concurrency { .. });
    let mut charges = limits.iter().filter(|met| met.mode == Mode::Enforced).flat_map(|met| &met.charges);
    told.in_flight = charges.any(|charge| held(&charge.numbers));
    told
}

fn fresh(met: &Met) -> Vec<Fresh<'_>> {
    let hit = |charge: &Charged| match charge.numbers {
        Numbers::Counted(limit) => {
            let shown = met.visible && charge.budget == Budget::Own;
            Some(Fresh { name: &met.name, limit, cost: charge.cost, shown })
        }
        // Of what is in flight nothing can be said beforehand.
        Numbers::Unlimited | Numbers::Queue { .. } | Numbers::Concurrency { .. } => None,
    };
    met.charges.iter().filter_map(hit).collect()
}

/// `"name";q=5;w=50`: how much, and in how many seconds all of it comes back.
pub(super) fn policy_item(hit: &Fresh<'_>) -> String {
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

/// `"name";r=4;t=10`: how much is left, and in how many seconds there is enough (if it was refused), or all of it again.
pub(super) fn state_item(hit: &Fresh<'_>, decision: &Decision) -> String {
    let until = match decision.retry() {
        Some(Retry::After(wait)) => wait,
        Some(Retry::Never) | None => decision.reset_after,
    };
    format!("{};r={};t={}", quoted(hit.name), decision.remaining, until.secs_rounded_up())
}

/// A string of structured fields (RFC 9651). Names are printable ASCII.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = Micros::from_secs(1_000_000);

    fn hit(limit: Limit) -> Fresh<'static> {
        Fresh { name: "a \"b\"", limit, cost: 1, shown: true }
    }

    #[test]
    fn fields_are_structured_fields() {
        let limit = Limit::token_bucket(5, 1, Micros::from_secs(10)).expect("it fits");
        assert_eq!(policy_item(&hit(limit)), r#""a \"b\"";q=5;w=50"#);
        assert_eq!(state_item(&hit(limit), &decide(&limit, None, NOW, 1).1), r#""a \"b\"";r=4;t=10"#);
        let month =
            Limit::fixed_window(9, Window::Month(tollgate_core::UtcOffset::default())).expect("it fits");
        assert_eq!(policy_item(&hit(month)), r#""a \"b\"";q=9"#);
    }
}
