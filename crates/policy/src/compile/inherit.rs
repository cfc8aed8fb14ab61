//! Determines which limits apply to an operation: its own, or its path's, its tags' or the root's.

use http::HeaderName;

use crate::compile::base_path;
use crate::compile::merge::MergedLimits;
use crate::compile::required::Requirements;
use crate::compile::uses::Resolver;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::ids::LimitId;
use crate::model::{KeyPlace, LimitLocation, LimitUse, Priority, Unmatched};
use crate::parse::limit::LIMITS_MAX;
use crate::parse::parsed_document::{ParsedDocument, Tag};
use crate::parse::settings::Settings;
use tollgate_http::host::HostPattern;

/// Where an operation's limits come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InheritedFrom {
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
    /// Whether an encoded slash may stand in its path.
    pub allows_encoded_slashes: bool,
    /// How important its requests are, if it says so.
    pub priority: Option<Priority>,
    /// Its `operationId`, or the route's name.
    pub id: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Where it is written.
    pub place: Place,
    /// Where its path is written.
    pub template_at: Place,
    /// Its limits.
    pub limits: Vec<LimitId>,
    /// How each of them applies: under which condition, at what cost, and because of which place. A limit may apply in several
    /// ways under different conditions.
    pub uses: Vec<LimitUse>,
    /// Where they come from.
    pub nearest: InheritedFrom,
    /// Where an API key stands: in one of these places.
    pub api_key: Vec<KeyPlace>,
    /// Whether its security schemes ask for credentials of which none is a key, and the settings do not say where one stands.
    pub keyless: bool,
    /// What tells its budgets from those of other operations: never the base path, which may change.
    pub(crate) identity: String,
    pub(crate) native: bool,
    /// The parameters that take several segments, if the document says so of them.
    pub(crate) multi: Vec<String>,
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

/// The limits of what no operation names, and where its API key stands: by the first document that says so, if the others
/// do not say otherwise.
pub(crate) fn root(
    drafts: &[ParsedDocument],
    merged: &MergedLimits,
    settings: &Settings,
    findings: &mut Findings,
) -> (Vec<LimitUse>, Vec<KeyPlace>) {
    let own = drafts.first().and_then(|draft| draft.root.as_ref());
    let said: Vec<_> = drafts.iter().enumerate().filter(|(_, draft)| draft.root.is_some()).collect();
    if let (None, [_, (second, _), ..], Unmatched::Forward) = (own, said.as_slice(), settings.unmatched) {
        let (limits, _) = Resolver::new(drafts, merged, findings).root(*second);
        if let Some(place) = limits.first().map(|limit| limit.place) {
            let message = "several documents have a default: which of them limits what no operation names?";
            let finding = Diagnostic::error("several-defaults", place, message);
            findings.push(finding.help("write `rate_limit` in the file that names the documents"));
        }
    }
    let first = said.first().map_or(0, |(draft, _)| *draft);
    // What is wrong with it has been said, if an operation has it.
    let (limits, _) = Resolver::new(drafts, merged, findings).root(first);
    let keys = drafts.iter().find(|draft| !draft.api_key.is_empty()).map(|draft| draft.api_key.clone());
    (limits, keys.unwrap_or_default())
}

/// Every operation of every draft, with the limits that are nearest to it.
pub(crate) fn operations(
    drafts: &[ParsedDocument],
    merged: &mut MergedLimits,
    settings: &Settings,
    findings: &mut Findings,
) -> Vec<Operation> {
    base_path::check(drafts, settings, findings);
    let mut all = Vec::new();
    let mut owned: Vec<(LimitId, &Tag)> = Vec::new();
    let mut requirements = Requirements::find(drafts, merged, findings);
    let mut resolver = Resolver::new(drafts, merged, findings);
    for (index, draft) in drafts.iter().enumerate() {
        for operation in &draft.operations {
            let (uses, nearest) = resolver.operation(index, operation);
            if index > 0 {
                let loosened = requirements.check(operation, (&uses, nearest), merged);
                loosened.into_iter().for_each(|finding| resolver.report(finding));
            }
            let limits = ids(&uses);
            if uses.len() > LIMITS_MAX {
                let message =
                    format!("{} limits meet this operation, and at most {LIMITS_MAX} can", uses.len());
                resolver.report(Diagnostic::error("too-many", operation.place, message));
            }
            let mut tags = operation.tags.iter().filter_map(|(tag, _)| draft.tag(tag));
            if let Some(tag) = tags.find(|tag| tag.owner.is_some() || !tag.reviewers.is_empty()) {
                owned.extend(limits.iter().map(|limit| (*limit, tag)));
            }
            let host = operation.host.as_ref().and_then(|(text, place)| {
                HostPattern::parse(text)
                    .map_err(|why| resolver.report(Diagnostic::error("host", *place, why.to_string())))
                    .ok()
            });
            let said = if settings.api_key.is_empty() { &operation.api_key } else { &settings.api_key };
            let bases = base_path::behind_the_proxy(&operation.bases, settings);
            let base = bases.first().map_or("", String::as_str);
            all.push(Operation {
                method: operation.method.clone(),
                template: format!("{base}{}", operation.template),
                bases,
                written: operation.template.clone(),
                host,
                headers: operation.headers.clone(),
                allows_encoded_slashes: operation.allows_slashes,
                priority: operation.priority,
                id: operation.id.clone(),
                tags: operation.tags.iter().map(|(tag, _)| tag.clone()).collect(),
                place: operation.place,
                template_at: operation.template_at,
                limits,
                uses,
                nearest,
                api_key: key_places(said.clone()),
                keyless: operation.keyless && settings.api_key.is_empty(),
                identity: identity(operation),
                native: operation.native,
                multi: operation.multi.clone(),
            });
        }
    }
    for (limit, tag) in owned {
        inherit(limit, tag, merged);
    }
    all
}

/// The limits of several uses, each once.
pub(crate) fn ids(uses: &[LimitUse]) -> Vec<LimitId> {
    let mut ids: Vec<LimitId> = Vec::with_capacity(uses.len());
    for one in uses {
        if !ids.contains(&one.limit) {
            ids.push(one.limit);
        }
    }
    ids
}

/// The method and template as they are written, and what else a route asks for.
fn identity(operation: &crate::parse::parsed_document::Operation) -> String {
    let mut identity = format!("{} {}", operation.method.as_deref().unwrap_or("*"), operation.template);
    identity.push_str(&crate::parse::parsed_document::asked_for(
        operation.host.as_ref().map(|(host, _)| host.as_str()),
        &operation.headers,
    ));
    identity
}

/// A limit on an operation or a path that says nothing of its owner belongs to that of the operation's tag.
fn inherit(limit: LimitId, tag: &Tag, merged: &mut MergedLimits) {
    let Some(limit) = merged.limits.get_mut(limit.index()) else { return };
    if matches!(limit.at, LimitLocation::Operation(_) | LimitLocation::Path(_))
        && limit.owner.is_none()
        && limit.reviewers.is_empty()
    {
        limit.owner.clone_from(&tag.owner);
        limit.reviewers.clone_from(&tag.reviewers);
    }
}
