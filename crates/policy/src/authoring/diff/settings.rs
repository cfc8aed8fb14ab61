//! Describes changed settings other than limits: tokens, keys, addresses, CORS. `judge` rates them.

use super::{SettingDiff, Verdict, judge};
use crate::ids::LimitId;
use crate::model::{Cors, HeaderNames, Identity, KeyPlace, Origins, Priority, Unmatched, priority_name};
use crate::parse::settings::Settings;
use crate::policy::Policy;
use tollgate_http::query::Semicolons;
use tollgate_http::trusted::{ForwardHeader, TrustedProxies};

/// A setting in words.
type DescribeSetting = fn(&Settings) -> String;
/// What a change of a setting means for clients.
type Judge = fn(&Policy, &Policy) -> Verdict;

/// Every setting that is different, in the order of the documentation.
pub(super) fn changes(old: &Policy, new: &Policy) -> Vec<SettingDiff> {
    let (before, after) = (old.settings(), new.settings());
    // Where who is who changes, some gain and some lose.
    let mixed: Judge = |_, _| Verdict::Mixed;
    // Names of tiers are only checked by: nobody's numbers change.
    let same: Judge = |_, _| Verdict::Same;
    let each: [(&str, DescribeSetting, Judge); 15] = [
        ("what happens to a request that no operation names", unmatched, judge::unmatched),
        (
            "the consumers file",
            |of| of.consumers.as_ref().map_or_else(|| "none".into(), |(file, _)| shown(file)),
            mixed,
        ),
        ("where API keys stand", |of| places(&of.api_key), mixed),
        ("where tiers are known from", tier_from, mixed),
        ("which requests are refused first", priorities, mixed),
        ("where organisations are known from", organisation_from, mixed),
        ("the tiers that there are", |of| list(&of.tier_names), same),
        (
            "the tier of those of whom nothing else is known",
            |of| text(of.tier_default.as_ref()),
            judge::tier_default,
        ),
        ("how tokens are verified", jwt, mixed),
        ("how much of an address is one client", addresses, judge::addresses),
        ("trusted proxies", |of| proxies(&of.trusted_proxies), mixed),
        ("which headers are passed on", header_names, same),
        (
            "the base path that a proxy in front takes away",
            |of| text(of.base_path.as_ref().map(|(path, _)| path)),
            mixed,
        ),
        ("what a `;` in a query string means", semicolons, mixed),
        ("which scripts in browsers may read a refusal", cors, same),
    ];
    let mut found = Vec::new();
    for (what, of, judge) in each {
        let (was, is) = (of(before), of(after));
        if was != is {
            let text = format!("{what}: {was} before, {is} now");
            found.push(SettingDiff { text, verdict: judge(old, new) });
        }
    }
    // Networks are kept as ranges, and two lists of the same length are not told apart in words.
    let same_words = proxies(&before.trusted_proxies) == proxies(&after.trusted_proxies);
    if same_words && before.trusted_proxies != after.trusted_proxies {
        let text = "trusted proxies: other networks than before".into();
        found.push(SettingDiff { text, verdict: Verdict::Mixed });
    }
    let [was, is] = [old, new].map(Policy::namespace);
    if was != is {
        let name = |namespace: &str| if namespace.is_empty() { "none".into() } else { shown(namespace) };
        let text = format!(
            "the namespace in a shared store: {} before, {} now: every limit that is counted there starts afresh, and while \
             processes with either run, a client may use up to twice its limit",
            name(&was),
            name(&is)
        );
        found.push(SettingDiff { text, verdict: Verdict::Same });
    }
    found.extend(priorities_of_operations(old, new));
    if before.api_key == after.api_key {
        let moved = moved_keys(old, new);
        found.extend(moved.map(|text| SettingDiff { text, verdict: Verdict::Mixed }));
    }
    found
}

/// The priorities that operations have of their own.
fn priorities_of_operations(old: &Policy, new: &Policy) -> impl Iterator<Item = SettingDiff> {
    let word = |priority: Option<Priority>| priority.map_or("none of its own", priority_name);
    let before: std::collections::HashMap<String, Option<Priority>> =
        old.operations().iter().map(|operation| (operation.name(), operation.priority)).collect();
    let changed = new.operations().iter().filter_map(move |operation| {
        let (was, is) = (*before.get(&operation.name())?, operation.priority);
        let name = shown(&operation.name());
        let text = format!("the priority of {name}: {} before, {} now", word(was), word(is));
        (was != is).then_some(SettingDiff { text, verdict: Verdict::Mixed })
    });
    changed.collect::<Vec<_>>().into_iter()
}

/// Operations whose API keys stand elsewhere, by what the documents' security schemes say. Told by the first of them.
fn moved_keys(old: &Policy, new: &Policy) -> Option<String> {
    let needs_key = |policy: &Policy, limits: &[LimitId]| {
        let limits = limits.iter().filter_map(|id| policy.limits().get(id.index()));
        let mut parts = limits.flat_map(|limit| limit.identities());
        parts.any(|part| matches!(part, Identity::ApiKey | Identity::Consumer | Identity::Organisation))
    };
    let before: std::collections::HashMap<String, &Vec<KeyPlace>> =
        old.operations().iter().map(|operation| (operation.name(), &operation.api_key)).collect();
    let mut moved = new.operations().iter().filter(|operation| {
        let was = before.get(&operation.name());
        needs_key(new, &operation.limits) && was.is_some_and(|was| **was != operation.api_key)
    });
    let first = moved.next()?;
    let was = before.get(&first.name()).map_or_else(String::new, |was| places(was));
    let more = match moved.count() {
        0 => String::new(),
        more => format!(", and {more} more alike"),
    };
    Some(format!(
        "where the API key of {} is sent: {was} before, {} now{more}",
        shown(&first.name()),
        places(&first.api_key)
    ))
}

fn shown(text: &str) -> String {
    format!("`{}`", tollgate_http::text::shown(text))
}

fn text(text: Option<&String>) -> String {
    text.map_or_else(|| "none".into(), |text| shown(text))
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "any".into()
    } else {
        names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")
    }
}

fn unmatched(settings: &Settings) -> String {
    match settings.unmatched {
        Unmatched::Reject => "`reject`".into(),
        Unmatched::Forward => "`forward`".into(),
    }
}

fn cors(settings: &Settings) -> String {
    let Some(Cors { origins, credentials }) = &settings.cors else { return "none".into() };
    let origins = match origins {
        Origins::Any => "any".into(),
        Origins::These(origins) => format!("those of {}", list(origins)),
    };
    format!("{origins}{}", if *credentials { ", with credentials" } else { "" })
}

fn header_names(settings: &Settings) -> String {
    match settings.header_names {
        HeaderNames::Plain => "those with `plain` names".into(),
        HeaderNames::Any => "`any`".into(),
    }
}

fn semicolons(settings: &Settings) -> String {
    match settings.query_semicolons {
        Semicolons::Text => "`text`".into(),
        Semicolons::Separator => "`separator`".into(),
        Semicolons::Dropped => "`dropped`".into(),
    }
}

fn places(places: &[KeyPlace]) -> String {
    let one = |place: &KeyPlace| shown(&place.to_string());
    if places.is_empty() {
        "where the documents say".into()
    } else {
        places.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

fn priorities(settings: &Settings) -> String {
    let Some(of) = &settings.priorities else { return "none".into() };
    let mut words: Vec<_> =
        of.header.iter().map(|(name, _)| format!("by header {}", shown(name.as_str()))).collect();
    words.extend(
        of.tiers.iter().map(|(tier, priority)| format!("{} {}", shown(tier), priority_name(*priority))),
    );
    words.push(format!("others {}", priority_name(of.default)));
    words.join(", ")
}

fn tier_from(settings: &Settings) -> String {
    in_order(settings.tier_from.iter().map(ToString::to_string))
}

fn organisation_from(settings: &Settings) -> String {
    in_order(settings.organisation_from.iter().map(|(source, _)| source.to_string()))
}

fn in_order(sources: impl Iterator<Item = String>) -> String {
    let sources: Vec<_> = sources.map(|source| shown(&source)).collect();
    if sources.is_empty() { "nowhere".into() } else { sources.join(", then ") }
}

fn jwt(settings: &Settings) -> String {
    settings.jwt.as_ref().map_or_else(
        || "not at all".into(),
        |jwt| {
            let (issuer, audience) = (text(jwt.issuer.as_ref()), text(jwt.audience.as_ref()));
            let (keys, header) = (shown(&jwt.jwks), &jwt.header);
            format!("by {keys} in `{header}` (issuer {issuer}, audience {audience}, leeway {})", jwt.leeway)
        },
    )
}

fn addresses(settings: &Settings) -> String {
    let prefixes = &settings.prefixes;
    let wide = prefixes.ipv6_wide().map_or_else(String::new, |wide| {
        format!(", and {} times the limit for an IPv6 /{wide}", settings.wide_multiple)
    });
    format!("an IPv4 /{}, an IPv6 /{}{wide}", prefixes.ipv4(), prefixes.ipv6())
}

fn proxies(proxies: &TrustedProxies) -> String {
    let by = |header: &ForwardHeader| match header {
        ForwardHeader::XForwardedFor => "`X-Forwarded-For`".to_owned(),
        ForwardHeader::Forwarded => "`Forwarded`".to_owned(),
        ForwardHeader::Other(name) => shown(name.as_str()),
    };
    match proxies {
        TrustedProxies::None => "nobody's".into(),
        TrustedProxies::Networks { header, .. } => format!("that of listed networks, in {}", by(header)),
        TrustedProxies::Hops { count, header } => format!("that of {count} hops, in {}", by(header)),
    }
}
