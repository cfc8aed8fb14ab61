//! `consumer_key`: who is asking, as it is written. Who that is in a request is found by `facts`.

use http::HeaderName;

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::suggest;
use crate::document::tree::Value;
use crate::model::{ConsumerKey, Identity, KeyPlace, MissingKeyRule, RepeatedKeyRule};
use crate::parse::context::Context;
use crate::parse::schema_fields::{MISSING, NAME_CHARS_MAX, REPEATED};

/// So many links may a chain have. A longer one is refused.
pub(crate) const CHAIN_MAX: usize = 8;
/// So many characters may a link have. A longer one is refused.
pub(crate) const CHAIN_CHARS_MAX: usize = 500;
/// So many identities may a link join. More are refused.
const TOGETHER_MAX: usize = 4;
/// Identities that are one word.
const WORDS: &[&str] = &["api_key", "ip", "consumer", "organisation", "everyone"];
/// Identities that have a name after a colon.
const NAMED: &[&str] = &["header", "cookie", "query", "jwt", "jwt_unverified", "body"];

/// Reads the three fields that say whose budget is charged.
pub(crate) fn read<'t>(map: Value<'t>, context: &mut Context<'t>) -> ConsumerKey {
    let mut key = ConsumerKey::default();
    if let Some(value) = map.get("consumer_key") {
        key.chain = chain((value, "consumer_key"), context);
    }
    if let Some(value) = map.get("missing_key") {
        key.missing = match context.word(value, "missing_key", MISSING) {
            Some("reject") => MissingKeyRule::Reject,
            Some("anonymous") => MissingKeyRule::Anonymous,
            _ => MissingKeyRule::Address,
        };
    }
    if let Some(value) = map.get("repeated_key") {
        key.repeated = match context.word(value, "repeated_key", REPEATED) {
            Some("address") => RepeatedKeyRule::Address,
            _ => RepeatedKeyRule::Reject,
        };
    }
    key
}

/// Reads whose requests wait in a line of their own.
pub(crate) fn fair_by<'t>(value: Value<'t>, context: &mut Context<'t>) -> Vec<Vec<Identity>> {
    let links = chain((value, "fair_by"), context);
    if links.iter().flatten().any(|identity| matches!(identity, Identity::Body(_))) {
        let message = "`fair_by` cannot depend on the body, which is not read while a request waits";
        let finding = Diagnostic::error("unknown-key", value.place(), message);
        context
            .findings
            .push(finding.help("take something of the request's head, such as `api_key` or `ip`"));
    }
    links
}

fn chain<'t>((value, name): (Value<'t>, &str), context: &mut Context<'t>) -> Vec<Vec<Identity>> {
    let texts = context.texts(value, name, CHAIN_CHARS_MAX);
    if texts.is_empty() && value.is_list() {
        context.error("empty", value.place(), "this chain is empty, so it identifies no client");
    }
    if texts.len() > CHAIN_MAX {
        let message = format!("the chain has {} links, and may have at most {CHAIN_MAX}", texts.len());
        context.error("too-long", value.place(), message);
    }
    let links: Vec<_> = texts.iter().filter_map(|(text, place)| together(text, *place, context)).collect();
    let always =
        |link: &Vec<Identity>| link.iter().all(|part| matches!(part, Identity::Address | Identity::Everyone));
    let early = links.iter().position(always).filter(|at| at.saturating_add(1) < links.len());
    if let Some((_, place)) = early.and_then(|at| texts.get(at.saturating_add(1))) {
        let finding = Diagnostic::error("unreachable-key", *place, "this link is never reached");
        context.findings.push(finding.help("the identity before it is always present: put that one last"));
    }
    links
}

/// Identities joined by ` + `.
fn together(text: &str, place: Place, context: &mut Context<'_>) -> Option<Vec<Identity>> {
    let parts: Vec<_> = text.split('+').map(str::trim).collect();
    if parts.len() > TOGETHER_MAX {
        let message =
            format!("{} identities are joined here, and at most {TOGETHER_MAX} can be", parts.len());
        context.error("too-long", place, message);
        return None;
    }
    parts.into_iter().map(|part| identity(part, place, context)).collect()
}

fn identity(text: &str, place: Place, context: &mut Context<'_>) -> Option<Identity> {
    let found = match text.split_once(':') {
        None => match text {
            "api_key" => Ok(Identity::ApiKey),
            "ip" => Ok(Identity::Address),
            "consumer" => Ok(Identity::Consumer),
            "organisation" => Ok(Identity::Organisation),
            "everyone" => Ok(Identity::Everyone),
            word if NAMED.contains(&word) => Err(format!("write its name too, as in `{word}:NAME`")),
            _ => Err(suggest::did_you_mean(text, WORDS.iter().chain(NAMED).copied()).unwrap_or_else(|| {
                format!("write one of {}, {}:NAME", WORDS.join(", "), NAMED.join(":NAME, "))
            })),
        },
        Some((kind, name)) => named(kind, name.trim()),
    };
    match found {
        Ok(identity) => Some(identity),
        Err(help) => {
            let message = format!("`{}` is not a kind of identity", tollgate_http::text::shown(text));
            context.findings.push(Diagnostic::error("unknown-key", place, message).help(help));
            None
        }
    }
}

fn named(kind: &str, name: &str) -> Result<Identity, String> {
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        return Err(format!("write a name of at most {NAME_CHARS_MAX} characters after the colon"));
    }
    match kind {
        "header" => Ok(Identity::Header(header(name)?)),
        "cookie" => Ok(Identity::Cookie(name.into())),
        "query" => Ok(Identity::Query(name.into())),
        "body" if name.starts_with('/') => Ok(Identity::Body(name.into())),
        "body" => {
            Err(format!("write a JSON pointer after the colon: `body:/{}`", tollgate_http::text::shown(name)))
        }
        "jwt" => Ok(Identity::Jwt(name.into())),
        "jwt_unverified" => Ok(Identity::JwtUnverified(name.into())),
        _ => Err(suggest::did_you_mean(kind, NAMED.iter().copied())
            .map(|help| help.replace("`?", &format!(":{}`?", tollgate_http::text::shown(name))))
            .unwrap_or_else(|| format!("before the colon, write one of {}", NAMED.join(", ")))),
    }
}

/// A header's name.
pub(crate) fn header(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        format!("`{}` is not a header's name: letters, digits and hyphens", tollgate_http::text::shown(name))
    })
}

/// Where the API key is sent: `header:NAME`, `query:NAME`, `cookie:NAME`, `bearer`, `basic`.
pub(crate) fn key_place(text: &str) -> Result<KeyPlace, String> {
    match text.split_once(':').map(|(kind, name)| (kind, name.trim())) {
        Some(("header", name)) => Ok(KeyPlace::Header(header(name)?)),
        Some(("query", name)) if !name.is_empty() => Ok(KeyPlace::Query(name.into())),
        Some(("cookie", name)) if !name.is_empty() => Ok(KeyPlace::Cookie(name.into())),
        None if text == "bearer" => Ok(KeyPlace::Bearer),
        None if text == "basic" => Ok(KeyPlace::Basic),
        _ => {
            let help = "write `header:NAME`, `query:NAME`, `cookie:NAME`, `bearer` or `basic`";
            Err(format!("is not a place of an API key: {help}"))
        }
    }
}
