//! Every limit that a request meets, with the numbers in force for it, and why it is this one. Nothing is decided here.

use tollgate_algorithms::Mode;
use tollgate_policy::model::{Cost, PolicyLimit, Where, ZeroStatus};
use tollgate_policy::numbers::{Algorithm, Numbers};
use tollgate_policy::{
    Budget, Charge, Directory, Facts, FileId, Hits, Matched, Nearest, Operation, Place, Policy, key,
};

use super::key_trace::looked;
use super::reference;

/// A limit that a request meets.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) name: String,
    /// Where it is written: file, line and column.
    pub(super) at: String,
    /// Where the `$ref` stands that leads to it, if one does.
    pub(super) reference: Option<String>,
    /// In one word, for programs: `operation`, `path`, `tag` or `root`.
    pub(super) level: &'static str,
    /// Why it is this one and no other.
    pub(super) nearest: String,
    pub(super) algorithm: &'static str,
    pub(super) mode: Mode,
    /// Whether it is of an algorithm that is read and shown, and refuses nobody as yet.
    pub(super) not_yet: bool,
    pub(super) visible: bool,
    pub(super) zero_status: ZeroStatus,
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
    /// Where it was looked for, if there is something to say.
    pub(super) key_from: Option<String>,
    pub(super) cost: u64,
    /// Where the cost comes from, if it is not always the same.
    pub(super) cost_from: Option<String>,
}

/// A request, and all that was asked of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub(super) policy: &'a Policy,
    pub(super) facts: &'a Facts<'a>,
    pub(super) matched: Matched,
    pub(super) hits: &'a Hits,
    pub(super) directory: Option<&'a Directory>,
}

/// A limit that would have met a request, had none stood nearer.
#[derive(Debug)]
pub(super) struct Farther {
    pub(super) name: String,
    /// In one word, for programs: `path`, `tag` or `root`.
    pub(super) level: &'static str,
    pub(super) at: String,
}

/// The limits on the path and the tags of an operation and at the root that do not meet it.
///
/// Only those in the operation's own file: another document's root was never one of its own.
pub(super) fn farther(policy: &Policy, operation: &Operation) -> Vec<Farther> {
    let limits = policy.limits().iter().enumerate();
    let others = limits.filter(|(at, limit)| {
        !operation.limits.iter().any(|id| id.index() == *at) && is_in(limit, operation.place.file)
    });
    let found = others.filter_map(|(_, limit)| {
        let level = match &limit.at {
            Where::Path(path) if *path == operation.written => "path",
            Where::Tag(tag) if operation.tags.contains(tag) => "tag",
            Where::Root => "root",
            Where::Path(_) | Where::Tag(_) | Where::Operation(_) => return None,
        };
        let at = policy.sources().locate(limit.place);
        Some(Farther { name: limit.name.clone(), level, at })
    });
    let mut found: Vec<_> = found.collect();
    // The nearer ones first.
    found.sort_by_key(|farther| ["path", "tag", "root"].iter().position(|level| *level == farther.level));
    found
}

/// The limits of a request, in the policy's order.
pub(super) fn met(case: &Case<'_>) -> Vec<Met> {
    let Case { policy, matched, hits, .. } = *case;
    let operation = match matched {
        Matched::Operation(id) | Matched::Loosely(id) => policy.operation(id),
        Matched::Preflight | Matched::Forwarded | Matched::Unmatched { .. } => None,
    };
    let limits = policy.limits_of(matched).iter();
    let limits = limits.filter_map(|id| Some((*id, policy.limits().get(id.index())?)));
    let with_charges = limits.map(|(id, limit)| {
        let charges = hits.charges().iter().chain(hits.held()).filter(|charge| charge.limit == id);
        let charges = charges.filter_map(|charge| charged(charge, limit, case));
        let charges: Vec<_> = charges.collect();
        let reference = operation.and_then(|operation| reference::of(limit, operation, policy));
        let (level, nearest) = why(limit, reference, (operation, matched));
        Met {
            name: limit.name.clone(),
            at: policy.sources().locate(limit.place),
            reference: reference.map(|place| policy.sources().locate(place)),
            level,
            nearest,
            algorithm: limit.algorithm.name(),
            mode: limit.mode,
            not_yet: matches!(limit.algorithm, Algorithm::LeakyBucketQueue | Algorithm::Concurrency),
            visible: limit.visible,
            zero_status: limit.zero_status,
            owner: limit.owner.clone(),
            reviewers: limit.reviewers.clone(),
            description: limit.description.clone(),
            unlimited_for: charges.is_empty().then(|| unlimited_for(limit, hits.tier())),
            charges,
        }
    });
    with_charges.collect()
}

fn charged(charge: &Charge, limit: &PolicyLimit, case: &Case<'_>) -> Option<Charged> {
    let Case { policy, hits, directory, .. } = *case;
    let numbers = *policy.numbers(charge.variant, directory)?;
    let numbers_of = match policy.variants().get(charge.variant.index()) {
        Some(variant) => variant.tier.as_ref().map(|tier| format!("the tier {tier}")),
        None => Some("this consumer alone".into()),
    };
    let parts: Vec<_> = key::parts(hits.key(charge))?.collect();
    let key = parts.iter().map(ToString::to_string).collect();
    // Budgets besides are the address's, whoever is asking.
    let key_from = (charge.budget == Budget::Own).then(|| looked(limit, &parts, case)).flatten();
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
    Some(Charged { budget: charge.budget, numbers, numbers_of, key, key_from, cost: charge.cost, cost_from })
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

/// Whether a limit, or a `$ref` to it, stands in a file.
fn is_in(limit: &PolicyLimit, file: FileId) -> bool {
    limit.place.file == file || limit.references.iter().any(|reference| reference.file == file)
}

/// Why a limit is the nearest. Several operations may share it by its name or by a `$ref`, so that it may be written elsewhere.
fn why(
    limit: &PolicyLimit,
    reference: Option<Place>,
    (operation, matched): (Option<&Operation>, Matched),
) -> (&'static str, String) {
    let who_stands = |here| who_stands(reference, here);
    let Some(operation) = operation else {
        let no_operation = match matched {
            Matched::Preflight | Matched::Forwarded | Matched::Unmatched { .. } => "no operation is met",
            Matched::Operation(_) | Matched::Loosely(_) => "the operation has none",
        };
        return ("root", format!("{} at the root, and {no_operation}", who_stands(true)));
    };
    let written = operation.written.as_str();
    match operation.nearest {
        Nearest::Operation | Nearest::Off(_) | Nearest::Nothing => {
            let here = matches!(&limit.at, Where::Operation(name) if name.ends_with(written));
            ("operation", format!("{} on the operation itself", who_stands(here)))
        }
        Nearest::Path => {
            let here = matches!(&limit.at, Where::Path(path) if path == written);
            ("path", format!("{} on the path {written}, and none on the operation", who_stands(here)))
        }
        Nearest::Tag => {
            let mut tags = operation.tags.iter();
            let own = if let Where::Tag(tag) = &limit.at { Some(tag) } else { None };
            let own = own.filter(|tag| operation.tags.contains(tag));
            let (tag, here) = (own.or_else(|| tags.next()), own.is_some());
            let tag = tag.map_or_else(|| "a tag".to_owned(), |tag| format!("the tag {tag}"));
            let stands = who_stands(here);
            ("tag", format!("{stands} on {tag}, and none on the operation or its path"))
        }
        Nearest::Root => {
            let stands = who_stands(limit.at == Where::Root);
            ("root", format!("{stands} at the root, and none on the operation, its path or its tags"))
        }
    }
}

fn who_stands(reference: Option<Place>, here: bool) -> &'static str {
    match (reference, here) {
        (Some(_), _) => "a `$ref` to it stands",
        (None, true) => "it stands",
        // The first limit of a name is the one that is kept.
        (None, false) => "it is shared, and stands here too:",
    }
}
