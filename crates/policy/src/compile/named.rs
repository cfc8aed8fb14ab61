//! Named limits across documents: which are used, which name means which, and names that mean nothing.

use std::collections::HashSet;

use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::document::suggest;
use crate::ids::DraftLimitId;
use crate::model::LimitLocation;
use crate::parse::limit_use::LimitReference;
use crate::parse::parsed_document::{LimitEntry, LimitsAt, ParsedDocument};

/// The limit that a name means in a document: its own, or that of the file that names the document.
pub(crate) fn find(drafts: &[ParsedDocument], index: usize, name: &str) -> Option<(usize, DraftLimitId)> {
    let own = drafts.get(index)?.defined(name).map(|id| (index, id));
    own.or_else(|| Some((0, drafts.first()?.defined(name)?)))
}

/// The named limits that are used. Points at names that no limit has, and at limits that nothing uses.
pub(crate) fn used(drafts: &[ParsedDocument], findings: &mut Findings) -> HashSet<(usize, DraftLimitId)> {
    let mut used = HashSet::new();
    let mut told: HashSet<Place> = HashSet::new();
    for (index, draft) in drafts.iter().enumerate() {
        for (name, place) in draft.places().flat_map(names) {
            match find(drafts, index, name) {
                Some(found) => {
                    used.insert(found);
                }
                // What is wrong with a limit of this name has been said.
                None if is_misread(drafts, index, name) => {}
                None if told.insert(place) => findings.push(unknown(drafts, index, (name, place))),
                None => {}
            }
        }
    }
    for (index, draft) in drafts.iter().enumerate() {
        for (id, limit) in DraftLimitId::number(&draft.limits) {
            if matches!(limit.at, LimitLocation::Named(_)) && !used.contains(&(index, id)) {
                let name = tollgate_http::text::shown(&limit.name);
                let message = format!("no operation uses the limit `{name}`");
                let help = format!("write `use: {name}` where it should apply, or remove it");
                findings.push(Diagnostic::warning("unused-limit", limit.place, message).help(help));
            }
        }
    }
    used
}

/// Every name that a place uses.
fn names(at: &LimitsAt) -> impl Iterator<Item = (&str, Place)> {
    let entries = match at {
        LimitsAt::Off(_) => &[][..],
        LimitsAt::These(entries) => entries,
    };
    entries.iter().filter_map(|entry| match entry {
        LimitEntry::Use(LimitReference::Named { name, place, .. }) => Some((name.as_str(), *place)),
        LimitEntry::Use(LimitReference::Inherited(_)) | LimitEntry::Own(..) => None,
    })
}

fn known(drafts: &[ParsedDocument], index: usize) -> impl Iterator<Item = &ParsedDocument> {
    let own = drafts.get(index);
    own.into_iter().chain(drafts.first().filter(|_| index > 0))
}

fn is_misread(drafts: &[ParsedDocument], index: usize, name: &str) -> bool {
    known(drafts, index).any(|draft| draft.misread.contains(name))
}

fn unknown(drafts: &[ParsedDocument], index: usize, (name, place): (&str, Place)) -> Diagnostic {
    let mut names: Vec<_> = known(drafts, index).flat_map(ParsedDocument::defined_names).collect();
    names.sort_unstable();
    let shown = tollgate_http::text::shown(name);
    let finding = Diagnostic::error("unknown-limit", place, format!("no limit is named `{shown}`"));
    // A name that an inline limit has is not for others to use.
    let inline = known(drafts, index)
        .flat_map(|draft| &draft.limits)
        .find(|limit| limit.named && limit.name == name && !matches!(limit.at, LimitLocation::Named(_)));
    if let Some(inline) = inline {
        let help = "move that limit to `limits` (in an OpenAPI document, of `x-tollgate`), and use it in both places";
        return finding.also(inline.place, "this limit has the name, and applies only here").help(help);
    }
    let meant = names.iter().copied().chain(["inherited"]);
    finding.help(suggest::did_you_mean(name, meant).unwrap_or_else(|| {
        if names.is_empty() {
            "define it under `limits` (in an OpenAPI document, of `x-tollgate`)".into()
        } else {
            format!("the names under `limits` are {}", names.join(", "))
        }
    }))
}
