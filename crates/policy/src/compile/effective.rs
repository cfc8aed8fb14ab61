//! Which limits an operation has: the nearest that are written, its own, its path's, its tags', the root's.

use http::HeaderName;

use crate::compile::merge::Merged;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::draft::{Draft, LimitsAt, Tag};
use crate::host::HostPattern;
use crate::model::{KeyPlace, Where};
use crate::reading::limit::LIMITS_MAX;
use crate::reading::settings::Settings;

/// Where an operation's limits come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearest {
    /// They stand on the operation itself.
    Operation,
    /// On its path.
    Path,
    /// On its tags.
    Tag,
    /// At the root.
    Root,
    /// Switched off by `none` at this place.
    Off(Place),
    /// Nowhere.
    Nothing,
}

/// An operation with its limits.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The method; `None` is every method.
    pub method: Option<String>,
    /// The template, with its base path: the first, if there are several.
    pub template: String,
    /// Every base path under which it stands.
    pub bases: Vec<String>,
    /// The template as it is written.
    pub written: String,
    /// The hosts on which it stands.
    pub host: Option<HostPattern>,
    /// Headers that must be there, with their value if one is asked for.
    pub headers: Vec<(HeaderName, Option<String>)>,
    /// Its `operationId`, or the route's name.
    pub id: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Where it is written.
    pub place: Place,
    /// Where its path is written.
    pub template_at: Place,
    /// Its limits, by number.
    pub limits: Vec<u32>,
    /// Where they come from.
    pub nearest: Nearest,
    /// Where an API key stands.
    pub api_key: Vec<KeyPlace>,
    pub(crate) native: bool,
}

impl Operation {
    /// `POST /reports/generate`, or `* /x` for every method.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.method.as_deref().unwrap_or("*"), self.template)
    }
}

/// Where API keys stand when nothing is said.
pub(crate) fn key_places(said: Vec<KeyPlace>) -> Vec<KeyPlace> {
    if said.is_empty() { vec![KeyPlace::Header(HeaderName::from_static("x-api-key"))] } else { said }
}

/// Every operation of every draft, with the limits that are nearest to it.
pub(crate) fn operations(
    drafts: &[Draft],
    merged: &mut Merged,
    settings: &Settings,
    findings: &mut Findings,
) -> Vec<Operation> {
    let mut all = Vec::new();
    let mut owned: Vec<(u32, &Tag)> = Vec::new();
    for (index, draft) in drafts.iter().enumerate() {
        for operation in &draft.operations {
            let (limits, nearest) = nearest(operation, draft, (index, merged), findings);
            if limits.len() > LIMITS_MAX {
                let message =
                    format!("{} limits meet this operation, and at most {LIMITS_MAX} can", limits.len());
                findings.push(Diagnostic::error("too-many", operation.place, message));
            }
            let mut tags =
                operation.tags.iter().filter_map(|(tag, _)| draft.tags.iter().find(|of| of.name == *tag));
            if let Some(tag) = tags.find(|tag| tag.owner.is_some() || !tag.reviewers.is_empty()) {
                owned.extend(limits.iter().map(|limit| (*limit, tag)));
            }
            let host = operation.host.as_ref().and_then(|(text, place)| {
                HostPattern::parse(text)
                    .map_err(|why| findings.push(Diagnostic::error("host", *place, why.to_string())))
                    .ok()
            });
            let said = if settings.api_key.is_empty() { &operation.api_key } else { &settings.api_key };
            let base = operation.bases.first().map_or("", String::as_str);
            all.push(Operation {
                method: operation.method.clone(),
                template: format!("{base}{}", operation.template),
                bases: operation.bases.clone(),
                written: operation.template.clone(),
                host,
                headers: operation.headers.clone(),
                id: operation.id.clone(),
                tags: operation.tags.iter().map(|(tag, _)| tag.clone()).collect(),
                place: operation.place,
                template_at: operation.template_at,
                limits,
                nearest,
                api_key: key_places(said.clone()),
                native: operation.native,
            });
        }
    }
    for (limit, tag) in owned {
        inherit(limit, tag, merged);
    }
    all
}

/// A limit on an operation or a path that says nothing of its owner belongs to that of the operation's tag.
fn inherit(limit: u32, tag: &Tag, merged: &mut Merged) {
    let Some(limit) = merged.limits.get_mut(limit as usize) else { return };
    if matches!(limit.at, Where::Operation(_) | Where::Path(_))
        && limit.owner.is_none()
        && limit.reviewers.is_empty()
    {
        limit.owner.clone_from(&tag.owner);
        limit.reviewers.clone_from(&tag.reviewers);
    }
}

fn nearest(
    operation: &crate::draft::Operation,
    draft: &Draft,
    (index, merged): (usize, &Merged),
    findings: &mut Findings,
) -> (Vec<u32>, Nearest) {
    let at = |place: &LimitsAt, nearest| match place {
        LimitsAt::Off(place) => (Vec::new(), Nearest::Off(*place)),
        LimitsAt::These(_) => (merged.at(index, Some(place)).unwrap_or_default(), nearest),
    };
    if let Some(own) = &operation.own {
        return at(own, Nearest::Operation);
    }
    if let Some(path) = &operation.path {
        return at(path, Nearest::Path);
    }
    let mut limits: Vec<u32> = Vec::new();
    let (mut off, mut on): (Option<Place>, Option<Place>) = (None, None);
    for (tag, place) in &operation.tags {
        let known =
            draft.tags.iter().find(|known| known.name == *tag).and_then(|known| known.limits.as_ref());
        match known {
            Some(LimitsAt::Off(_)) => off = Some(*place),
            Some(these) => {
                on = Some(*place);
                let more = merged.at(index, Some(these)).unwrap_or_default();
                limits.extend(more.into_iter().filter(|id| !limits.contains(id)).collect::<Vec<_>>());
            }
            None => {}
        }
    }
    match (off, on) {
        (Some(off), Some(on)) => {
            let finding = Diagnostic::error(
                "tags-disagree",
                off,
                "this tag switches limits off, and another sets them",
            );
            let finding = finding.also(on, "this one sets them");
            findings.push(finding.help("write `x-rate-limit` on the operation itself to say which is meant"));
            return (limits, Nearest::Tag);
        }
        (Some(off), None) => return (Vec::new(), Nearest::Off(off)),
        (None, Some(_)) => return (limits, Nearest::Tag),
        (None, None) => {}
    }
    draft.root.as_ref().map_or((Vec::new(), Nearest::Nothing), |root| at(root, Nearest::Root))
}
