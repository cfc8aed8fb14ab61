//! Which headers a policy reads of a request, and so nobody may say anew behind its body. What they mean is the policy's.

use http::HeaderName;
use http::header::AUTHORIZATION;
use tollgate_policy::Policy;
use tollgate_policy::model::{Cost, CostFrom, Identity, KeyPlace, TierFrom};

use crate::doors::gateway::sanitize;

/// Where an API key stands when nothing is said.
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Every header by which a request says who asks, for what or for how much.
pub(super) fn headers_read(policy: &Policy) -> Vec<HeaderName> {
    let settings = policy.settings();
    let mut names = vec![AUTHORIZATION, X_API_KEY];
    names.extend(sanitize::own_header(&settings.trusted_proxies).cloned());
    names.extend(settings.jwt.iter().map(|jwt| jwt.header.clone()));
    if let Some(TierFrom::Header(name)) = &settings.tier_from {
        names.push(name.clone());
    }
    in_places(&settings.api_key, &mut names);
    for operation in policy.operations() {
        in_places(&operation.api_key, &mut names);
        names.extend(operation.headers.iter().map(|(name, _)| name.clone()));
    }
    for (_, cost) in policy.costs() {
        if let Cost::Asked { from: CostFrom::Header(name), .. } = cost {
            names.push(name.clone());
        }
    }
    for limit in policy.limits() {
        for identity in limit.key.chain.iter().flatten() {
            if let Identity::Header(name) = identity {
                names.push(name.clone());
            }
        }
    }
    names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    names.dedup();
    names
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
