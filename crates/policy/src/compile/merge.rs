//! Limits of all documents as one list, in which every name stands once. Limits of one name have to be one limit.

use std::collections::HashMap;

use crate::compile::named;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::suggest;
use crate::ids::{DraftLimitId, LimitId};
use crate::model::{Identity, LimitLocation, OrganisationFrom, PolicyLimit, TierFrom};
use crate::parse::parsed_document::{ParsedDocument, Tag};
use crate::parse::settings::Settings;
use tollgate_http::trusted::TrustedProxies;

/// So many limits may a policy have. More are refused.
pub const POLICY_LIMITS_MAX: usize = 200_000;

/// The limits of all drafts, and where each went.
#[derive(Debug, Default)]
pub(crate) struct MergedLimits {
    pub(crate) limits: Vec<PolicyLimit>,
    /// For each draft, the new number of each of its limits; `None` for a named limit that nothing uses.
    moved: Vec<Vec<Option<LimitId>>>,
}

impl MergedLimits {
    /// The new number of a draft's limit.
    pub(crate) fn id(&self, draft: usize, limit: DraftLimitId) -> Option<LimitId> {
        self.moved.get(draft)?.get(limit.index()).copied().flatten()
    }
}

/// Puts the limits together.
pub(crate) fn merge(drafts: &[ParsedDocument], settings: &Settings, findings: &mut Findings) -> MergedLimits {
    let mut merged = MergedLimits::default();
    let mut names: HashMap<String, LimitId> = HashMap::new();
    let used = named::used(drafts, findings);
    for (index, draft) in drafts.iter().enumerate() {
        let mut moved = Vec::with_capacity(draft.limits.len());
        for (draft_id, limit) in DraftLimitId::number(&draft.limits) {
            if matches!(limit.at, LimitLocation::Named(_)) && !used.contains(&(index, draft_id)) {
                moved.push(None);
                continue;
            }
            let mut limit = limit.clone();
            // Limits of documents that a native file names are told apart by the document's title, whatever else there is.
            if !limit.named && index > 0 {
                limit.name = super::default_names::ascii(&format!("{}: {}", draft.title, limit.name));
            }
            inherit(&mut limit, draft);
            check(&limit, settings, findings);
            let next = LimitId::from_index(merged.limits.len());
            let id = *names.entry(limit.name.clone()).or_insert(next);
            match merged.limits.get_mut(id.index()) {
                None => merged.limits.push(limit),
                Some(first) => {
                    same(first, &limit, findings);
                    first.references.append(&mut limit.references);
                }
            }
            moved.push(Some(id));
        }
        merged.moved.push(moved);
    }
    if let Some(beyond) = merged.limits.get(POLICY_LIMITS_MAX) {
        let message = format!("the policy has more than {POLICY_LIMITS_MAX} limits");
        findings.push(Diagnostic::error("too-many", beyond.place, message));
    }
    merged
}

/// A limit on a tag that has no owner belongs to the tag's.
fn inherit(limit: &mut PolicyLimit, draft: &ParsedDocument) {
    let LimitLocation::Tag(name) = &limit.at else { return };
    let Some(Tag { owner, reviewers, .. }) = draft.tag(name) else { return };
    if limit.owner.is_none() {
        limit.owner.clone_from(owner);
    }
    if limit.reviewers.is_empty() {
        limit.reviewers.clone_from(reviewers);
    }
}

/// Two limits of one name share their keys, so they have to be the same.
fn same(first: &PolicyLimit, second: &PolicyLimit, findings: &mut Findings) {
    let mut second = second.clone();
    for (mine, first) in second.tiers.iter_mut().zip(&first.tiers) {
        mine.place = first.place;
        mine.name_at = first.name_at;
    }
    let second = &second;
    let required = if second.required.is_some() { first.required.or(second.required) } else { None };
    let alike = PolicyLimit {
        place: first.place,
        references: first.references.clone(),
        at: first.at.clone(),
        named: first.named,
        required,
        ..second.clone()
    };
    if alike == *first && first.named && second.named {
        return;
    }
    let name = tollgate_http::text::shown(&first.name);
    let message = if first.named && second.named {
        format!("two limits are named `{name}` and are not the same")
    } else {
        format!("two limits are called `{name}`")
    };
    if first.required.is_some() {
        let message =
            format!("the limit `{name}` is required, and this one of the same name is not the same");
        let finding = Diagnostic::error("required", second.place, message);
        let finding = finding.also(first.place, "the limit is required here");
        findings.push(
            finding.help("give this limit another name, or apply the required one by `use` and its name"),
        );
        return;
    }
    let cost = PolicyLimit { cost: first.cost.clone(), ..alike } == *first && first.named && second.named;
    findings.push(
        Diagnostic::error("same-name", second.place, message).also(first.place, "the other is here").help(
            if cost {
                "to charge one budget at two costs, define the limit under `limits` (in an OpenAPI document, of \
                 `x-tollgate`), and write `use` and `cost` in both places"
            } else {
                "limits of one name share their budget: give one of them another `name`"
            },
        ),
    );
}

/// What a limit needs from the settings.
fn check(limit: &PolicyLimit, settings: &Settings, findings: &mut Findings) {
    let identities = || limit.identities();
    for identity in identities() {
        let (message, help) = match identity {
            Identity::Jwt(claim) if settings.jwt.is_none() => (
                format!("`jwt:{}` cannot be verified: there are no keys", tollgate_http::text::shown(claim)),
                "add `jwt` with `jwks` to the settings, or ask for `jwt_unverified:` by name",
            ),
            Identity::JwtUnverified(claim) if !cfg!(feature = "jwt") => (
                format!(
                    "`jwt_unverified:{}` cannot be read by this build",
                    tollgate_http::text::shown(claim)
                ),
                "use another key, or enable the feature `jwt` of `tollgate-policy`",
            ),
            // Where organisations are known from is checked for itself.
            Identity::Organisation if !settings.organisation_from.is_empty() => continue,
            Identity::Organisation if settings.consumers.is_none() => (
                "nothing says whose organisation a client belongs to".to_owned(),
                "add `consumers` to the settings, or `jwt` and `organisations: { from: 'jwt:org' }`",
            ),
            Identity::Consumer if settings.consumers.is_none() => (
                "there is no consumers file, so no request has a consumer".to_owned(),
                "add `consumers` to the settings, or take `api_key`",
            ),
            Identity::ApiKey
            | Identity::Address
            | Identity::Header(_)
            | Identity::Cookie(_)
            | Identity::Query(_)
            | Identity::Body(_)
            | Identity::Jwt(_)
            | Identity::JwtUnverified(_)
            | Identity::Consumer
            | Identity::Organisation
            | Identity::Everyone => continue,
        };
        findings.push(Diagnostic::error("cannot-verify", limit.place, message).help(help));
    }
    if settings.tier_names.is_empty() {
        return;
    }
    for tier in limit.tiers.iter().filter(|tier| !settings.tier_names.contains(&tier.tier)) {
        let message = format!("there is no tier `{}`", tollgate_http::text::shown(&tier.tier));
        let names = settings.tier_names.iter().map(String::as_str);
        let help = suggest::did_you_mean(&tier.tier, names);
        let help =
            help.unwrap_or_else(|| format!("the names under `tiers` are {}", settings.tier_names.join(", ")));
        findings.push(Diagnostic::error("unknown-tier", tier.name_at, message).help(help));
    }
}

/// What the settings say of tiers and organisations and cannot be done.
pub(crate) fn check_sources(settings: &Settings, findings: &mut Findings) {
    // Proxies or keys that are wrong have been pointed at already.
    if findings.has_errors() {
        return;
    }
    let consumers = settings.consumers.is_none().then_some("a consumers file: add `consumers`");
    let keys = settings.jwt.is_none().then_some("keys: add `jwt` with `jwks`");
    let untrusted = settings.trusted_proxies == TrustedProxies::None;
    let hop = untrusted.then_some("a trusted hop, or any client could set it: add `trusted_proxies`");
    for source in &settings.tier_from {
        let missing = match source {
            TierFrom::Consumers => consumers,
            TierFrom::Jwt(_) => keys,
            TierFrom::Header(_) => hop,
        };
        if let Some((missing, place)) = missing.zip(settings.tier_from_at) {
            let message = format!("the source of tiers `{}` needs {missing}", shown(source));
            findings.push(Diagnostic::error("tiers", place, message));
        }
    }
    let priorities = settings.priorities.as_ref();
    if let Some(((name, place), missing)) = priorities.and_then(|of| of.header.as_ref()).zip(hop) {
        let message = format!("the priority in `{}` needs {missing}", shown(name));
        findings.push(Diagnostic::error("priorities", *place, message));
    }
    for (source, place) in &settings.organisation_from {
        let missing = match source {
            OrganisationFrom::Consumers => consumers,
            OrganisationFrom::Jwt(_) => keys,
        };
        if let Some(missing) = missing {
            let message = format!("the source of organisations `{}` needs {missing}", shown(source));
            findings.push(Diagnostic::error("organisations", *place, message));
        }
    }
}

fn shown(source: &impl ToString) -> String {
    tollgate_http::text::shown(&source.to_string())
}
