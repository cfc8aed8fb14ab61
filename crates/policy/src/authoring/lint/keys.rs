//! Advises about keys that clients lack or can renew, from the security schemes that `api_key` reads.

use tollgate_algorithms::{Limit, Micros, Window};

use super::group_findings::finding;
use super::{Lint, named};
use crate::compile::inherit::Operation;
use crate::document::diagnostic::Diagnostic;
use crate::ids::LimitId;
use crate::model::{Identity, KeyPlace, PolicyLimit};
use crate::numbers::Numbers;
use crate::quantity::spoken;

/// A limit that remembers a key for longer than this is worth a new token to a client. Many tokens are good for an hour.
pub const TOKEN_TIME_NOTED: Micros = Micros::HOUR;

/// Limits by `api_key` on operations whose credentials are no key, or one that is renewed.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let by_key = |limit: &PolicyLimit| limit.identities().any(|part| *part == Identity::ApiKey);
    let limits: Vec<_> = lint.limits().filter(|(_, limit)| by_key(limit)).collect();
    found.extend(limits.iter().filter_map(|(id, limit)| no_key(lint, *id, limit)));
    let settings = lint.policy.settings();
    if settings.jwt.is_none() && settings.consumers.is_none() {
        let raw = limits.iter().filter(|(id, limit)| is_long(limit) && has_token(lint, *id));
        let raw: Vec<_> = raw.map(|(_, limit)| *limit).collect();
        let longest = raw.iter().filter_map(|limit| memory(&limit.numbers)).max().unwrap_or_default();
        let what = format!(
            "counted by the bearer token itself, for up to {}: a client with a new token has a new budget",
            spoken(longest)
        );
        let texts = (format!("is {what}"), format!("are {what}"));
        let warning = finding(Diagnostic::warning, "raw-token", &raw, (&texts.0, &texts.1));
        found.extend(warning.map(|warning| {
            warning.help(
                "add `jwt` to the settings, so that the token's verified subject is the key, or name a `consumers` file",
            )
        }));
    }
    found
}

/// Operations of a limit that ask for credentials of which none is a key.
fn no_key(lint: &Lint<'_>, id: LimitId, limit: &PolicyLimit) -> Option<Diagnostic> {
    let mut keyless = lint.operations_of(id).filter(|operation| operation.keyless);
    let first = keyless.next()?;
    let name = format!("`{}`", tollgate_http::text::shown(&first.name()));
    let operations = match keyless.count() {
        0 => name,
        1 => format!("{name} and one more operation"),
        more => format!("{name} and {more} more operations"),
    };
    let message = format!(
        "{} is counted by `api_key`, but no security scheme of {operations} yields a key",
        named(&limit.name)
    );
    let help = "give these operations another `consumer_key`, such as `header:NAME`, or say with `api_key` in the \
                settings where their key is; else all clients behind one address share one budget";
    Some(Diagnostic::warning("keyless-scheme", limit.place, message).help(help))
}

/// Whether a token may be the key of an operation that meets the limit.
fn has_token(lint: &Lint<'_>, id: LimitId) -> bool {
    lint.operations_of(id).any(|operation: &Operation| operation.api_key.iter().any(is_token))
}

fn is_token(place: &KeyPlace) -> bool {
    match place {
        KeyPlace::Bearer => true,
        KeyPlace::Header(name) => *name == http::header::AUTHORIZATION,
        KeyPlace::Basic | KeyPlace::Query(_) | KeyPlace::Cookie(_) => false,
        KeyPlace::Together(places) => places.iter().any(is_token),
    }
}

fn is_long(limit: &PolicyLimit) -> bool {
    memory(&limit.numbers).is_some_and(|time| time > TOKEN_TIME_NOTED)
}

/// For how long a limit remembers what a key has used.
fn memory(numbers: &Numbers) -> Option<Micros> {
    let Numbers::Counted(limit) = numbers else { return None };
    Some(match limit {
        Limit::Unlimited => return None,
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => quota.drain(),
        Limit::FixedWindow(rule) => match rule.window() {
            Window::Every(length) => length,
            Window::Day(_) => Micros::DAY,
            Window::Week(_) => Micros::from_secs(7 * 86_400),
            Window::Month(_) => Micros::from_secs(31 * 86_400),
            Window::Year(_) => Micros::from_secs(366 * 86_400),
        },
        Limit::SlidingWindow(rule) => rule.window(),
        Limit::SlidingWindowBuckets(rule) => rule.window(),
        Limit::SlidingWindowLog(rule) => rule.window(),
    })
}
