//! `x-rate-limit`: one limit, a list, or `none`, as it is written. Which requests meet it is decided when it is compiled.

use tollgate_algorithms::Mode;

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::suggest;
use crate::document::tree::Value;
use crate::model::{
    BusyStatus, Condition, Cost, CountScope, FailureRule, LimitLocation, PolicyLimit, Scope, TierNumbers,
    ZeroStatus,
};
use crate::numbers::{Algorithm, Numbers};
use crate::parse::context::Context;
use crate::parse::limit_use::{self, LimitReference};
use crate::parse::schema_fields::{
    ALGORITHMS, COUNTED, DESCRIPTION_CHARS_MAX, FLAG, LIMIT, MODES, NAME_CHARS_MAX, NUMBERS, SCOPES,
    VISIBILITY, ZERO_STATUSES,
};
use crate::parse::{condition, cost, identity, in_progress, in_turn, not_a_limit, numbers};
use crate::quantity::whole;

/// So many limits may meet one operation. A longer list is refused: each is a decision on every request, and with its wider
/// budgets up to three.
pub const LIMITS_MAX: usize = 10;
/// So many tiers may have numbers of their own under one limit.
pub const TIERS_MAX: usize = 1_000;

/// What stands at a place where limits may stand.
#[derive(Clone, Debug)]
pub(crate) enum ParsedLimits {
    /// `none`: switched off, on purpose.
    Off(Place),
    /// These, all or none. Possibly fewer than are written, if some are wrong, which has been said.
    List(Vec<LimitItem>),
}

/// One item of a list of limits.
#[derive(Clone, Debug)]
pub(crate) enum LimitItem {
    /// A limit that is written here.
    Limit(Box<PolicyLimit>, Option<Condition>),
    /// One that is written elsewhere.
    Use(LimitReference),
}

/// Reads the limits that stand here.
pub(crate) fn read<'t>(value: Value<'t>, at: &LimitLocation, context: &mut Context<'t>) -> ParsedLimits {
    context.used.insert((value.tree.file, value.id));
    if value.text() == Some("none") {
        return ParsedLimits::Off(value.place());
    }
    let list: Vec<_> = if value.is_list() { value.items().collect() } else { vec![value] };
    if list.is_empty() || value.is_null() {
        let finding = Diagnostic::error("empty", value.place(), "there is no limit here");
        context.findings.push(finding.help("write `none` to switch limits off"));
        return ParsedLimits::List(Vec::new());
    }
    if list.len() > LIMITS_MAX {
        let message =
            format!("{} limits stand here, and at most {LIMITS_MAX} can meet one operation", list.len());
        context.error("too-many", value.place(), message);
        return ParsedLimits::List(Vec::new());
    }
    // Named limits need no name of their own, and adding one changes the names of no others.
    let several = list.iter().filter(|item| item.get("use").is_none()).count() > 1;
    let (mut items, mut limits): (Vec<LimitItem>, Vec<PolicyLimit>) = (Vec::new(), Vec::new());
    for item in list {
        match self::item(item, (at, value.is_list()), context) {
            None => {}
            Some(LimitItem::Use(named)) => items.push(LimitItem::Use(named)),
            Some(LimitItem::Limit(mut limit, when)) => {
                if !limit.named {
                    limit.name = made_name(&limit, &limits, several);
                }
                limits.push((*limit).clone());
                items.push(LimitItem::Limit(limit, when));
            }
        }
    }
    ParsedLimits::List(items)
}

type At<'a> = (&'a LimitLocation, bool);

fn item<'t>(item: Value<'t>, (at, in_list): At<'_>, context: &mut Context<'t>) -> Option<LimitItem> {
    beside_reference(item, context);
    let trail = context.trail(item)?;
    let resolved = *trail.last()?;
    context.used.insert((resolved.tree.file, resolved.id));
    if let Some(name) = trail.iter().find_map(|value| context.named.get(&(value.tree.file, value.id))) {
        let place = item.place();
        let named = LimitReference::Named { name: name.clone(), cost: None, when: None, place };
        return Some(LimitItem::Use(named));
    }
    by_position(item, resolved, context);
    if let Some(text) = resolved.text().filter(|_| !resolved.is_null()) {
        context.findings.push(not_a_limit::finding(text, item.place(), in_list));
        return None;
    }
    if resolved.get("use").is_some() {
        return limit_use::read(resolved, context).map(LimitItem::Use);
    }
    let when = match resolved.get("when") {
        None => None,
        Some(when) => Some(condition::read(when, context)?),
    };
    let mut limit = one(resolved, at, context)?;
    limit.references = item.get("$ref").map(Value::place).into_iter().collect();
    Some(LimitItem::Limit(Box::new(limit), when))
}

/// Advises against a `$ref` to a limit by its position: it means another limit as soon as the list changes.
fn by_position<'t>(item: Value<'t>, resolved: Value<'t>, context: &mut Context<'t>) {
    let Some(reference) = item.get("$ref") else { return };
    let last = reference.text().and_then(|text| text.rsplit_once('/')).map_or("", |(_, last)| last);
    let is_index = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    if !is_index || !resolved.is_map() {
        return;
    }
    let message = "this `$ref` finds a limit by its position, and finds another when the list changes";
    let help =
        "define the limit under `limits` (in an OpenAPI document, of `x-tollgate`), and write `use: NAME`";
    let finding = Diagnostic::warning("ref-by-position", reference.place(), message).help(help);
    context.findings.push(finding.also(resolved.place(), "it finds this limit"));
}

/// A name made of the place; in a list of several, of the algorithm too, so that taking one out does not give its keys to
/// another.
fn made_name(limit: &PolicyLimit, before: &[PolicyLimit], several: bool) -> String {
    let mut name = crate::compile::default_names::ascii(&limit.at.name());
    if several {
        name = format!("{name} ({})", limit.algorithm.name());
    }
    let alike = before.iter().filter(|other| !other.named && other.algorithm == limit.algorithm).count();
    if alike == 0 { name } else { format!("{name} #{}", alike.saturating_add(1)) }
}

/// Fields beside a `$ref` would be ignored.
fn beside_reference<'t>(item: Value<'t>, context: &mut Context<'t>) {
    if item.get("$ref").is_none() {
        return;
    }
    for entry in item.entries().filter(|entry| entry.key != "$ref") {
        let message = format!("`{}` has no effect beside $ref", tollgate_http::text::shown(entry.key));
        let finding = Diagnostic::error("beside-ref", entry.key_at, message);
        context.findings.push(finding.help("write the limit out here, or put it where the $ref leads"));
    }
}

/// One limit.
pub(crate) fn one<'t>(map: Value<'t>, at: &LimitLocation, context: &mut Context<'t>) -> Option<PolicyLimit> {
    let map = context.map(map, "a limit")?;
    context.unknown_fields(map, &[LIMIT, NUMBERS], "a limit");
    let algorithm = algorithm(map, context);
    let written = numbers::read(map, algorithm, context);
    let key = identity::read(map, context);
    let mut limit = PolicyLimit {
        name: String::new(),
        named: false,
        place: map.place(),
        references: Vec::new(),
        at: at.clone(),
        algorithm: algorithm.unwrap_or(Algorithm::TokenBucket),
        written: written.unwrap_or_default(),
        numbers: Numbers::Unlimited,
        tiers: Vec::new(),
        key,
        address_ceiling: None,
        cost: Cost::Fixed(1),
        mode: Mode::Enforced,
        when_store_fails: FailureRule::Local { share: 1, of: 1 },
        scope: Scope::Exact,
        counted: CountScope::Together,
        zero_status: ZeroStatus::Forbidden,
        busy_status: BusyStatus::TooManyRequests,
        wait: None,
        fair_by: Vec::new(),
        strict: false,
        description: None,
        visible: true,
        owner: None,
        reviewers: Vec::new(),
        required: None,
    };
    words(map, &mut limit, context);
    in_turn::busy_status(map, algorithm, &mut limit, context);
    in_turn::wait(map, algorithm, &mut limit, context);
    in_turn::fair_by(map, algorithm, &mut limit, context);
    in_turn::strict(map, algorithm, &mut limit, context);
    in_progress::adaptive(map, algorithm, &mut limit, context);
    texts(map, &mut limit, context);
    let cost = map.get("cost").map_or(Some(Cost::Fixed(1)), |value| cost::read(value, context));
    if let Some(value) = map.get("address_ceiling") {
        limit.address_ceiling = context.parsed(value, "address_ceiling", |text| match whole(text) {
            Ok(0) => Err("would refuse everything: it is how many times the limit one address gets".into()),
            other => other,
        });
    }
    let written = written?;
    limit.numbers = numbers::build(&written, algorithm?, map, context)?;
    tiers(map, &mut limit, context);
    // A wrong cost hides no other mistake.
    limit.cost = cost?;
    Some(limit)
}

fn algorithm<'t>(map: Value<'t>, context: &mut Context<'t>) -> Option<Algorithm> {
    let Some(value) = map.get("algorithm") else {
        // What a merge key would add has been asked for already.
        if map.get("<<").is_none() {
            let finding = Diagnostic::error("missing-field", map.place(), "this limit has no `algorithm`");
            context.findings.push(finding.help(format!("add one of {}", fitting(map).join(", "))));
        }
        return None;
    };
    let is_unlike_any = |text| suggest::did_you_mean(text, ALGORITHMS.iter().copied()).is_none();
    let word = if value.text().is_some_and(is_unlike_any) {
        context.word(value, "algorithm", &fitting(map))?
    } else {
        context.word(value, "algorithm", ALGORITHMS)?
    };
    Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == word)
}

/// The algorithms that have all the numbers of a map; every one if none has.
fn fitting(map: Value<'_>) -> Vec<&'static str> {
    let written: Vec<_> = map.entries().map(|entry| entry.key).collect();
    let is_number = |field: &&str| NUMBERS.iter().any(|number| number.name == *field);
    let has = |algorithm: &Algorithm| {
        let mut fields = written.iter().filter(|field| is_number(field));
        let all_known =
            fields.all(|field| algorithm.needs().contains(field) || algorithm.may_have().contains(field));
        let some_known = written.iter().any(|field| algorithm.may_have().contains(field));
        // What needs no number fits only where one of its own is written.
        all_known
            && algorithm.needs().iter().all(|field| written.contains(field))
            && (some_known || !algorithm.needs().is_empty())
    };
    let fitting: Vec<_> =
        Algorithm::ALL.iter().filter(|algorithm| has(algorithm)).map(|it| it.name()).collect();
    if fitting.is_empty() { ALGORITHMS.to_vec() } else { fitting }
}

fn words<'t>(map: Value<'t>, limit: &mut PolicyLimit, context: &mut Context<'t>) {
    let mut word = |name: &str, words| map.get(name).and_then(|value| context.word(value, name, words));
    if word("mode", MODES) == Some("shadow") {
        limit.mode = Mode::Shadow;
    }
    if word("counted", COUNTED) == Some("per_operation") {
        limit.counted = CountScope::PerOperation;
    }
    if word("zero_status", ZERO_STATUSES) == Some("429") {
        limit.zero_status = ZeroStatus::TooManyRequests;
    }
    if word("visibility", VISIBILITY) == Some("hidden") {
        limit.visible = false;
    }
    if word("required", FLAG) == Some("true") {
        limit.required = map.get("required").map(Value::place);
    }
    match word("scope", SCOPES) {
        Some("local") => limit.scope = Scope::Local,
        Some("leased") => limit.scope = Scope::Leased,
        Some("synced") => limit.scope = Scope::Synced,
        _ => {}
    }
    if let Some(value) = map.get("when_store_fails")
        && let Some(rule) = context.parsed(value, "when_store_fails", store_fails)
    {
        limit.when_store_fails = rule;
    }
}

/// `allow`, `deny`, `local`, `local 1/4`.
fn store_fails(text: &str) -> Result<FailureRule, String> {
    let wrong =
        || "is not a known rule: write `allow`, `deny`, `local`, or `local 1/4` for a share".to_owned();
    match text {
        "allow" => Ok(FailureRule::Allow),
        "deny" => Ok(FailureRule::Deny),
        "local" => Ok(FailureRule::Local { share: 1, of: 1 }),
        _ => {
            let share = text.strip_prefix("local ").ok_or_else(wrong)?;
            let (share, of) = share.split_once('/').ok_or_else(wrong)?;
            let part = |text| whole(text).ok().and_then(|number| u32::try_from(number).ok());
            match (part(share), part(of)) {
                (Some(share @ 1..), Some(of)) if share <= of => Ok(FailureRule::Local { share, of }),
                _ => Err(wrong()),
            }
        }
    }
}

fn texts<'t>(map: Value<'t>, limit: &mut PolicyLimit, context: &mut Context<'t>) {
    if let Some(value) = map.get("name")
        && let Some(name) = context.text(value, "name", NAME_CHARS_MAX)
    {
        // It becomes a string of a structured field.
        if name.is_empty() || !name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            let finding = Diagnostic::error(
                "name",
                value.place(),
                "a name must be printable ASCII, because a header contains it",
            );
            context.findings.push(finding);
        } else {
            limit.name = name.into();
            limit.named = true;
        }
    }
    if let Some(value) = map.get("description") {
        limit.description = context.text(value, "description", DESCRIPTION_CHARS_MAX).map(Into::into);
    }
    if let Some(value) = map.get("owner") {
        limit.owner = context.text(value, "owner", NAME_CHARS_MAX).map(Into::into);
    }
    if let Some(value) = map.get("reviewers") {
        let names = context.texts(value, "reviewers", NAME_CHARS_MAX);
        limit.reviewers = names.into_iter().map(|(name, _)| name.to_owned()).collect();
    }
}

fn tiers<'t>(map: Value<'t>, limit: &mut PolicyLimit, context: &mut Context<'t>) {
    let Some(value) = map.get("tier_overrides") else { return };
    let Some(tiers) = context.map(value, "`tier_overrides`") else { return };
    let count = tiers.entries().count();
    if count > TIERS_MAX {
        context.error(
            "too-many",
            value.place(),
            format!("{count} tiers have numbers here, and at most {TIERS_MAX} can"),
        );
        return;
    }
    for entry in tiers.entries() {
        let (place, name_at) = (entry.value.place(), entry.key_at);
        if entry.value.text() == Some("none") {
            let tier = entry.key.to_owned();
            let (written, numbers) = (None, Numbers::Unlimited);
            limit.tiers.push(TierNumbers { tier, written, numbers, place, name_at });
            continue;
        }
        let what = format!("the tier `{}`", tollgate_http::text::shown(entry.key));
        let Some(own) = context.map(entry.value, &what) else { continue };
        context.unknown_fields(own, &[NUMBERS], &what);
        if limit.algorithm == Algorithm::Adaptive {
            in_progress::no_tier_numbers(own, context);
        }
        let Some(written) = numbers::read(own, Some(limit.algorithm), context) else { continue };
        let written = written.over(&limit.written);
        let Some(numbers) = numbers::build(&written, limit.algorithm, own, context) else { continue };
        let tier = entry.key.to_owned();
        limit.tiers.push(TierNumbers { tier, written: Some(written), numbers, place, name_at });
    }
}
