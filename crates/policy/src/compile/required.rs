//! Required limits: limits of the platform's file that the documents it names must neither switch off nor loosen.

use std::collections::{HashMap, HashSet};

use crate::authoring::diff::strictness::{cheaper_than, looser_than};
use crate::compile::inherit::InheritedFrom;
use crate::compile::merge::MergedLimits;
use crate::compile::named;
use crate::compile::uses::cost_of;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::ids::LimitId;
use crate::model::{Cost, LimitUse, PolicyLimit};
use crate::parse::limit_use::LimitReference;
use crate::parse::parsed_document::{LimitEntry, LimitsAt, Operation, ParsedDocument};

/// A limit that is required, and what it costs at the least.
#[derive(Clone, Debug)]
struct RequiredLimit {
    limit: LimitId,
    cost: Cost,
    /// Where the cost is written, if that is not the limit itself.
    cost_at: Option<Place>,
}

/// The required limits of the platform's file: at its root, and on its tags.
#[derive(Debug, Default)]
pub(crate) struct Requirements {
    root: Vec<RequiredLimit>,
    tags: HashMap<String, Vec<RequiredLimit>>,
    /// What has been said: the place that loosens a limit, and the limit.
    told: HashSet<(Place, LimitId)>,
}

impl Requirements {
    /// Finds them. Points at `required` where it has no effect.
    pub(crate) fn find(drafts: &[ParsedDocument], merged: &MergedLimits, findings: &mut Findings) -> Self {
        let mut found = Self::default();
        if let Some(platform) = drafts.first().filter(|_| drafts.len() > 1) {
            found.root = required(drafts, merged, platform.root.as_ref());
            for tag in platform.tags() {
                let list = required(drafts, merged, tag.limits.as_ref());
                if !list.is_empty() {
                    found.tags.insert(tag.name.clone(), list);
                }
            }
        }
        for (id, limit) in LimitId::number(&merged.limits) {
            let known = || found.root.iter().chain(found.tags.values().flatten()).any(|one| one.limit == id);
            if let Some(place) = limit.required.filter(|_| !known()) {
                let message = "`required` has no effect here";
                let help = "write it in the file that names the OpenAPI documents, on a limit of its root or of a tag";
                findings.push(Diagnostic::error("no-effect", place, message).help(help));
            }
        }
        found
    }

    /// Points at what loosens a required limit for an operation of a document.
    pub(crate) fn check(
        &mut self,
        operation: &Operation,
        (uses, nearest): (&[LimitUse], InheritedFrom),
        merged: &MergedLimits,
    ) -> Vec<Diagnostic> {
        if self.root.is_empty() && self.tags.is_empty() {
            return Vec::new();
        }
        let of_tags = operation.tags.iter().filter_map(|(tag, _)| self.tags.get(tag)).flatten();
        let mut found = Vec::new();
        for one in with_greatest_cost(of_tags, &self.root) {
            let Some(limit) = merged.limits.get(one.limit.index()) else { continue };
            let finding = judge((limit, one), (uses, nearest), merged, operation.place);
            if let Some(finding) = finding.filter(|finding| self.told.insert((finding.place, one.limit))) {
                found.push(finding.also(limit.place, "the limit is required here"));
            }
        }
        found
    }
}

/// The required limits of an operation, each once: at the greatest cost of its tags, or, if these do not name it, at the root's.
fn with_greatest_cost<'a>(
    of_tags: impl Iterator<Item = &'a RequiredLimit>,
    root: &'a [RequiredLimit],
) -> Vec<&'a RequiredLimit> {
    let mut all: Vec<&RequiredLimit> = Vec::new();
    for one in of_tags {
        match all.iter_mut().find(|known| known.limit == one.limit) {
            Some(known) if cheaper_than(&one.cost, &known.cost) => *known = one,
            Some(_) => {}
            None => all.push(one),
        }
    }
    let of_root = root.iter().filter(|one| !all.iter().any(|known| known.limit == one.limit));
    of_root.chain(all.iter().copied()).collect()
}

/// The required ones among the limits of a place of the platform's file. What they inherit has a place of its own.
fn required(drafts: &[ParsedDocument], merged: &MergedLimits, at: Option<&LimitsAt>) -> Vec<RequiredLimit> {
    let entries = match at {
        Some(LimitsAt::These(entries)) => entries.as_slice(),
        Some(LimitsAt::Off(_)) | None => &[],
    };
    let found = entries.iter().filter_map(|entry| {
        let (id, cost, place) = match entry {
            // What applies to some requests only cannot be asked of all.
            LimitEntry::Own(_, Some(_)) | LimitEntry::Use(LimitReference::Named { when: Some(_), .. }) => {
                return None;
            }
            LimitEntry::Own(id, None) => (merged.id(0, *id)?, None, None),
            LimitEntry::Use(LimitReference::Named { name, cost, when: None, place }) => {
                let (document, id) = named::find(drafts, 0, name)?;
                (merged.id(document, id)?, cost.clone(), Some(*place))
            }
            LimitEntry::Use(LimitReference::Inherited(_)) => return None,
        };
        let limit = merged.limits.get(id.index()).filter(|limit| limit.required.is_some())?;
        let cost_at = place.filter(|_| cost.is_some());
        Some(RequiredLimit { limit: id, cost: cost.unwrap_or_else(|| limit.cost.clone()), cost_at })
    });
    found.collect()
}

fn judge(
    (limit, required): (&PolicyLimit, &RequiredLimit),
    (uses, nearest): (&[LimitUse], InheritedFrom),
    merged: &MergedLimits,
    operation: Place,
) -> Option<Diagnostic> {
    let name = tollgate_http::text::shown(&limit.name);
    let finding = |place, message: String| Diagnostic::error("required", place, message);
    let own = || uses.iter().filter(|used| used.limit == required.limit);
    if let Some(used) = own().find(|used| cheaper_than(&required.cost, cost_of(limit, Some(used)))) {
        let message = format!("a request costs less of the required limit `{name}` here than it must");
        let mut finding = finding(used.place, message);
        if let Some(place) = required.cost_at {
            finding = finding.also(place, "the cost that is required");
        }
        return Some(finding.help(match &required.cost {
            Cost::Fixed(cost) => format!("write `cost: {cost}`, or more"),
            Cost::Asked { .. } | Cost::Reported { .. } | Cost::Operations { .. } => {
                "write the same `cost`, or a higher one".to_owned()
            }
        }));
    }
    if own().any(|used| used.when.is_none()) {
        return None;
    }
    if let InheritedFrom::Off(place) = nearest {
        let message = format!("the required limit `{name}` cannot be switched off");
        return Some(finding(place, message).help("remove it, or write a limit that is at least as strict"));
    }
    let limit = PolicyLimit { cost: required.cost.clone(), ..limit.clone() };
    // Which limit stands in place of the required one: one of the same algorithm, rather than any.
    let mut looser: Option<(bool, Place, String)> = None;
    for used in uses.iter().filter(|used| used.when.is_none()) {
        let Some(other) = merged.limits.get(used.limit.index()) else { continue };
        let other = PolicyLimit { cost: cost_of(other, Some(used)).clone(), ..other.clone() };
        let why = looser_than(&limit, &other)?;
        let alike = other.algorithm == limit.algorithm;
        if other.required.is_some() || looser.as_ref().is_some_and(|(better, _, _)| *better || !alike) {
            continue;
        }
        let shown = tollgate_http::text::shown(&other.name);
        let message = format!("`{shown}` is looser than the required limit `{name}`: {why}");
        looser = Some((alike, used.place, message));
    }
    let (place, message) = looser.map_or_else(
        || (operation, format!("the required limit `{name}` does not apply here")),
        |(_, place, message)| (place, message),
    );
    Some(
        finding(place, message)
            .help("add `use: inherited` to the list, or make a limit in it at least as strict"),
    )
}
