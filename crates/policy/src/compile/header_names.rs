//! Headers that a policy reads and a gateway drops because of the characters in their names. Whether it drops them is a setting.

use std::collections::BTreeSet;

use http::HeaderName;

use crate::compile::inherit::Operation;
use crate::compile::load::Read;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::model::{Cost, CostFrom, HeaderNames, Identity, KeyPlace, LimitUse, PolicyLimit, TierFrom};
use tollgate_http::header::is_plain;

/// What reads headers, besides the settings.
pub(crate) struct Readers<'a> {
    pub(crate) limits: &'a [PolicyLimit],
    pub(crate) operations: &'a [Operation],
    /// The limits of requests that match no operation.
    pub(crate) root: &'a [LimitUse],
}

/// Points at every header that is read and would never arrive, once for each name. `documents` is where API keys stand
/// according to the root of the documents.
pub(crate) fn check((read, documents): (&Read, &[KeyPlace]), readers: Readers<'_>, findings: &mut Findings) {
    if read.settings.header_names == HeaderNames::Any {
        return;
    }
    let mut told = BTreeSet::new();
    let mut point = |name: &HeaderName, place: Place| {
        if is_plain(name) || !told.insert(name.as_str().to_owned()) {
            return;
        }
        let plain = |byte: char| if byte.is_ascii_alphanumeric() { byte } else { '-' };
        let renamed: String = name.as_str().chars().map(plain).collect();
        let message = format!(
            "the gateway drops the header `{name}`: CGI, WSGI, Rack and PHP read it as `{renamed}`, under which anybody \
             could send another value"
        );
        let help = format!(
            "rename it to `{renamed}`, or pass on every header: write `header_names: any` (in an OpenAPI document, under \
             `x-tollgate`)"
        );
        findings.push(Diagnostic::error("header-name", place, message).help(help));
    };
    if let Some(place) = read.settings_at {
        in_places(&read.settings.api_key, place, &mut point);
        for source in &read.settings.tier_from {
            if let TierFrom::Header(name) = source {
                point(name, read.settings.tier_from_at.unwrap_or(place));
            }
        }
        if let Some(jwt) = &read.settings.jwt {
            point(&jwt.header, place);
        }
        if let Some(header) = read.settings.trusted_proxies.header() {
            point(header.name(), place);
        }
    }
    for limit in readers.limits {
        for identity in limit.key.chain.iter().flatten() {
            if let Identity::Header(name) = identity {
                point(name, limit.place);
            }
        }
        if let Cost::Asked { from: CostFrom::Header(name), .. } = &limit.cost {
            point(name, limit.place);
        }
    }
    for one in readers.operations.iter().flat_map(|operation| &operation.uses).chain(readers.root) {
        if let Some(Cost::Asked { from: CostFrom::Header(name), .. }) = &one.cost {
            point(name, one.place);
        }
        let conditions = one.when.iter().flat_map(|when| &when.headers);
        conditions.for_each(|(name, _)| point(name, one.place));
    }
    for operation in readers.operations {
        operation.headers.iter().for_each(|(name, _)| point(name, operation.place));
        in_places(&operation.api_key, operation.place, &mut point);
    }
    let first = readers.operations.first().map(|operation| operation.place);
    if let Some(place) = read.settings_at.or(first) {
        in_places(documents, place, &mut point);
    }
}

fn in_places(places: &[KeyPlace], place: Place, point: &mut impl FnMut(&HeaderName, Place)) {
    for one in places {
        if let KeyPlace::Header(name) = one {
            point(name, place);
        }
        if let KeyPlace::Together(places) = one {
            in_places(places, place, point);
        }
    }
}
