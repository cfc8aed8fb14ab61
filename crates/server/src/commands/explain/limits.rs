//! Every limit that a request meets, with the numbers in force for it, and why it is this one. Nothing is decided here.

use tollgate_core::Mode;
use tollgate_policy::model::{Cost, PolicyLimit, Where};
use tollgate_policy::numbers::{Algorithm, Numbers};
use tollgate_policy::{Budget, Charge, Directory, Hits, Matched, Policy, key};

/// A limit that a request meets.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) name: String,
    /// Where it is written: file, line and column.
    pub(super) at: String,
    /// In one word, for programs: `operation`, `path`, `tag` or `root`.
    pub(super) level: &'static str,
    /// Why it is this one and no other.
    pub(super) nearest: String,
    pub(super) algorithm: &'static str,
    pub(super) mode: Mode,
    /// Whether it is of an algorithm that is read and shown, and refuses nobody as yet.
    pub(super) not_yet: bool,
    pub(super) visible: bool,
    pub(super) owner: Option<String>,
    pub(super) reviewers: Vec<String>,
    pub(super) description: Option<String>,
    /// What is charged for it.
    pub(super) charges: Vec<Charged>,
    /// For whom it is unlimited, if nothing is charged.
    pub(super) unlimited_for: Option<String>,
}

/// One budget that is charged.
#[derive(Debug)]
pub(super) struct Charged {
    pub(super) budget: Budget,
    pub(super) numbers: Numbers,
    /// Whose numbers these are, if they are not everybody's.
    pub(super) numbers_of: Option<String>,
    /// The parts of the key, as they may be shown.
    pub(super) key: Vec<String>,
    pub(super) cost: u64,
    /// Where the cost comes from, if it is not always the same.
    pub(super) cost_from: Option<String>,
}

/// The limits of a request, in the policy's order.
pub(super) fn met(policy: &Policy, matched: Matched, hits: &Hits, directory: Option<&Directory>) -> Vec<Met> {
    let limits = policy.limits_of(matched).iter();
    let limits = limits.filter_map(|id| Some((*id, policy.limits().get(usize::try_from(*id).ok()?)?)));
    let with_charges = limits.map(|(id, limit)| {
        let charges = hits.charges().iter().chain(hits.held()).filter(|charge| charge.limit == id);
        let charges = charges.filter_map(|charge| charged(charge, limit, policy, hits, directory));
        let charges: Vec<_> = charges.collect();
        let (level, nearest) = why(&limit.at, matched);
        Met {
            name: limit.name.clone(),
            at: policy.sources().locate(limit.place),
            level,
            nearest,
            algorithm: limit.algorithm.name(),
            mode: limit.mode,
            not_yet: matches!(limit.algorithm, Algorithm::LeakyBucketQueue | Algorithm::Concurrency),
            visible: limit.visible,
            owner: limit.owner.clone(),
            reviewers: limit.reviewers.clone(),
            description: limit.description.clone(),
            unlimited_for: charges.is_empty().then(|| unlimited_for(limit, hits.tier())),
            charges,
        }
    });
    with_charges.collect()
}

fn charged(
    charge: &Charge,
    limit: &PolicyLimit,
    policy: &Policy,
    hits: &Hits,
    directory: Option<&Directory>,
) -> Option<Charged> {
    let numbers = *policy.numbers(charge.variant, directory)?;
    let numbers_of = match policy.variants().get(usize::try_from(charge.variant).ok()?) {
        Some(variant) => variant.tier.as_ref().map(|tier| format!("the tier {tier}")),
        None => Some("this consumer alone".into()),
    };
    let key = key::parts(hits.key(charge))?.map(|part| part.to_string()).collect();
    let cost_from = match &limit.cost {
        Cost::Fixed(_) => None,
        Cost::Asked { max, .. } => Some(format!("what the request says, at most {max}")),
        Cost::Reported { header, max, .. } => {
            Some(format!("an estimate; afterwards what the response says in {header}, at most {max}"))
        }
        Cost::Operations { max, .. } => Some(format!(
            "the operations in the body, at most {max}; a body that is not given counts as the most"
        )),
    };
    Some(Charged { budget: charge.budget, numbers, numbers_of, key, cost: charge.cost, cost_from })
}

/// Who is not limited by a limit: a tier, or else a consumer by an override.
fn unlimited_for(limit: &PolicyLimit, tier: Option<&str>) -> String {
    match tier {
        Some(tier) if *limit.for_tier(Some(tier)) == Numbers::Unlimited => format!("the tier {tier}"),
        _ => "this consumer alone".into(),
    }
}

impl Met {
    /// In one word, for programs: `enforced`, `shadow` or `not_yet_enforced`.
    pub(super) const fn mode_word(&self) -> &'static str {
        match (self.not_yet, self.mode) {
            (true, _) => "not_yet_enforced",
            (false, Mode::Enforced) => "enforced",
            (false, Mode::Shadow) => "shadow",
        }
    }
}

/// Why a limit at this place is the nearest.
fn why(at: &Where, matched: Matched) -> (&'static str, String) {
    match at {
        Where::Operation(_) => ("operation", "it stands on the operation itself".into()),
        Where::Path(path) => ("path", format!("it stands on the path {path}, and none on the operation")),
        Where::Tag(tag) => {
            ("tag", format!("it stands on the tag {tag}, and none on the operation or its path"))
        }
        Where::Root => match matched {
            Matched::Operation(_) | Matched::Loosely(_) => {
                ("root", "it stands at the root, and none on the operation, its path or its tags".into())
            }
            Matched::Preflight | Matched::Forwarded | Matched::Nothing { .. } => {
                ("root", "it stands at the root, and no operation is met".into())
            }
        },
    }
}
