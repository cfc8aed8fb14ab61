//! Parses scenarios: requests at given times with their expected results. `simulate` in the engine runs them.

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderValue};
use tollgate_algorithms::Micros;

use crate::compile::load::{ReadFile, RejectedPolicy};
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::read;
use crate::document::sources::{Place, Source, Sources};
use crate::document::suggest::nearest;
use crate::document::tree::Value;
use crate::parse::context::{Context, Trees, beside};
use crate::parse::identity::header;
use crate::parse::schema_fields::scenario::{BODY_CHARS_MAX, EXPECT, SCENARIO, SCENARIOS, STEP};
use crate::parse::schema_fields::{NAME_CHARS_MAX, PATH_CHARS_MAX};
use crate::policy::Policy;
use crate::quantity::{date_time, duration, whole};
use tollgate_http::text::shown;

/// So often may a step be repeated. More is refused.
pub const TIMES_MAX: u64 = 1_000_000;
/// So many names are listed when none is near the one that is wrong. The rest is `…`.
const SUGGESTED_MAX: usize = 10;
/// From where requests come when a step does not say.
const FROM: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// A file of scenarios.
#[derive(Debug)]
pub struct Scenarios {
    /// The policy's file.
    pub policy: String,
    /// The scenarios.
    pub list: Vec<Scenario>,
    /// The file itself, for messages.
    pub sources: Sources,
}

/// Requests in the order of time, on a fresh store.
#[derive(Debug)]
pub struct Scenario {
    /// What it shows.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// The wall clock at its beginning.
    pub starts: Micros,
    /// What happens.
    pub steps: Vec<Step>,
}

/// One request, or the same one several times at one instant.
#[derive(Debug)]
pub struct Step {
    /// Where it stands.
    pub place: Place,
    /// When, from the beginning.
    pub at: Micros,
    /// The method.
    pub method: String,
    /// The target.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, if it has one that matters.
    pub body: Option<String>,
    /// From which address.
    pub from: IpAddr,
    /// The tier, in place of the policy's own source.
    pub tier: Option<String>,
    /// Where the tier is written.
    pub tier_at: Option<Place>,
    /// How often.
    pub times: u64,
    /// How long each request takes, and holds its permits, from when it is admitted.
    pub takes: Micros,
    /// What has to be answered.
    pub expect: Expect,
}

/// What has to be answered. What is not said may be anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expect {
    /// Every answer.
    pub answer: Option<Answer>,
    /// How many are granted.
    pub granted: Option<u64>,
    /// How many are refused.
    pub refused: Option<u64>,
    /// What the last answer says remains.
    pub remaining: Option<u64>,
    /// When the last answer says to come back.
    pub retry_after: Option<Micros>,
    /// How long the last one waited for its turn.
    pub waited: Option<Micros>,
    /// Which limit refused the last one.
    pub by: Option<String>,
    /// Where that limit is named.
    pub by_at: Option<Place>,
}

/// What a request can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It may go on.
    Granted,
    /// It may not, now.
    Refused,
    /// It never may: it costs more than there ever is.
    Never,
    /// No limit meets it.
    Unlimited,
    /// No operation is meant.
    Unmatched,
    /// It is wrong, and charged to nobody.
    Wrong,
}

impl Answer {
    /// Every answer, by its word.
    pub const ALL: [(&'static str, Self); 6] = [
        ("granted", Self::Granted),
        ("refused", Self::Refused),
        ("never", Self::Never),
        ("unlimited", Self::Unlimited),
        ("unmatched", Self::Unmatched),
        ("wrong", Self::Wrong),
    ];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, answer)| *answer == self).map_or("", |(word, _)| word)
    }
}

impl Scenarios {
    /// Reads a file of scenarios.
    ///
    /// # Errors
    /// When something is wrong with it: all of it at once, each with its place.
    pub fn load(name: &str, read_file: ReadFile<'_>) -> Result<Self, RejectedPolicy> {
        let mut trees = Trees::default();
        let mut findings = Findings::default();
        let text = read_file(name);
        let id = trees.sources.add(Source::new(name, text.clone().unwrap_or_default()));
        if let Err(why) = text {
            let place = Place { file: id, start: 0, end: 0 };
            let message = format!("{} cannot be read: {why}", shown(name));
            findings.push(Diagnostic::error("unreadable", place, message));
            return Err(RejectedPolicy { sources: trees.sources, findings, consumers: None });
        }
        let tree = trees.sources.shared(id).and_then(|source| read::read(id, source, &mut findings));
        trees.trees.extend(tree.map(|tree| (id, tree)));
        let mut context = Context::new(&trees);
        let read = trees.trees.get(&id).and_then(|tree| whole_file(tree.value(), &mut context));
        findings.append(context.findings);
        findings.sort();
        match (read, findings.has_errors()) {
            (Some((policy, list)), false) => Ok(Self { policy, list, sources: trees.sources }),
            _ => Err(RejectedPolicy { sources: trees.sources, findings, consumers: None }),
        }
    }
}

impl Scenarios {
    /// Tiers and limits that are named here and are not in the policy: an error each, with its place.
    ///
    /// A step of a tier that nobody has, or that waits for a limit that is not there, would test nothing.
    #[must_use]
    pub fn check(&self, policy: &Policy) -> Findings {
        let mut findings = Findings::default();
        for step in self.list.iter().flat_map(|scenario| &scenario.steps) {
            if let (Some(tier), Some(place)) = (&step.tier, step.tier_at)
                && let Some((message, help)) = unknown_tier(tier, policy)
            {
                findings.push(Diagnostic::error("unknown-tier", place, message).help(help));
            }
            if let (Some(name), Some(place)) = (&step.expect.by, step.expect.by_at)
                && policy.limit_named(name).is_none()
            {
                let message = format!("the policy has no limit `{}`", shown(name));
                let names = policy.limits().iter().map(|limit| limit.name.as_str());
                let help = suggest(name, names, "its limits are", "it has no limit at all");
                findings.push(Diagnostic::error("unknown-limit", place, message).help(help));
            }
        }
        findings.sort();
        findings
    }
}

/// What is wrong with the name of a tier, and what to do; `None` if the policy knows it.
///
/// Known are the tiers that are listed. Where none are, those with numbers of their own are, and the one of everybody else.
#[must_use]
pub fn unknown_tier(tier: &str, policy: &Policy) -> Option<(String, String)> {
    let settings = policy.settings();
    let mut known: Vec<&str> = settings.tier_names.iter().map(String::as_str).collect();
    if known.is_empty() {
        let named = policy.limits().iter().flat_map(|limit| &limit.tiers).map(|tier| tier.tier.as_str());
        known.extend(named.chain(settings.tier_default.as_deref()));
        known.sort_unstable();
        known.dedup();
    }
    if known.contains(&tier) {
        return None;
    }
    if known.is_empty() {
        let help = "leave it out, or name tiers under `tiers` or `tier_overrides` of the policy";
        return Some((format!("there is no tier `{}`: no tier is known", shown(tier)), help.into()));
    }
    let help = suggest(tier, known, "the tiers are", "");
    Some((format!("there is no tier `{}`", shown(tier)), help))
}

/// The name that was probably meant; or else the names there are, the first of them.
fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, these: &str, none: &str) -> String {
    let known: Vec<_> = known.into_iter().collect();
    if let Some(meant) = nearest(word, known.iter().copied()) {
        return format!("did you mean `{}`?", shown(meant));
    }
    let names: Vec<_> = known.iter().take(SUGGESTED_MAX).map(|name| format!("`{}`", shown(name))).collect();
    let more = if known.len() > names.len() { ", …" } else { "" };
    if names.is_empty() { none.into() } else { format!("{these} {}{more}", names.join(", ")) }
}

fn whole_file<'t>(root: Value<'t>, context: &mut Context<'t>) -> Option<(String, Vec<Scenario>)> {
    let root = context.map(root, "a file of scenarios")?;
    if let Some(other) = other_document(root) {
        context.findings.push(other);
        return None;
    }
    context.unknown_fields(root, &[SCENARIOS], "a file of scenarios");
    let here = context.trees.sources.get(root.tree.file).map_or("", |source| source.name()).to_owned();
    let policy = needed(root, "policy", "a file of scenarios", context)?;
    let policy = beside(&here, context.text(policy, "policy", PATH_CHARS_MAX)?);
    let list = needed(root, "scenarios", "a file of scenarios", context)?;
    if !list.is_list() {
        context.error(
            "type",
            list.place(),
            format!("`scenarios` has to be a list, and this is {}", list.what()),
        );
    }
    let scenarios: Vec<_> = list.items().filter_map(|item| scenario(item, context)).collect();
    if list.is_list() && list.items().count() == 0 {
        context.error("empty", list.place(), "there is no scenario here: nothing would be tested");
    }
    Some((policy, scenarios))
}

/// A document of another kind is told as that, and not field by field.
fn other_document(root: Value<'_>) -> Option<Diagnostic> {
    let has = |field: &str| root.get(field).is_some();
    let what = match (has("scenarios"), has("openapi") || has("swagger"), has("tollgate")) {
        (false, true, _) => "an OpenAPI document",
        (false, false, true) => "a policy",
        _ => return None,
    };
    let place = Place { end: root.place().start, ..root.place() };
    let finding =
        Diagnostic::error("not-scenarios", place, format!("this is {what}, and not a file of scenarios"));
    Some(
        finding
            .help("name a file of scenarios: it has `policy`, with the name of this file, and `scenarios`"),
    )
}

/// A field that has to be there.
fn needed<'t>(map: Value<'t>, field: &str, what: &str, context: &mut Context<'t>) -> Option<Value<'t>> {
    let found = map.get(field);
    if found.is_none() {
        let finding = Diagnostic::error("missing-field", map.place(), format!("{what} needs `{field}`"));
        context.findings.push(finding.help(format!("add `{field}: …`")));
    }
    found
}

fn scenario<'t>(value: Value<'t>, context: &mut Context<'t>) -> Option<Scenario> {
    let map = context.map(value, "a scenario")?;
    context.unknown_fields(map, &[SCENARIO], "a scenario");
    let name = needed(map, "name", "a scenario", context)?;
    let name = context.text(name, "name", NAME_CHARS_MAX)?.to_owned();
    let starts =
        map.get("starts").map_or(Some(Micros::ZERO), |value| context.parsed(value, "starts", date_time))?;
    let list = needed(map, "steps", "a scenario", context)?;
    if !list.is_list() {
        context.error("type", list.place(), format!("`steps` has to be a list, and this is {}", list.what()));
    }
    let mut steps: Vec<Step> = Vec::new();
    for item in list.items() {
        let before = steps.last().map_or(Micros::ZERO, |step| step.at);
        steps.extend(step(item, before, context));
    }
    Some(Scenario { name, place: value.place(), starts, steps })
}

fn step<'t>(value: Value<'t>, before: Micros, context: &mut Context<'t>) -> Option<Step> {
    let map = context.map(value, "a step")?;
    context.unknown_fields(map, &[STEP], "a step");
    let at = map.get("at").map_or(Some(before), |value| context.parsed(value, "at", duration))?;
    if at < before {
        let message = "this step is before the one above it: time does not run back";
        context.error("step-order", map.get("at").map_or(value.place(), Value::place), message);
    }
    let request = needed(map, "request", "a step", context)?;
    let text = context.text(request, "request", 10_000)?;
    let Some((method, target)) = text.split_once(' ') else {
        let finding = Diagnostic::error("request", request.place(), "this is not a request");
        context.findings.push(finding.help("write a method and a target: `POST /reports/generate`"));
        return None;
    };
    let from = map.get("from").map_or(Some(FROM), |value| context.parsed(value, "from", address))?;
    let tier_at = map.get("tier").map(Value::place);
    let tier = match map.get("tier") {
        None => None,
        Some(value) => Some(context.text(value, "tier", NAME_CHARS_MAX)?.to_owned()),
    };
    let times = map.get("times").map_or(Some(1), |value| {
        context.parsed(value, "times", |text| match whole(text) {
            Ok(1..=TIMES_MAX) | Err(_) => whole(text),
            Ok(_) => Err(format!("is out of range: write 1 to {TIMES_MAX}")),
        })
    })?;
    let takes =
        map.get("takes").map_or(Some(Micros::ZERO), |value| context.parsed(value, "takes", duration))?;
    let headers = map.get("headers").map_or_else(HeaderMap::new, |value| headers(value, context));
    let body = match map.get("body") {
        None => None,
        Some(value) => Some(context.text(value, "body", BODY_CHARS_MAX)?.to_owned()),
    };
    let expect = expect(needed(map, "expect", "a step", context)?, context)?;
    let (method, target) = (method.to_owned(), target.trim().to_owned());
    let place = value.place();
    Some(Step { place, at, method, target, headers, body, from, tier, tier_at, times, takes, expect })
}

fn address(text: &str) -> Result<IpAddr, String> {
    tollgate_http::address::parse_node(text.as_bytes())
        .ok_or_else(|| "is not an address: write it such as `203.0.113.9`".into())
}

/// A value, or a list of values for a header that is sent several times.
fn headers<'t>(value: Value<'t>, context: &mut Context<'t>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(map) = context.map(value, "`headers`") else { return headers };
    for entry in map.entries() {
        let name = header(entry.key).map_err(|why| context.error("header", entry.key_at, why));
        for (text, place) in context.texts(entry.value, entry.key, 100_000) {
            match (&name, HeaderValue::from_bytes(text.as_bytes())) {
                (Ok(name), Ok(value)) => {
                    headers.append(name, value);
                }
                (Ok(_), Err(_)) => context.error("header", place, "this cannot be sent in a header"),
                (Err(()), _) => {}
            }
        }
    }
    headers
}

fn expect<'t>(value: Value<'t>, context: &mut Context<'t>) -> Option<Expect> {
    let words = Answer::ALL.map(|(word, _)| word);
    let answer = |word: &str| Answer::ALL.iter().find(|(known, _)| *known == word).map(|(_, answer)| *answer);
    if !value.is_map() {
        let word = context.word(value, "expect", &words)?;
        return Some(Expect { answer: answer(word), ..Expect::default() });
    }
    context.unknown_fields(value, &[EXPECT], "`expect`");
    let mut expect = Expect::default();
    if let Some(given) = value.get("answer") {
        expect.answer = answer(context.word(given, "answer", &words)?);
    }
    let mut number = |field: &str| match value.get(field) {
        None => Some(None),
        Some(given) => context.parsed(given, field, whole).map(Some),
    };
    expect.granted = number("granted")?;
    expect.refused = number("refused")?;
    expect.remaining = number("remaining")?;
    if let Some(given) = value.get("retry_after") {
        expect.retry_after = Some(context.parsed(given, "retry_after", duration)?);
    }
    if let Some(given) = value.get("waited") {
        // No time at all is a time that somebody may wait.
        let wait = |text: &str| if text == "0s" { Ok(Micros::ZERO) } else { duration(text) };
        expect.waited = Some(context.parsed(given, "waited", wait)?);
    }
    if let Some(given) = value.get("by") {
        expect.by = Some(context.text(given, "by", NAME_CHARS_MAX)?.to_owned());
        expect.by_at = Some(given.place());
    }
    if expect == Expect::default() {
        context.error("empty", value.place(), "nothing is expected here: nothing would be tested");
        return None;
    }
    Some(expect)
}
