//! Which headers a gateway passes on: plain names, and those that the policy reads. The filter itself is `tollgate-http`'s.

use std::collections::BTreeMap;

use http::HeaderName;

use crate::compile::inherit::Operation;
use crate::compile::load::ParsedDocuments;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::model::{Cost, CostFrom, HeaderNames, Identity, KeyPlace, LimitUse, PolicyLimit, TierFrom};
use tollgate_http::header::{is_origin, is_plain};
use tollgate_http::header_filter::{HeaderFilter, is_alike};

/// What reads headers, besides the settings.
pub(crate) struct HeaderReaders<'a> {
    pub(crate) limits: &'a [PolicyLimit],
    pub(crate) operations: &'a [Operation],
    /// The limits of requests that match no operation.
    pub(crate) root: &'a [LimitUse],
}

/// Decides which headers go on. A name that is read goes on by exactly that name, with a warning; where that would let a
/// client say one thing to the limits and another to the upstream, it is an error. `documents` is where API keys stand
/// according to the root of the documents.
pub(crate) fn check(
    (read, documents): (&ParsedDocuments, &[KeyPlace]),
    readers: &HeaderReaders<'_>,
    findings: &mut Findings,
) -> HeaderFilter {
    if read.settings.header_names == HeaderNames::Any {
        return HeaderFilter::any();
    }
    let mut found = ReadHeaders::default();
    if let Some(place) = read.settings_at {
        in_places(&read.settings.api_key, place, &mut found);
        // Who may say these is decided by their names alone.
        for source in &read.settings.tier_from {
            if let TierFrom::Header(name) = source {
                found.trusted(name, read.settings.tier_from_at.unwrap_or(place));
            }
        }
        if let Some((name, at)) = read.settings.priorities.as_ref().and_then(|of| of.header.as_ref()) {
            found.trusted(name, *at);
        }
        if let Some(jwt) = &read.settings.jwt {
            found.trusted(&jwt.header, place);
        }
        if let Some(header) = read.settings.trusted_proxies.header() {
            found.trusted(header.name(), place);
        }
    }
    for limit in readers.limits {
        for identity in limit.identities() {
            if let Identity::Header(name) = identity {
                found.read(name, limit.place);
            }
        }
        if let Cost::Asked { from: CostFrom::Header(name), .. } = &limit.cost {
            found.read(name, limit.place);
        }
    }
    for one in readers.operations.iter().flat_map(|operation| &operation.uses).chain(readers.root) {
        if let Some(Cost::Asked { from: CostFrom::Header(name), .. }) = &one.cost {
            found.read(name, one.place);
        }
        let conditions = one.when.iter().flat_map(|when| &when.headers);
        conditions.for_each(|(name, _)| found.read(name, one.place));
    }
    for operation in readers.operations {
        operation.headers.iter().for_each(|(name, _)| found.read(name, operation.place));
        in_places(&operation.api_key, operation.place, &mut found);
    }
    let first = readers.operations.first().map(|operation| operation.place);
    if let Some(place) = read.settings_at.or(first) {
        in_places(documents, place, &mut found);
    }
    found.judge(findings)
}

/// Every header that is read, and where.
#[derive(Default)]
struct ReadHeaders {
    /// By name: where it is first read, and whether who may say it is decided by its name.
    names: BTreeMap<String, (HeaderName, Place, bool)>,
}

impl ReadHeaders {
    fn read(&mut self, name: &HeaderName, place: Place) {
        self.names.entry(name.as_str().to_owned()).or_insert_with(|| (name.clone(), place, false));
    }

    fn trusted(&mut self, name: &HeaderName, place: Place) {
        self.read(name, place);
        if let Some((_, _, trusted)) = self.names.get_mut(name.as_str()) {
            *trusted = true;
        }
    }

    fn judge(self, findings: &mut Findings) -> HeaderFilter {
        let names: Vec<_> = self.names.into_values().collect();
        let mut kept: Vec<HeaderName> = Vec::new();
        for (name, place, trusted) in &names {
            if is_plain(name) {
                continue;
            }
            let plain = |byte: char| if byte.is_ascii_alphanumeric() { byte } else { '-' };
            let renamed: String = name.as_str().chars().map(plain).collect();
            let twin = names.iter().any(|(other, ..)| other != name && is_alike(name, other));
            if *trusted || twin || is_of_the_gateway(&renamed) {
                findings.push(dropped(name, &renamed, *place));
            } else {
                findings.push(passed(name, &renamed, *place));
                kept.push(name.clone());
            }
        }
        HeaderFilter::plain_and(kept)
    }
}

fn dropped(name: &HeaderName, renamed: &str, place: Place) -> Diagnostic {
    let message = format!(
        "the gateway drops the header `{name}`: CGI, WSGI, Rack and PHP read it as `{renamed}`, under which anybody could \
         send another value"
    );
    let help = format!(
        "rename it to `{renamed}`, or pass on every header: write `header_names: any` (in an OpenAPI document, under \
         `x-tollgate`)"
    );
    Diagnostic::error("header-name", place, message).help(help)
}

fn passed(name: &HeaderName, renamed: &str, place: Place) -> Diagnostic {
    let message = format!(
        "CGI, WSGI, Rack and PHP read the header `{name}` as `{renamed}`: the gateway passes on `{name}`, and drops \
         `{renamed}` and other spellings"
    );
    let help =
        format!("nothing has to be done, unless clients also send `{renamed}`: then rename one of the two");
    Diagnostic::warning("kept-header", place, message).help(help)
}

/// Names that a gateway or a server acts on: another spelling of one must not go on.
fn is_of_the_gateway(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-original-url",
        "x-rewrite-url",
    ];
    NAMES.contains(&name)
        || name.starts_with("proxy-")
        || HeaderName::from_bytes(name.as_bytes()).is_ok_and(|name| is_origin(&name))
}

fn in_places(places: &[KeyPlace], place: Place, found: &mut ReadHeaders) {
    for one in places {
        if let KeyPlace::Header(name) = one {
            found.read(name, place);
        }
        if let KeyPlace::Together(places) = one {
            in_places(places, place, found);
        }
    }
}
