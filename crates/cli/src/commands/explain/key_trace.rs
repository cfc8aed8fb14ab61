//! Describes where a limit looked for the client's identity, and what it found.

use http::HeaderName;
use http::header::AUTHORIZATION;
use tollgate_http::authorization::{self, Scheme};
use tollgate_http::found::Lookup;
use tollgate_http::text::shown;
use tollgate_http::{cookie, header, query};
use tollgate_policy::RequestMatch;
use tollgate_policy::key::{Kind, Part};
use tollgate_policy::model::{Identity, KeyPlace, MissingKeyRule, PolicyLimit};

use super::limits::ExplainCase;

/// What was found of one identity.
enum IdentityLookup {
    /// It is the key, or a part of it; from where, if there is something to say.
    There(Option<String>),
    /// Why it is not.
    Not(String),
}

/// Where the key comes from: the places that were looked at, in their order.
pub(super) fn looked(limit: &PolicyLimit, key: &[Part<'_>], case: &ExplainCase<'_>) -> Option<String> {
    let mut missing: Vec<String> = Vec::new();
    for link in &limit.key.chain {
        let looks: Vec<_> = link.iter().map(|identity| look(identity, key, case)).collect();
        let mut not = looks.iter().filter_map(|look| match look {
            IdentityLookup::Not(why) => Some(why.clone()),
            IdentityLookup::There(_) => None,
        });
        if let Some(why) = not.next() {
            if !missing.contains(&why) {
                missing.push(why);
            }
            continue;
        }
        let from = looks.into_iter().filter_map(|look| match look {
            IdentityLookup::There(from) => from,
            IdentityLookup::Not(_) => None,
        });
        let from: Vec<_> = from.collect();
        let so = link.iter().map(word).collect::<Vec<_>>().join(" and ");
        return match (missing.is_empty(), from.is_empty()) {
            (true, true) => None,
            (true, false) => Some(format!("from {}", from.join(" and "))),
            (false, _) => Some(format!("{}, so {so}", missing.join(", and "))),
        };
    }
    let so = match limit.key.missing {
        MissingKeyRule::Address => "the address",
        MissingKeyRule::Anonymous => "one shared quota for all clients without a key",
        // Then there is no key.
        MissingKeyRule::Reject => return None,
    };
    Some(format!("{}, so {so}", missing.join(", and ")))
}

/// Every place where a limit looks for who is asking, and what is there.
pub(super) fn places_of(limit: &PolicyLimit, case: &ExplainCase<'_>) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut tell = |text: String| {
        if !told.contains(&text) {
            told.push(text);
        }
    };
    for identity in limit.key.chain.iter().flatten() {
        match identity {
            Identity::ApiKey | Identity::Consumer | Identity::Organisation => {
                let places = places(case);
                if places.is_empty() {
                    tell("there is no API key that is known".into());
                }
                places.iter().for_each(|place| tell(there(place, case)));
            }
            Identity::Header(name) => tell(there(&KeyPlace::Header(name.clone()), case)),
            Identity::Cookie(name) => tell(there(&KeyPlace::Cookie(name.clone()), case)),
            Identity::Query(name) => tell(there(&KeyPlace::Query(name.clone()), case)),
            Identity::Jwt(claim) | Identity::JwtUnverified(claim) => {
                if let IdentityLookup::Not(why) = token(claim, false, case) {
                    tell(why);
                }
            }
            Identity::Body(pointer) => {
                tell(format!("`{pointer}` of the body: it is not there, or cannot be read"))
            }
            Identity::Address | Identity::Everyone => {}
        }
    }
    told
}

/// What is in a place, and for a key that is there and did not count, why.
fn there(place: &KeyPlace, case: &ExplainCase<'_>) -> String {
    match found(place, case) {
        State::Missing => format!("{}: it is not there", name(place)),
        State::Unclear => format!("{}: it is there twice, or cannot be read", name(place)),
        State::One if case.directory.is_some() => {
            format!("{}: it is there; only a key of the consumers file counts", name(place))
        }
        State::One => format!("{}: it is there", name(place)),
    }
}

fn word(identity: &Identity) -> &'static str {
    match identity {
        Identity::ApiKey => "the API key",
        Identity::Address => "the address",
        Identity::Header(_) => "the header",
        Identity::Cookie(_) => "the cookie",
        Identity::Query(_) => "the query",
        Identity::Body(_) => "the body",
        Identity::Jwt(_) | Identity::JwtUnverified(_) => "the token",
        Identity::Consumer => "the consumer",
        Identity::Organisation => "the organisation",
        Identity::Everyone => "everyone together",
    }
}

fn look(identity: &Identity, key: &[Part<'_>], case: &ExplainCase<'_>) -> IdentityLookup {
    let has = |kind: Kind<'_>| key.iter().any(|part| part.kind == kind);
    match identity {
        Identity::Address | Identity::Everyone => IdentityLookup::There(None),
        Identity::ApiKey => {
            api_key(has(Kind::ApiKey) || has(Kind::Consumer) || has(Kind::JwtClaim("sub")), case)
        }
        Identity::Consumer => api_key(has(Kind::Consumer), case),
        Identity::Organisation => api_key(has(Kind::Organisation), case),
        Identity::Header(name) => in_place(&KeyPlace::Header(name.clone()), case),
        Identity::Cookie(name) => in_place(&KeyPlace::Cookie(name.clone()), case),
        Identity::Query(name) => in_place(&KeyPlace::Query(name.clone()), case),
        Identity::Body(pointer) if has(Kind::Body(pointer)) => IdentityLookup::There(None),
        Identity::Body(pointer) => {
            IdentityLookup::Not(format!("there is no `{}` in the body, or it cannot be read", shown(pointer)))
        }
        Identity::Jwt(claim) => token(claim, has(Kind::JwtClaim(claim)), case),
        Identity::JwtUnverified(claim) => token(claim, has(Kind::JwtClaimUnverified(claim)), case),
    }
}

/// An API key may stand in several places, and be nobody's.
fn api_key(taken: bool, case: &ExplainCase<'_>) -> IdentityLookup {
    let places = places(case);
    let mut sent = places.iter().filter(|place| !matches!(found(place, case), State::Missing));
    let there = sent.next();
    if let (Some(first), Some(second), true, true) = (there, sent.next(), taken, case.directory.is_some()) {
        let both = format!("the {} or {}", name(first), name(second));
        return IdentityLookup::There(Some(format!(
            "{both}, whichever is in the consumers file, else the first"
        )));
    }
    match (there, taken) {
        (Some(place), true) => IdentityLookup::There(Some(format!("the {}", name(place)))),
        (None, true) => IdentityLookup::There(None),
        (Some(place), false) => match found(place, case) {
            State::One if *place == KeyPlace::Bearer && case.policy.settings().jwt.is_some() => {
                IdentityLookup::Not(format!("the {} is not valid, or does not say `sub`", name(place)))
            }
            State::One if case.directory.is_some() => IdentityLookup::Not(format!(
                "the key in the {} belongs to no consumer of the consumers file",
                name(place)
            )),
            State::One => {
                IdentityLookup::Not(format!("no consumers file says whose the key in the {} is", name(place)))
            }
            State::Unclear | State::Missing => {
                IdentityLookup::Not(format!("{} is there twice, or cannot be read", name(place)))
            }
        },
        (None, false) => match places.as_slice() {
            [] => IdentityLookup::Not("there is no API key that is known".into()),
            [one] => IdentityLookup::Not(format!("{} is not there", name(one))),
            several => {
                let names: Vec<_> = several.iter().map(name).collect();
                IdentityLookup::Not(format!("{} are not there", names.join(" and ")))
            }
        },
    }
}

/// Where API keys stand: the policy keeps it with its operations. Of what meets none, only what the settings say is known.
fn places(case: &ExplainCase<'_>) -> Vec<KeyPlace> {
    let operation = match case.matched {
        RequestMatch::Operation(id) | RequestMatch::Loosely(id) => case.policy.operations().get(id.index()),
        RequestMatch::Preflight | RequestMatch::Forwarded | RequestMatch::Unmatched { .. } => None,
    };
    operation.map_or_else(|| case.policy.settings().api_key.clone(), |operation| operation.api_key.clone())
}

enum State {
    Missing,
    One,
    Unclear,
}

fn found(place: &KeyPlace, case: &ExplainCase<'_>) -> State {
    let mut room = Vec::new();
    let found = match place {
        KeyPlace::Header(name) if *name == AUTHORIZATION => {
            return credentials(Scheme::Any, case);
        }
        KeyPlace::Bearer => match &case.policy.settings().jwt {
            Some(jwt) if jwt.header != AUTHORIZATION => header::find(case.facts.headers, &jwt.header),
            _ => return credentials(Scheme::Bearer, case),
        },
        KeyPlace::Basic => return credentials(Scheme::Basic, case),
        KeyPlace::Header(name) => header::find(case.facts.headers, name),
        KeyPlace::Cookie(name) => cookie::find(case.facts.headers, name),
        KeyPlace::Query(name) => {
            let semicolons = case.policy.settings().query_semicolons;
            query::find_as(semicolons, case.facts.query.unwrap_or(""), name, &mut room)
        }
        KeyPlace::Together(places) => {
            // The first that is not there once decides, as it does for the policy.
            let mut states = places.iter().map(|place| found(place, case));
            return states.find(|state| !matches!(state, State::One)).unwrap_or(State::One);
        }
    };
    state(&found)
}

fn credentials(scheme: Scheme, case: &ExplainCase<'_>) -> State {
    match authorization::find(case.facts.headers, scheme, &mut Vec::new()) {
        Ok(_) => State::One,
        Err(found) => state(&found),
    }
}

fn state(found: &Lookup<'_>) -> State {
    match found {
        Lookup::Missing | Lookup::Empty => State::Missing,
        Lookup::One(_) => State::One,
        Lookup::Repeated | Lookup::Malformed => State::Unclear,
    }
}

fn in_place(place: &KeyPlace, case: &ExplainCase<'_>) -> IdentityLookup {
    match found(place, case) {
        // The key itself says which header it is.
        State::One => IdentityLookup::There(None),
        State::Missing => IdentityLookup::Not(format!("{} is not there", name(place))),
        State::Unclear => IdentityLookup::Not(format!("{} is there twice, or cannot be read", name(place))),
    }
}

fn token(claim: &str, taken: bool, case: &ExplainCase<'_>) -> IdentityLookup {
    let jwt = case.policy.settings().jwt.as_ref().filter(|jwt| jwt.header != AUTHORIZATION);
    let sent = jwt.map_or_else(
        || header::bearer(case.facts.headers),
        |jwt| header::find(case.facts.headers, &jwt.header),
    );
    let place = jwt.map_or_else(|| "header Authorization".into(), |jwt| titled(&jwt.header));
    match (taken, sent) {
        (true, _) => IdentityLookup::There(Some(format!("the token in the {place}"))),
        (false, Lookup::Missing | Lookup::Empty) => {
            IdentityLookup::Not(format!("there is no token in the {place}"))
        }
        (false, Lookup::One(_)) => IdentityLookup::Not(format!(
            "the token in the {place} is not valid, or does not say `{}`",
            shown(claim)
        )),
        (false, Lookup::Repeated | Lookup::Malformed) => {
            IdentityLookup::Not(format!("the token in the {place} is there twice, or cannot be read"))
        }
    }
}

fn name(place: &KeyPlace) -> String {
    match place {
        KeyPlace::Header(name) => titled(name),
        KeyPlace::Query(name) => format!("query parameter {}", shown(name)),
        KeyPlace::Cookie(name) => format!("cookie {}", shown(name)),
        KeyPlace::Bearer => "bearer token".into(),
        KeyPlace::Basic => "user name of Basic authentication".into(),
        KeyPlace::Together(places) => places.iter().map(name).collect::<Vec<_>>().join(" with "),
    }
}

/// `header X-Key`: names of headers are kept in small letters, and people write them otherwise.
fn titled(name: &HeaderName) -> String {
    let mut text = String::from("header ");
    let mut first = true;
    for char in name.as_str().chars() {
        text.push(if first { char.to_ascii_uppercase() } else { char });
        first = char == '-';
    }
    text
}

#[test]
fn headers_are_written_as_people_write_them() {
    assert_eq!(titled(&HeaderName::from_static("x-key")), "header X-Key");
}
