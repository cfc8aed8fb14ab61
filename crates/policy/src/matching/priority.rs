//! How important a request is: its operation says so, a trusted proxy, its tier, or nobody.

use crate::compile::inherit::Operation;
use crate::matching::request::Facts;
use crate::model::{Priority, priority_named};
use crate::policy::Policy;
use tollgate_http::found::Lookup;
use tollgate_http::header;

impl Policy {
    /// The priority of a request. `None` if the policy has no priorities: then all requests are equal.
    pub(crate) fn priority(
        &self,
        facts: &Facts<'_>,
        operation: Option<&Operation>,
        tier: &str,
    ) -> Option<Priority> {
        if !self.has_priorities {
            return None;
        }
        if let Some(own) = operation.and_then(|operation| operation.priority) {
            return Some(own);
        }
        let Some(priorities) = &self.settings.priorities else { return Some(Priority::default()) };
        // An unknown word, or two of them, say nothing: a request is never more important for that.
        if facts.peer_trusted
            && let Some((name, _)) = &priorities.header
            && let Lookup::One(value) = header::find(facts.headers, name)
            && let Some(said) = std::str::from_utf8(value).ok().and_then(priority_named)
        {
            return Some(said);
        }
        let of_tier = priorities.tiers.iter().find(|(name, _)| name == tier);
        Some(of_tier.map_or(priorities.default, |(_, priority)| *priority))
    }
}
