//! The explanation as plain data: the request, its operation, every limit, and the response.

use tollgate_algorithms::Micros;
use tollgate_policy::model::Cost;
use tollgate_policy::{
    BadRequest, ConsumerIndex, Facts, Hits, InheritedFrom, KEY_BODY_MAX, Policy, Request, RequestBody,
    RequestMatch, Scratch,
};

use super::args::ExplainRequest;
use super::key_trace;
use super::limits::{self, ExplainCase, MatchedLimit, OverriddenLimit};
use super::preview::{self, ResponsePreview};
use super::suggest::{self, NearbyOperation};

/// Everything that is known of a request.
#[derive(Debug)]
pub(super) struct Explanation {
    /// The request as the policy sees it; `None` if it was wrong before that.
    pub(super) request: Option<NormalizedRequest>,
    /// What it met.
    pub(super) matched: Option<MatchedOperation>,
    /// The limits that it meets.
    pub(super) limits: Vec<MatchedLimit>,
    /// Operations that it might have been meant for.
    pub(super) near: Vec<NearbyOperation>,
    /// What it is answered in place of being forwarded, before any limit is looked at.
    pub(super) refused: Option<PartialExplanation>,
    /// What the client is told of limits.
    pub(super) told: ResponsePreview,
}

/// An answer before any limit is looked at.
#[derive(Debug)]
pub(super) struct PartialExplanation {
    pub(super) status: u16,
    pub(super) because: String,
    /// Where it was looked for who is asking, and what was found there, if that is why.
    pub(super) looked: Vec<String>,
}

/// The request, normalised.
#[derive(Debug)]
pub(super) struct NormalizedRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) host: String,
    pub(super) client: String,
    /// How the client's address was found.
    pub(super) client_is: String,
    pub(super) tier: Option<String>,
}

/// What a request met.
#[derive(Debug)]
pub(super) struct MatchedOperation {
    /// In one word, for programs.
    pub(super) kind: &'static str,
    /// In a few words.
    pub(super) what: String,
    /// The operation's `operationId`.
    pub(super) id: Option<String>,
    /// Where it is written.
    pub(super) at: Option<String>,
    /// Why there is no limit, if there is none.
    pub(super) unlimited: Option<String>,
    /// Limits that would have met it, had none stood nearer.
    pub(super) farther: Vec<OverriddenLimit>,
}

/// Asks the policy.
pub(super) fn answer(
    asked: &ExplainRequest,
    policy: &Policy,
    directory: Option<&ConsumerIndex>,
    now: Micros,
) -> Explanation {
    let mut scratch = Scratch::default();
    let request = Request {
        method: &asked.method,
        target: &asked.target,
        headers: &asked.headers,
        authority: asked.host.as_deref(),
        peer: asked.from,
        now,
    };
    let facts = match policy.facts(&request, &mut scratch) {
        Ok(facts) => Facts { tier: asked.tier.as_deref(), body: body_of(asked), ..facts },
        Err(bad) => return Explanation { refused: Some(wrong(&bad, Vec::new())), ..Explanation::empty() },
    };
    let matched = policy.matched(&facts);
    let facts = Facts { body_operations: operations_of(policy, &facts, matched), ..facts };
    let mut hits = Hits::default();
    let charged = policy.hits(&facts, matched, directory, &mut hits);
    let mut answer = Explanation {
        request: Some(normal(&facts, &hits)),
        matched: Some(described(matched, policy)),
        ..Explanation::empty()
    };
    if matches!(matched, RequestMatch::Unmatched { .. } | RequestMatch::Forwarded) {
        answer.near = suggest::near(policy, &facts);
    }
    if let RequestMatch::Unmatched { other_methods } = matched {
        let (status, because) = if other_methods {
            (405, "the path is there, but not with this method")
        } else {
            (404, "no operation has this path, and `unmatched` is `reject`")
        };
        answer.refused = Some(PartialExplanation { status, because: because.into(), looked: Vec::new() });
        return answer;
    }
    let case = ExplainCase { policy, facts: &facts, matched, hits: &hits, directory };
    if let Err(bad) = charged {
        answer.refused = Some(wrong(&bad, looked_at(&bad, &case)));
    } else {
        answer.limits = limits::met(&case);
        answer.told = preview::told(&answer.limits, now);
    }
    answer
}

impl Explanation {
    fn empty() -> Self {
        let (limits, near) = (Vec::new(), Vec::new());
        Self { request: None, matched: None, limits, near, refused: None, told: ResponsePreview::default() }
    }
}

/// The body as a gateway reads it, if a key may be in it.
fn body_of(asked: &ExplainRequest) -> RequestBody<'_> {
    match asked.body.as_deref().map(str::as_bytes) {
        None => RequestBody::Unread,
        Some(body) if u64::try_from(body.len()).is_ok_and(|length| length <= KEY_BODY_MAX) => {
            RequestBody::Whole(body)
        }
        Some(_) => RequestBody::TooLarge,
    }
}

/// How many operations the body carries, if that is what the request costs.
fn operations_of(policy: &Policy, facts: &Facts<'_>, matched: RequestMatch) -> Option<u64> {
    let RequestBody::Whole(body) = facts.body else { return None };
    let mut costs = policy.costs_of(facts, matched);
    let kind = costs.find_map(|cost| match cost {
        Cost::Operations { kind, .. } => Some(*kind),
        Cost::Fixed(_) | Cost::Asked { .. } | Cost::Reported { .. } => None,
    })?;
    tollgate_engine::body_cost::count(kind, body)
}

fn wrong(bad: &BadRequest, looked: Vec<String>) -> PartialExplanation {
    PartialExplanation { status: 400, because: bad.to_string(), looked }
}

/// Where a limit looked for who is asking, if that is why the request is wrong.
fn looked_at(bad: &BadRequest, case: &ExplainCase<'_>) -> Vec<String> {
    let (BadRequest::NoIdentity { limit }
    | BadRequest::InvalidToken { limit }
    | BadRequest::TwoIdentities { limit }) = bad
    else {
        return Vec::new();
    };
    let limit = case.policy.limit_named(limit).map(|(_, limit)| limit);
    limit.map(|limit| key_trace::places_of(limit, case)).unwrap_or_default()
}

fn normal(facts: &Facts<'_>, hits: &Hits) -> NormalizedRequest {
    NormalizedRequest {
        method: facts.method.into(),
        path: facts.path.into(),
        query: facts.query.map(Into::into),
        host: facts.host.into(),
        client: facts.origin.address.to_string(),
        client_is: facts.origin.how.to_string(),
        tier: facts.tier.or(hits.tier()).map(Into::into),
    }
}

fn described(matched: RequestMatch, policy: &Policy) -> MatchedOperation {
    let (kind, id) = match matched {
        RequestMatch::Operation(id) => ("operation", Some(id)),
        RequestMatch::Loosely(id) => ("loosely", Some(id)),
        RequestMatch::Preflight => ("preflight", None),
        RequestMatch::Forwarded => ("forwarded", None),
        RequestMatch::Unmatched { .. } => ("nothing", None),
    };
    let operation = id.and_then(|id| policy.operations().get(id.index()));
    let name = operation.map(tollgate_policy::Operation::name).unwrap_or_default();
    let what = match matched {
        RequestMatch::Operation(_) => name,
        RequestMatch::Loosely(_) => format!("{name}, as a lenient server would read it"),
        RequestMatch::Preflight => "a browser's question before a request of another origin".into(),
        RequestMatch::Forwarded => "no operation; it is forwarded all the same".into(),
        RequestMatch::Unmatched { .. } => "no operation".into(),
    };
    let unlimited = match (operation.map(|operation| operation.nearest), matched) {
        (Some(InheritedFrom::Off(place)), _) => {
            Some(format!("limits are switched off by `none` at {}", policy.sources().locate(place)))
        }
        (Some(InheritedFrom::Nothing), _) => {
            Some("no limit is written on the operation, its path, its tags or at the root".into())
        }
        (None, RequestMatch::Preflight | RequestMatch::Forwarded) if policy.default_limits().is_empty() => {
            Some("no limit is written at the root".into())
        }
        _ => None,
    };
    MatchedOperation {
        kind,
        what,
        id: operation.and_then(|operation| operation.id.clone()),
        at: operation.map(|operation| policy.sources().locate(operation.place)),
        unlimited,
        farther: operation.map(|operation| limits::farther(policy, operation)).unwrap_or_default(),
    }
}
