//! Describes what a reload changed, for the log.

use tollgate_engine::PolicyLimits;
use tollgate_http::text::shown;
use tollgate_policy::diff::{LimitDiff, diff};
use tollgate_policy::quantity::spoken;

use crate::finding::counted;

/// Maximum number of limits named; the others are counted.
const NAMED_MAX: usize = 5;

/// What is different, in a few words.
pub(super) fn changes(old: &PolicyLimits, new: &PolicyLimits) -> String {
    let policies = diff(old.policy(), new.policy());
    let mut parts = Vec::new();
    if !policies.limits.is_empty() {
        parts.push(limits(&policies.limits));
    }
    let (before, after) = (old.policy().namespace(), new.policy().namespace());
    // What the policies say of it need not be what holds here.
    let settings = policies.settings.len().saturating_sub(usize::from(before != after));
    let operations = policies.operations.len().saturating_add(policies.more_operations);
    for (count, what) in [(operations, "operation"), (settings, "setting")] {
        if count > 0 {
            parts.push(counted(count, what));
        }
    }
    if new.waits() && old.namespace() != new.namespace() {
        let name = |limits: &PolicyLimits| {
            if limits.namespace().is_empty() { "none".into() } else { shown(limits.namespace()) }
        };
        parts.push(format!(
            "the store's namespace {} became {}: all states start afresh",
            name(old),
            name(new)
        ));
    }
    let consumers = |limits: &PolicyLimits| limits.directory().map(|directory| directory.consumers().len());
    match (consumers(old), consumers(new)) {
        (Some(before), Some(after)) if before != after => {
            parts.push(format!("{before} consumers became {after}"));
        }
        (None, Some(after)) => parts.push(format!("{after} consumers added")),
        (Some(before), None) => parts.push(format!("{before} consumers removed")),
        (Some(_), Some(_)) | (None, None) => {}
    }
    if parts.is_empty() { "no limit, operation or setting".into() } else { parts.join("; ") }
}

/// The limits, with what became of each.
fn limits(changed: &[LimitDiff]) -> String {
    let told = changed.iter().take(NAMED_MAX).map(|limit| {
        let mut what = limit.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        if let Some(wait) = limit.longest_lockout {
            what.push_str(&format!(", a key that was used up waits up to {}", spoken(wait)));
        }
        format!("{} ({})", shown(&limit.name), shown(&what))
    });
    let mut told: Vec<_> = told.collect();
    if let Some(more) = changed.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        told.push(format!("{more} more"));
    }
    format!("limits {}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tollgate::Limiter;
    use tollgate_policy::Policy;
    use tollgate_redis::{Naming, Settings, Store};

    use super::*;

    fn gate(limits: impl IntoIterator<Item = (usize, u64)>) -> PolicyLimits {
        let mut text = String::from("tollgate: 1\nroutes:\n");
        for (route, limit) in limits {
            text.push_str(&format!(
                "  - path: /r{route}\n    rate_limit: {{ name: l{route}, algorithm: fixed_window, limit: {limit}, window: 10 s }}\n"
            ));
        }
        PolicyLimits::new(Limiter::new().unwrap(), Arc::new(Policy::parse("t.yaml", &text).unwrap()), None)
    }

    #[test]
    fn limits_that_changed_are_named_with_how() {
        let said = changes(&gate([(1, 5), (2, 5)]), &gate([(1, 9), (3, 2)]));
        for part in ["limits l1 (looser)", "l3 (", "l2 ("] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[tokio::test]
    async fn another_namespace_is_told_as_a_reset_where_there_is_a_store() {
        let address = "unix:///nonexistent/tollgate.socket".parse().unwrap();
        let store = Store::open(address, Settings::default()).unwrap();
        let shared = Limiter::builder().store(store, Naming::without_secret()).build().unwrap();
        let titled = |limiter: &Limiter, title: &str, namespace: Option<&str>| {
            let text = format!(
                "openapi: 3.1.0\ninfo: {{ title: {title}, version: '1' }}\n\
                 x-rate-limit: {{ algorithm: fixed_window, limit: 5, window: 10 s }}\npaths: {{ /a: {{ get: {{}} }} }}\n"
            );
            let policy = Arc::new(Policy::parse("openapi.yaml", &text).unwrap());
            crate::reload::policy_limits(limiter.clone(), (policy, None), namespace, None)
        };
        let of = |limiter: &Limiter, namespace: Option<&str>| {
            changes(&titled(limiter, "Orders", namespace), &titled(limiter, "Order service", namespace))
        };
        let said = of(&shared, None);
        let expected = "the store's namespace orders became order-service: all states start afresh";
        assert_eq!(said, expected);
        // The setting is stronger than the title, and without a store there is nothing to name.
        assert_eq!(of(&shared, Some("mine")), "no limit, operation or setting");
        assert_eq!(of(&Limiter::new().unwrap(), None), "no limit, operation or setting");
    }

    /// The old debt stays: 972 s next to a limit of 10 that is restored in 10 s.
    #[test]
    fn a_lowered_limit_is_told_with_the_longest_lockout() {
        let bucket = |capacity: u64| {
            let text = format!(
                "tollgate: 1\nroutes: [{{ path: /a, rate_limit: {{ name: l, algorithm: token_bucket, capacity: {capacity}, refill_rate: 1, consumer_key: ip }} }}]\n"
            );
            let policy = Arc::new(Policy::parse("t.yaml", &text).unwrap());
            PolicyLimits::new(Limiter::new().unwrap(), policy, None)
        };
        let said = changes(&bucket(981), &bucket(10));
        assert!(said.contains("limits l (tighter, a key that was used up waits up to 972 s)"), "{said}");
        let said = changes(&bucket(10), &bucket(981));
        assert!(said.contains("limits l (looser)"), "{said}");
    }

    #[test]
    fn nothing_is_told_as_nothing_and_much_is_cut() {
        let many = || (0..9).map(|route| (route, 5));
        assert_eq!(changes(&gate(many()), &gate(many())), "no limit, operation or setting");
        let said = changes(&gate(many()), &gate((0..9).map(|route| (route, 4))));
        assert!(said.contains("l4 (tighter), 4 more; 9 operations") && !said.contains("l5"), "{said}");
    }
}
