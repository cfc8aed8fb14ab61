//! What a client would be told when it is granted. Decided by the core, on keys never seen; nobody is charged.

use http::HeaderMap;
use tollgate_algorithms::{Decision, Limit, Micros, Mode, decide};
use tollgate_policy::Budget;
use tollgate_policy::numbers::Numbers;
use tollgate_tower::{Answers, Card, Fields, Line, Reset, Visibility};

use super::limits::{Charged, Met};
use super::refusal::{self, Refusal};

/// What clients are told, unless the gateway's settings say otherwise. The reset is a wait here, because there is no instant before
/// there is a response.
pub(super) const ANSWERS: Answers = Answers {
    generations: tollgate_tower::Generations { draft: true, x_ratelimit: true, triple: false },
    reset: Reset::Delta,
    retry_jitter: Micros::ZERO,
    partition_key: false,
    degraded: false,
};

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
pub(super) struct Fresh {
    pub(super) card: Card,
    pub(super) limit: Limit,
    pub(super) cost: u64,
}

impl Fresh {
    /// What the limit says to it.
    pub(super) const fn line(&self, decision: Decision) -> Line<'_> {
        Line { card: &self.card, decision, mode: Mode::Enforced, key: &[] }
    }
}

/// Works it out.
pub(super) fn told(limits: &[Met], now: Micros) -> Told {
    let mut told = Told::default();
    let enforced = limits.iter().filter(|met| met.mode == Mode::Enforced);
    let enforced: Vec<_> = enforced.flat_map(fresh).collect();
    told.refusal = refusal::refusal(&enforced, now);
    // What is never granted is not told what it would be.
    let never = told.refusal.as_ref().is_some_and(|refusal| refusal.granted == 0);
    if !never {
        let first = enforced.iter().map(|hit| hit.line(decide(&hit.limit, None, now, hit.cost).1));
        let mut fields = HeaderMap::new();
        Fields::of(first, &ANSWERS, now).write(&mut fields);
        let field = |name: &str| Some(fields.get(name)?.to_str().ok()?.to_owned());
        (told.policy, told.first) = (field("ratelimit-policy"), field("ratelimit"));
    }
    let held = |numbers: &Numbers| matches!(numbers, Numbers::Queue { .. } | Numbers::Concurrency { .. });
    let mut charges = limits.iter().filter(|met| met.mode == Mode::Enforced).flat_map(|met| &met.charges);
    told.in_flight = charges.any(|charge| held(&charge.numbers));
    told
}

fn fresh(met: &Met) -> Vec<Fresh> {
    let hit = |charge: &Charged| match charge.numbers {
        Numbers::Counted(limit) => {
            let visibility = match (met.visible, charge.budget) {
                (false, _) => Visibility::Hidden,
                (true, Budget::Own) => Visibility::Shown,
                (true, Budget::AddressCeiling | Budget::WideAddress | Budget::WideCeiling) => {
                    Visibility::Named
                }
            };
            let card = Card::new(&met.name, &limit, visibility, met.description.as_deref());
            let card = card.with_zero_status(met.zero_status);
            Some(Fresh { card, limit, cost: charge.cost })
        }
        // Of what is in flight nothing can be said beforehand.
        Numbers::Unlimited | Numbers::Queue { .. } | Numbers::Concurrency { .. } => None,
    };
    met.charges.iter().filter_map(hit).collect()
}
