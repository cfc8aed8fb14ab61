//! Advises about keys that clients can choose: a new value gets a new quota.

use super::group_findings::{FindingKind, by_cause, finding};
use super::{Lint, can_refuse};
use crate::compile::inherit::Operation;
use crate::document::diagnostic::Diagnostic;
use crate::ids::LimitId;
use crate::model::{Identity, KeyPlace, PolicyLimit, Unmatched};
use crate::parse::settings::Settings;

/// Limits that can be evaded by another name: one finding for each kind of name, and for whether other limits hold.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let each = lint.limits().filter_map(|(id, limit)| {
        let claimed = claimed(lint, id, limit)?;
        Some(((claimed, is_held(lint, id)), limit))
    });
    by_cause(each).into_iter().filter_map(|((claimed, held), limits)| said(claimed, held, &limits)).collect()
}

/// The first part of a limit's key that a client can choose.
fn claimed<'a>(lint: &Lint<'_>, id: LimitId, limit: &'a PolicyLimit) -> Option<&'a Identity> {
    if limit.address_ceiling.is_some() {
        return None;
    }
    // Any link will do: a client leaves out what stands before it. And a link is as sure as its least sure part.
    let verified = || lint.policy.settings().jwt.is_some() && has_tokens_alone(lint, id);
    let is_sure = |identity: &Identity| *identity == Identity::ApiKey && verified();
    let mut parts = limit.key.chain.iter().flatten();
    parts.find(|identity| is_claimed(identity, lint.policy.settings()) && !is_sure(identity))
}

/// Whether bearer tokens, which are verified where the settings say how, are the only keys of a limit's operations.
fn has_tokens_alone(lint: &Lint<'_>, id: LimitId) -> bool {
    let forwards = lint.policy.settings().unmatched == Unmatched::Forward;
    if forwards && lint.policy.default_limits().contains(&id) {
        return false;
    }
    let mut places = lint.operations_of(id).flat_map(|operation| &operation.api_key);
    places.all(|place| *place == KeyPlace::Bearer)
}

fn said(claimed: &Identity, held: bool, limits: &[&PolicyLimit]) -> Option<Diagnostic> {
    let what =
        format!("counted by `{}`, which a client can choose: a new value is a new budget", spelled(claimed));
    let help = if *claimed == Identity::ApiKey {
        "name a `consumers` file that says whose keys are whose, or set `address_ceiling`, \
         a multiple of the limit for one address"
    } else {
        "take `api_key` with a `consumers` file, or a verified `jwt:` claim, or set `address_ceiling`, \
         a multiple of the limit for one address"
    };
    let kind: FindingKind = if held { Diagnostic::note } else { Diagnostic::warning };
    let (one, many) = (format!("is {what}"), format!("are {what}"));
    Some(finding(kind, "claimed-key", limits, (&one, &many))?.help(help))
}

/// What nobody verifies.
fn is_claimed(identity: &Identity, settings: &Settings) -> bool {
    match identity {
        // Where consumers are known, an unknown key is no key.
        Identity::ApiKey => settings.consumers.is_none(),
        Identity::Header(_)
        | Identity::Cookie(_)
        | Identity::Query(_)
        | Identity::Body(_)
        | Identity::JwtUnverified(_) => true,
        Identity::Address
        | Identity::Jwt(_)
        | Identity::Consumer
        | Identity::Organisation
        | Identity::Everyone => false,
    }
}

fn spelled(identity: &Identity) -> String {
    let named = |kind: &str, name: &str| format!("{kind}:{}", tollgate_http::text::shown(name));
    match identity {
        Identity::ApiKey => "api_key".into(),
        Identity::Address => "ip".into(),
        Identity::Header(name) => named("header", name.as_str()),
        Identity::Cookie(name) => named("cookie", name),
        Identity::Query(name) => named("query", name),
        Identity::Body(pointer) => named("body", pointer),
        Identity::Jwt(claim) => named("jwt", claim),
        Identity::JwtUnverified(claim) => named("jwt_unverified", claim),
        Identity::Consumer => "consumer".into(),
        Identity::Organisation => "organisation".into(),
        Identity::Everyone => "everyone".into(),
    }
}

/// Whether everything that meets the limit also meets one that no new name evades.
fn is_held(lint: &Lint<'_>, id: LimitId) -> bool {
    let held = |limits: &[LimitId]| limits.iter().filter_map(|id| lint.limit(*id)).any(holds);
    let root = lint.policy.default_limits();
    let forwards = lint.policy.settings().unmatched == Unmatched::Forward;
    let root_held = !forwards || !root.contains(&id) || held(root);
    // What applies to some requests only holds nobody who sends others.
    let always = |operation: &Operation| {
        let uses = operation.uses.iter().filter(|one| one.when.is_none());
        uses.map(|one| one.limit).collect::<Vec<_>>()
    };
    root_held && lint.operations_of(id).all(|operation: &Operation| held(&always(operation)))
}

/// Enforced, and by address or for everyone: these are always there, so they are the whole of a chain.
fn holds(limit: &PolicyLimit) -> bool {
    let sure = |identity: &Identity| matches!(identity, Identity::Address | Identity::Everyone);
    can_refuse(limit) && limit.key.chain.first().is_some_and(|link| link.iter().all(sure))
}
