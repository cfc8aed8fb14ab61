//! Every limit that applies to a request, with the numbers in force and the reason.

use tollgate_algorithms::{Micros, Mode};
use tollgate_policy::model::{Cost, Level, LimitLocation, LimitUse, PolicyLimit, ZeroStatus};
use tollgate_policy::numbers::Numbers;
use tollgate_policy::{
    Charge, ConsumerIndex, Facts, FileId, Hits, InheritedFrom, Operation, Place, Policy, RequestMatch,
    VariantKind, key,
};

use super::key_trace::looked;
use super::reference;

/// A limit that a request meets.
#[derive(Debug)]
pub(super) struct MatchedLimit {
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
    /// How long a request waits for its turn, if it does.
    pub(super) wait: Option<Micros>,
    /// Whether no gap of a queue may be shorter than its interval.
    pub(super) strict: bool,
    pub(super) visible: bool,
    pub(super) zero_status: ZeroStatus,
    pub(super) owner: Option<String>,
    pub(super) reviewers: Vec<String>,
    pub(super) description: Option<String>,
    /// What is charged for it.
    pub(super) charges: Vec<ChargedKey>,
    /// For whom it is unlimited, if nothing is charged.
    pub(super) unlimited_for: Option<String>,
}

/// One budget that is charged.
#[derive(Debug)]
pub(super) struct ChargedKey {
    pub(super) budget: VariantKind,
    pub(super) numbers: Numbers,
    /// Whose numbers these are, if they are not everybody's.
    pub(super) numbers_of: Option<String>,
    /// The parts of the key, as they may be shown.
    pub(super) key: Vec<String>,
    /// Where it was looked for, if there is something to say.
    pub(super) key_from: Option<String>,
    /// In whose line it waits, if lines take turns.
    pub(super) line: Option<Vec<String>>,
    pub(super) cost: u64,
    /// Where the cost comes from, if it is not always the same.
    pub(super) cost_from: Option<String>,
}

/// A request, and all that was asked of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExplainCase<'a> {
    pub(super) policy: &'a Policy,
    pub(super) facts: &'a Facts<'a>,
    pub(super) matched: RequestMatch,
    pub(super) hits: &'a Hits,
    pub(super) directory: Option<&'a ConsumerIndex>,
}

/// A limit that would have met a request, had none stood nearer.
#[derive(Debug)]
pub(super) struct OverriddenLimit {
    pub(super) name: String,
    /// In one word, for programs: `path`, `tag` or `root`.
    pub(super) level: &'static str,
    pub(super) at: String,
}

/// The limits on the path and the tags of an operation and at the root that do not meet it.
///
/// Only those in the operation's own file: another document's root was never one of its own.
pub(super) fn farther(policy: &Policy, operation: &Operation) -> Vec<OverriddenLimit> {
    let limits = policy.limits().iter().enumerate();
    let others = limits.filter(|(at, limit)| {
        !operation.limits.iter().any(|id| id.index() == *at) && is_in(limit, operation.place.file)
    });
    let found = others.filter_map(|(_, limit)| {
        let level = match &limit.at {
            LimitLocation::Path(path) if *path == operation.written => "path",
            LimitLocation::Tag(tag) if operation.tags.contains(tag) => "tag",
            LimitLocation::Root => "root",
            LimitLocation::Path(_)
            | LimitLocation::Tag(_)
            | LimitLocation::Operation(_)
            | LimitLocation::Named(_) => return None,
        };
        let at = policy.sources().locate(limit.place);
        Some(OverriddenLimit { name: limit.name.clone(), level, at })
    });
    let mut found: Vec<_> = found.collect();
    // The nearer ones first.
    found.sort_by_key(|farther| ["path", "tag", "root"].iter().position(|level| *level == farther.level));
    found
}

/// The limits of a request, in the policy's order.
pub(super) fn met(case: &ExplainCase<'_>) -> Vec<MatchedLimit> {
    let ExplainCase { policy, matched, hits, .. } = *case;
    let operation = match matched {
        RequestMatch::Operation(id) | RequestMatch::Loosely(id) => policy.operation(id),
        RequestMatch::Preflight | RequestMatch::Forwarded | RequestMatch::Unmatched { .. } => None,
    };
    let limits = policy.applied(case.facts, matched);
    let limits = limits.filter_map(|(_, at)| Some((at, policy.limits().get(at.limit.index())?)));
    let with_charges = limits.map(|(used, limit)| {
        let id = used.limit;
        let charges = hits.charges().iter().chain(hits.held()).filter(|charge| charge.limit == id);
        let charges = charges.filter_map(|charge| charged(charge, limit, case));
        let charges: Vec<_> = charges.collect();
        let reference = operation.and_then(|operation| reference::of(limit, operation, policy));
        let (level, nearest) = why(used, limit, (reference, operation), policy);
        MatchedLimit {
            name: limit.name.clone(),
            at: policy.sources().locate(limit.place),
            reference: reference.map(|place| policy.sources().locate(place)),
            level,
            nearest,
            algorithm: limit.algorithm.name(),
            mode: limit.mode,
            wait: limit.wait,
            strict: limit.strict,
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

fn charged(charge: &Charge, limit: &PolicyLimit, case: &ExplainCase<'_>) -> Option<ChargedKey> {
    let ExplainCase { policy, hits, directory, .. } = *case;
    let numbers = *policy.numbers(charge.variant, directory)?;
    let numbers_of = match policy.variants().get(charge.variant.index()) {
        Some(variant) => variant.tier.as_ref().map(|tier| format!("the tier {tier}")),
        None => Some("this consumer alone".into()),
    };
    let parts: Vec<_> = key::parts(hits.key(charge))?.collect();
    let key = parts.iter().map(ToString::to_string).collect();
    // Budgets besides are the address's, whoever is asking.
    let key_from = (charge.budget == VariantKind::Own).then(|| looked(limit, &parts, case)).flatten();
    let cost_from = match policy.cost_of(hits, charge)? {
        Cost::Fixed(_) => None,
        Cost::Asked { max, .. } => Some(format!("what the request says, at most {max}")),
        Cost::Reported { header, max, .. } => {
            Some(format!("an estimate; afterwards what the response says in {header}, at most {max}"))
        }
        Cost::Operations { max, .. } => Some(format!(
            "the operations in the body, at most {max}; a body that is not given counts as the most"
        )),
    };
    let line = hits.member(charge).and_then(key::parts);
    let line = line.map(|parts| parts.map(|part| part.to_string()).collect());
    let (budget, cost) = (charge.budget, charge.cost);
    Some(ChargedKey { budget, numbers, numbers_of, key, key_from, line, cost, cost_from })
}

/// Who is not limited by a limit: a tier, or else a consumer by an override.
fn unlimited_for(limit: &PolicyLimit, tier: Option<&str>) -> String {
    match tier {
        Some(tier) if *limit.for_tier(Some(tier)) == Numbers::Unlimited => format!("the tier {tier}"),
        _ => "this consumer alone".into(),
    }
}

impl MatchedLimit {
    /// In one word, for programs: `enforced` or `shadow`.
    pub(super) const fn mode_word(&self) -> &'static str {
        match self.mode {
            Mode::Enforced => "enforced",
            Mode::Shadow => "shadow",
        }
    }
}

/// Whether a limit, or a `$ref` to it, stands in a file.
fn is_in(limit: &PolicyLimit, file: FileId) -> bool {
    limit.place.file == file || limit.references.iter().any(|reference| reference.file == file)
}

/// Why a limit applies: the level in one word, and a sentence. Several operations may share a limit by its name or by a
/// `$ref`, so that it may be written elsewhere.
fn why(
    used: &LimitUse,
    limit: &PolicyLimit,
    (reference, operation): (Option<Place>, Option<&Operation>),
    policy: &Policy,
) -> (&'static str, String) {
    let nearest = operation.map(|operation| operation.nearest);
    let path = operation.map_or("", |operation| operation.written.as_str());
    let (word, place, plain, here) = match used.level {
        Level::Operation => {
            let here = matches!(&limit.at, LimitLocation::Operation(name) if name.ends_with(path));
            ("operation", "on the operation itself".to_owned(), InheritedFrom::Operation, here)
        }
        Level::Path => {
            let here = matches!(&limit.at, LimitLocation::Path(at) if at == path);
            ("path", format!("on the path {path}"), InheritedFrom::Path, here)
        }
        Level::Tag(at) => {
            let tag = operation.and_then(|operation| operation.tags.get(at)).map_or("", String::as_str);
            let here = matches!(&limit.at, LimitLocation::Tag(at) if at == tag);
            ("tag", format!("on the tag {tag}"), InheritedFrom::Tag, here)
        }
        Level::Root => ("root", "at the root".into(), InheritedFrom::Root, limit.at == LimitLocation::Root),
    };
    let stands = match (&limit.at, reference) {
        (LimitLocation::Named(_), _) => {
            format!("it is named at {}, {place}", policy.sources().locate(used.place))
        }
        (_, Some(_)) => format!("a `$ref` refers to it {place}"),
        (_, None) if here => format!("it stands {place}"),
        // The first limit of a name is the one that is kept.
        (_, None) => format!("it is shared, and also used here: {place}"),
    };
    let why = match (operation, nearest == Some(plain)) {
        (None, _) => ", and no operation is met",
        (Some(_), false) => ", and a nearer list inherits it",
        (Some(_), true) => match used.level {
            Level::Operation => "",
            Level::Path => ", and none on the operation",
            Level::Tag(_) => ", and none on the operation or its path",
            Level::Root => ", and none on the operation, its path or its tags",
        },
    };
    (word, format!("{stands}{why}"))
}
