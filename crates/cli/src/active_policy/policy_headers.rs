//! The headers that a policy reads, which trailers must not repeat.

use http::HeaderName;
use http::header::AUTHORIZATION;
use tollgate_policy::Policy;
use tollgate_policy::model::{Cost, CostFrom, Identity, KeyPlace, LimitUse, TierFrom};

use crate::doors::gateway::sanitize;

/// Where an API key stands when nothing is said.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Every header by which a request says who asks, for what or for how much.
pub(super) fn headers_read(policy: &Policy) -> Vec<HeaderName> {
    let settings = policy.settings();
    let mut names = vec![AUTHORIZATION, X_API_KEY];
    names.extend(sanitize::own_header(&settings.trusted_proxies).cloned());
    names.extend(settings.jwt.iter().map(|jwt| jwt.header.clone()));
    for source in &settings.tier_from {
        if let TierFrom::Header(name) = source {
            names.push(name.clone());
        }
    }
    names.extend(sanitize::priority_header(settings).cloned());
    in_places(&settings.api_key, &mut names);
    for operation in policy.operations() {
        in_places(&operation.api_key, &mut names);
        names.extend(operation.headers.iter().map(|(name, _)| name.clone()));
        in_conditions(&operation.uses, &mut names);
    }
    in_conditions(policy.default_uses(), &mut names);
    for (_, cost) in policy.costs() {
        if let Cost::Asked { from: CostFrom::Header(name), .. } = cost {
            names.push(name.clone());
        }
    }
    for limit in policy.limits() {
        for identity in limit.identities() {
            if let Identity::Header(name) = identity {
                names.push(name.clone());
            }
        }
    }
    names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    names.dedup();
    names
}

fn in_conditions(uses: &[LimitUse], names: &mut Vec<HeaderName>) {
    let conditions = uses.iter().filter_map(|one| one.when.as_ref());
    names.extend(conditions.flat_map(|when| &when.headers).map(|(name, _)| name.clone()));
}

fn in_places(places: &[KeyPlace], names: &mut Vec<HeaderName>) {
    for place in places {
        match place {
            KeyPlace::Header(name) => names.push(name.clone()),
            KeyPlace::Together(places) => in_places(places, names),
            // `Authorization`, and the header of tokens, are read in any case.
            KeyPlace::Query(_) | KeyPlace::Cookie(_) | KeyPlace::Bearer | KeyPlace::Basic => {}
        }
    }
}
