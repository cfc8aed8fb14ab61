//! Reads Limitador's limits file: a list of limits, each with conditions on the descriptors and variables that are its key.

pub(crate) mod condition;
pub(crate) mod parser;

use std::collections::HashSet;
use std::sync::Arc;

use tollgate::Limit;
use tollgate_policy::section::{Node as Yaml, SectionReader};

use self::condition::{Condition, Descriptors, Text};
use super::load::Loading;
use super::ratelimit::text;
use super::{Domain, Numbers, Rule, Values, Window};

/// Conditions of one limit, and as many variables. More are an error: a request evaluates all of them.
const EXPRESSIONS_MAX: usize = 32;
/// Characters of an expression. A longer one is an error.
const EXPRESSION_CHARS_MAX: usize = 4_096;

const LIMIT: [&str; 7] = ["namespace", "max_value", "seconds", "name", "id", "conditions", "variables"];

/// One limit.
#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) rule: Arc<Rule>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) variables: Vec<Text>,
    /// The descriptor whose status in a response is that of this limit: the first that it reads.
    pub(crate) descriptor: usize,
}

impl Conditional {
    /// The values by which the limit is counted; `None` if it does not apply: a condition is not true, or a variable is not there.
    pub(crate) fn values<'a>(&'a self, descriptors: &'a dyn Descriptors) -> Option<Values<'a>> {
        let is_true = |condition: &Condition| condition.evaluate(descriptors) == Some(true);
        if !self.conditions.iter().all(is_true) {
            return None;
        }
        self.variables.iter().map(|variable| variable.evaluate(descriptors)).collect()
    }
}

/// Reads a file.
pub(super) fn read<'t>(root: Yaml<'t>, reader: &mut SectionReader<'_, 't>, loading: &mut Loading) {
    let (mut own, mut identities) = (HashSet::new(), HashSet::new());
    for yaml in root.items() {
        let Some(map) = reader.map(yaml, "a limit") else { continue };
        reader.unknown_keys(map, LIMIT.into_iter(), "a limit");
        let Some(limit) = limit(map, reader) else { continue };
        let domain = limit.0.as_str();
        if own.insert(domain.to_owned()) {
            if !loading.is_new(domain, map.place(), reader) {
                continue;
            }
            loading.domains.insert(domain.into(), Domain::Conditions(Vec::new()));
        }
        if !identities.insert(limit.1.path.clone()) {
            let message = "this limit is there twice, because namespace, seconds, conditions and variables are those of another \
                           one: remove one of them";
            reader.error("repeated-limit", map.place(), message);
            continue;
        }
        let (domain, rule, conditions, variables, descriptor) = limit;
        let Some(rule) = loading.add(rule, map.place(), reader) else { return };
        if let Some(Domain::Conditions(limits)) = loading.domains.get_mut(&*domain) {
            limits.push(Conditional { rule, conditions, variables, descriptor });
        }
    }
}

type Read = (String, Rule, Vec<Condition>, Vec<Text>, usize);

fn limit<'t>(map: Yaml<'t>, reader: &mut SectionReader<'_, 't>) -> Option<Read> {
    let domain = required(map, "namespace", reader).and_then(|yaml| text(yaml, "namespace", reader));
    let max = required(map, "max_value", reader);
    let max = max.and_then(|yaml| reader.parsed(yaml, "max_value", |text| whole(text, Limit::COUNT_MAX)));
    let seconds = required(map, "seconds", reader);
    let longest = Limit::WINDOW_MAX.get() / 1_000_000;
    let positive = |text: &str| {
        whole(text, longest).and_then(|number| if number == 0 { Err("is 0".into()) } else { Ok(number) })
    };
    let seconds = seconds.and_then(|yaml| reader.parsed(yaml, "seconds", positive));
    let name = ["name", "id"]
        .into_iter()
        .find_map(|field| Some((field, map.get(field).filter(|yaml| !yaml.is_null())?)));
    let name = name.and_then(|(field, yaml)| text(yaml, field, reader)).unwrap_or_default();
    let (mut conditions, mut variables) = (Vec::new(), Vec::new());
    let mut written = [Vec::new(), Vec::new()];
    for (expression, yaml) in expressions(map, "conditions", reader) {
        match parser::condition(expression) {
            Ok(condition) => conditions.push(condition),
            Err(wrong) => reader.error("expression", yaml.place(), wrong.message(expression)),
        }
        written[0].push(expression.trim());
    }
    for (expression, yaml) in expressions(map, "variables", reader) {
        match parser::variable(expression) {
            Ok(variable) => variables.push(variable),
            Err(wrong) => reader.error("expression", yaml.place(), wrong.message(expression)),
        }
        written[1].push(expression.trim());
    }
    let (domain, max, seconds) = (domain?, max?, seconds?);
    // The order does not matter to its identity.
    written.iter_mut().for_each(|list| list.sort_unstable());
    let [on, by] = written.map(|list| list.join(" && "));
    let path = format!("{domain} {seconds}s if {on} by {by}");
    let descriptor = conditions.iter().map(Condition::first).chain(variables.iter().map(Text::first));
    let descriptor = descriptor.flatten().min().unwrap_or(0);
    let rule = Rule {
        id: 0,
        path: path.into(),
        name: name.into(),
        numbers: Some(Numbers { limit: max, window: Window::Seconds(seconds) }),
        is_shadow: false,
        is_quota: false,
        replaces: Box::default(),
        metadata: None,
    };
    Some((domain.into(), rule, conditions, variables, descriptor))
}

fn required<'t>(map: Yaml<'t>, field: &str, reader: &mut SectionReader<'_, 't>) -> Option<Yaml<'t>> {
    let found = map.get(field).filter(|yaml| !yaml.is_null());
    if found.is_none() {
        reader.error("missing-field", map.place(), format!("this limit has no `{field}`"));
    }
    found
}

fn expressions<'t>(
    map: Yaml<'t>,
    field: &str,
    reader: &mut SectionReader<'_, 't>,
) -> Vec<(&'t str, Yaml<'t>)> {
    let Some(list) = map.get(field).filter(|yaml| !yaml.is_null()) else { return Vec::new() };
    if !list.is_list() {
        reader.error("type", list.place(), format!("`{field}` has to be a list"));
        return Vec::new();
    }
    let count = list.items().count();
    if count > EXPRESSIONS_MAX {
        let message = format!("`{field}` has {count} entries, and may have at most {EXPRESSIONS_MAX}");
        reader.error("too-many", list.place(), message);
    }
    let items = list.items().take(EXPRESSIONS_MAX);
    items.filter_map(|yaml| Some((reader.text(yaml, field, EXPRESSION_CHARS_MAX)?, yaml))).collect()
}

fn whole(text: &str, most: u64) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|number| digits && *number <= most);
    number.ok_or_else(|| format!("is no whole number up to {most}"))
}
