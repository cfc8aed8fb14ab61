//! Which of an operation's limits apply to a request: those whose conditions it meets, each limit once.

use tollgate_http::found::Lookup;
use tollgate_http::{header, query};

use crate::matching::operation::RequestMatch;
use crate::matching::request::Facts;
use crate::model::{Condition, LimitUse};
use crate::policy::Policy;

impl Condition {
    /// Whether a request meets the condition.
    ///
    /// What is sent twice or cannot be read counts as met: the upstream may read the value that the condition asks for.
    #[must_use]
    pub fn is_met(&self, facts: &Facts<'_>) -> bool {
        let fits = |found: Lookup<'_>, value: &Option<String>| match found {
            Lookup::One(sent) => value.as_ref().is_none_or(|value| sent == value.as_bytes()),
            Lookup::Empty => value.as_ref().is_none_or(String::is_empty),
            Lookup::Repeated | Lookup::Malformed => true,
            Lookup::Missing => false,
        };
        let mut room = Vec::new();
        self.headers.iter().all(|(name, value)| fits(header::find(facts.headers, name), value))
            && self
                .query
                .iter()
                .all(|(name, value)| fits(query::find(facts.query.unwrap_or(""), name, &mut room), value))
    }
}

impl LimitUse {
    /// Whether the limit applies to a request that matches here.
    #[must_use]
    pub fn is_met(&self, facts: &Facts<'_>) -> bool {
        self.when.as_ref().is_none_or(|when| when.is_met(facts))
    }
}

impl Policy {
    /// The limits that apply to a request, with their positions among [`uses_of`](Self::uses_of). Of several uses of one limit,
    /// the last whose condition the request meets counts.
    pub fn applied<'a>(
        &'a self,
        facts: &'a Facts<'_>,
        matched: RequestMatch,
    ) -> impl Iterator<Item = (usize, &'a LimitUse)> {
        let uses = self.uses_of(matched);
        uses.iter().enumerate().filter(move |(at, one)| {
            let later = || uses.get(at.saturating_add(1)..).unwrap_or(&[]);
            one.is_met(facts) && !later().iter().any(|later| later.limit == one.limit && later.is_met(facts))
        })
    }
}
