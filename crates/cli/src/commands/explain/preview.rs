//! The response to an admitted request with unused limits. Nobody is charged.

use http::HeaderMap;
use tollgate_algorithms::{Decision, Limit, Micros, Mode, decide};
use tollgate_engine::{DescriptorId, LimitDescriptor, LimitStatus, Visibility, ZeroStatus};
use tollgate_policy::model;
use tollgate_policy::numbers::Numbers;
use tollgate_tower::{HeaderFormats, ResetFormat, ResponseConfig, ResponseWriter};

use super::limits::{ChargedKey, MatchedLimit};
use super::refusal::{self, Refusal};

/// What clients are told, unless the gateway's settings say otherwise. The reset is a wait here, because there is no instant before
/// there is a response.
pub(super) const RESPONSES: ResponseConfig = ResponseConfig {
    generations: HeaderFormats { draft: true, x_ratelimit: true, triple: false },
    reset: ResetFormat::Delta,
    retry_jitter: Micros::ZERO,
    partition_key: false,
    degraded: false,
};

/// What a client would be told.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct ResponsePreview {
    /// The `RateLimit-Policy` field, if a limit may be shown.
    pub(super) policy: Option<String>,
    /// The `RateLimit` field of the first request.
    pub(super) first: Option<String>,
    /// Whether a limit on what is in flight is written. None is enforced as yet.
    pub(super) in_flight: bool,
    /// The first refusal of a limit that counts, if there is ever one.
    pub(super) refusal: Option<Refusal>,
}

/// A hit on an unused key.
pub(super) struct FreshHit {
    pub(super) descriptor: LimitDescriptor,
    pub(super) limit: Limit,
    pub(super) cost: u64,
}

/// The status of each hit after these decisions. The position of a hit identifies its descriptor.
pub(super) fn statuses<'a>(
    hits: &'a [FreshHit],
    decisions: impl Iterator<Item = Decision>,
) -> impl Iterator<Item = LimitStatus<'a>> {
    let both = (0..).zip(hits).zip(decisions);
    let status = |((id, hit), decision): ((usize, &'a FreshHit), _)| {
        LimitStatus::new(DescriptorId::from(id), &hit.descriptor, decision)
    };
    let mut statuses: Vec<_> = both.map(status).collect();
    LimitStatus::mark_binding(&mut statuses);
    statuses.into_iter()
}

/// Writes the responses that a client would see.
pub(super) fn writer(hits: &[FreshHit]) -> ResponseWriter {
    let descriptors: Vec<_> = hits.iter().map(|hit| Some(hit.descriptor.clone())).collect();
    ResponseWriter::for_descriptors(&descriptors, RESPONSES)
}

/// Works it out.
pub(super) fn told(limits: &[MatchedLimit], now: Micros) -> ResponsePreview {
    let mut told = ResponsePreview::default();
    let enforced = limits.iter().filter(|met| met.mode == Mode::Enforced);
    let enforced: Vec<_> = enforced.flat_map(fresh).collect();
    told.refusal = refusal::refusal(&enforced, now);
    // What is never granted is not told what it would be.
    let never = told.refusal.as_ref().is_some_and(|refusal| refusal.granted == 0);
    if !never {
        let first = enforced.iter().map(|hit| decide(&hit.limit, None, now, hit.cost).1);
        let mut fields = HeaderMap::new();
        writer(&enforced).write_limits(statuses(&enforced, first), now, &mut fields);
        let field = |name: &str| Some(fields.get(name)?.to_str().ok()?.to_owned());
        (told.policy, told.first) = (field("ratelimit-policy"), field("ratelimit"));
    }
    let held = |numbers: &Numbers| {
        matches!(numbers, Numbers::Queue { .. } | Numbers::Concurrency { .. } | Numbers::Adaptive { .. })
    };
    let mut charges = limits.iter().filter(|met| met.mode == Mode::Enforced).flat_map(|met| &met.charges);
    told.in_flight = charges.any(|charge| held(&charge.numbers));
    told
}

fn fresh(met: &MatchedLimit) -> Vec<FreshHit> {
    let hit = |charge: &ChargedKey| match charge.numbers {
        Numbers::Counted(limit) => {
            let visibility = if met.visible { Visibility::Shown } else { Visibility::Hidden };
            let zero_status = match met.zero_status {
                model::ZeroStatus::Forbidden => ZeroStatus::Forbidden,
                model::ZeroStatus::TooManyRequests => ZeroStatus::TooManyRequests,
            };
            let descriptor = LimitDescriptor::new(&met.name, limit).with_visibility(visibility);
            let descriptor = descriptor.with_zero_status(zero_status);
            let descriptor = descriptor.with_description(met.description.as_deref());
            let descriptor = descriptor.for_budget(charge.budget);
            Some(FreshHit { descriptor, limit, cost: charge.cost })
        }
        // Of what is in flight nothing can be said beforehand.
        Numbers::Unlimited
        | Numbers::Queue { .. }
        | Numbers::Concurrency { .. }
        | Numbers::Adaptive { .. } => None,
    };
    met.charges.iter().filter_map(hit).collect()
}
