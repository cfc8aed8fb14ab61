//! Maps a request to the facts that a policy reads, its operation and its hits. Charges nothing.

use tollgate_policy::model::{Identity, PolicyLimit};
use tollgate_policy::{Facts, Hits, Request, RequestBody, RequestMatch};

use super::PolicyLimits;
use crate::allowed_methods::allowed;
use crate::body_cost::{RequiredBody, count_in_query};
use crate::error::CheckError;
use crate::head::{Body, RequestHead};
use crate::outcome::Outcome;

impl PolicyLimits {
    /// The facts that the policy reads from a request.
    pub(super) fn facts<'a>(
        &self,
        head: &RequestHead<'a>,
        (target, scratch): (&'a mut String, &'a mut tollgate_policy::Scratch),
    ) -> Result<Facts<'a>, CheckError> {
        let RequestHead { method, headers, authority, tier, .. } = *head;
        let target = if head.target.starts_with('?') {
            // `GET http://host?query`
            target.clear();
            target.push('/');
            target.push_str(head.target);
            target
        } else {
            head.target
        };
        let peer = head.peer.ok_or(CheckError::UnknownPeer)?;
        let request = Request { method, target, headers, authority, peer, now: self.limiter.now() };
        let facts = self.policy.facts(&request, scratch)?;
        let query_operations = if self.counts_queries {
            count_in_query(facts.query, self.policy.settings().query_semicolons)
        } else {
            0
        };
        let (body_operations, body) = match (head.body, head.body_text) {
            (Body::Read { operations, .. }, Some(text)) => (operations, RequestBody::Whole(text)),
            (Body::Read { operations, .. }, None) => (operations, RequestBody::TooLarge),
            (Body::Unreadable | Body::Unread, _) => (None, RequestBody::Unread),
        };
        Ok(Facts { body, body_operations, query_operations, tier, ..facts })
    }

    /// Matches a request, and writes its hits into `hits`.
    pub(super) fn match_request(
        &self,
        head: &RequestHead<'_>,
        facts: &Facts<'_>,
        hits: &mut Hits,
    ) -> Result<MatchResult, CheckError> {
        let matched = match head.body {
            Body::Read { matched, .. } => matched,
            Body::Unreadable | Body::Unread => self.policy.matched(facts),
        };
        if head.body == Body::Unread && self.reads_bodies {
            let costs = self.policy.costs_of(facts, matched).filter_map(RequiredBody::of);
            let applied = self.policy.applied(facts, matched);
            let limits = applied.filter_map(|(_, used)| self.policy.limits().get(used.limit.index()));
            let keys = limits.filter(|limit| has_key_in_body(limit)).map(|_| RequiredBody::KEY);
            let wanted = costs.chain(keys);
            if let Some(wanted) = wanted.reduce(RequiredBody::and) {
                return Ok(MatchResult::NeedsBody(Outcome::NeedsBody { wanted, matched }));
            }
        }
        self.policy.hits(facts, matched, self.directory(), hits)?;
        match matched {
            RequestMatch::Unmatched { other_methods: false } => Err(CheckError::NotFound),
            RequestMatch::Unmatched { other_methods: true } => {
                let allowed = allowed(&self.policy, &self.methods, facts);
                Err(CheckError::MethodNotAllowed { allowed })
            }
            RequestMatch::Operation(_)
            | RequestMatch::Loosely(_)
            | RequestMatch::Preflight
            | RequestMatch::Forwarded => Ok(MatchResult::Matched(matched)),
        }
    }
}

/// The result of matching a request.
#[expect(clippy::large_enum_variant, reason = "it is unwrapped where it is made")]
pub(super) enum MatchResult {
    Matched(RequestMatch),
    NeedsBody(Outcome),
}

/// Whether the key of a limit may be in the body.
pub(super) fn has_key_in_body(limit: &PolicyLimit) -> bool {
    limit.key.chain.iter().flatten().any(|identity| matches!(identity, Identity::Body(_)))
}
