//! Reads the YAML of envoyproxy/ratelimit: nested descriptors with limits.

use std::sync::Arc;

use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{ListValue, Struct, Value};
use tollgate_policy::section::{Node as Yaml, SectionReader};
use tollgate_policy::{Diagnostic, Severity};

use super::load::{Loading, note};
use super::matching::{Level, Node};
use super::pattern::Pattern;
use super::{DESCRIPTORS_OF_FILE_MAX, Domain, Numbers, Rule, Window};
use crate::unit::Unit;

/// Characters of a domain, a key, a value or a name. A longer one is an error.
const TEXT_CHARS_MAX: usize = 4_096;
/// Values of all `metadata` of one limit together. More are an error: every response that shows them has them all.
const METADATA_VALUES_MAX: usize = 256;

const ROOT: [&str; 2] = ["domain", "descriptors"];
const DESCRIPTOR: [&str; 10] = [
    "key",
    "value",
    "rate_limit",
    "descriptors",
    "shadow_mode",
    "quota_mode",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
    "metadata",
];
const RATE_LIMIT: [&str; 5] = ["unit", "requests_per_unit", "unlimited", "name", "replaces"];

/// Reads a file.
pub(super) fn read<'t>(root: Yaml<'t>, reader: &mut SectionReader<'_, 't>, loading: &mut Loading) {
    reader.unknown_keys(root, ROOT.into_iter(), "a limits file");
    let Some(domain) = root.get("domain") else {
        let message =
            "the file has no `domain`: add the domain that Envoy's filter names, such as `domain: edge`";
        return reader.error("missing-field", root.place(), message);
    };
    let Some(name) = text(domain, "domain", reader) else { return };
    if !loading.is_new(name, domain.place(), reader) {
        return;
    }
    let mut file = File { loading, descriptors: 0 };
    let level = file.level(root, name, reader);
    loading.domains.insert(name.into(), Domain::Tree(level));
}

struct File<'l> {
    loading: &'l mut Loading,
    /// How many have been read, those behind aliases once for each alias.
    descriptors: usize,
}

impl File<'_> {
    /// The descriptors of a map: of the root, or of a descriptor.
    fn level<'t>(&mut self, map: Yaml<'t>, path: &str, reader: &mut SectionReader<'_, 't>) -> Level {
        let mut level = Level::default();
        let Some(list) = map.get("descriptors").filter(|list| !list.is_null()) else { return level };
        if !list.is_list() {
            reader.error("type", list.place(), "`descriptors` has to be a list");
            return level;
        }
        for descriptor in list.items() {
            if self.descriptors >= DESCRIPTORS_OF_FILE_MAX {
                if self.descriptors == DESCRIPTORS_OF_FILE_MAX {
                    let message =
                        format!("the file has more than {DESCRIPTORS_OF_FILE_MAX} descriptors: split it");
                    reader.error("too-many", descriptor.place(), message);
                    self.descriptors = self.descriptors.saturating_add(1);
                }
                return level;
            }
            self.descriptors = self.descriptors.saturating_add(1);
            self.descriptor(descriptor, path, &mut level, reader);
        }
        level
    }

    fn descriptor<'t>(
        &mut self,
        yaml: Yaml<'t>,
        path: &str,
        level: &mut Level,
        reader: &mut SectionReader<'_, 't>,
    ) {
        let Some(map) = reader.map(yaml, "a descriptor") else { return };
        reader.unknown_keys(map, DESCRIPTOR.into_iter(), "a descriptor");
        let Some(key) = map.get("key") else {
            return reader.error("missing-field", map.place(), "this descriptor has no `key`");
        };
        let Some(key) = text(key, "key", reader) else { return };
        let value = map.get("value").filter(|value| !value.is_null());
        let value = value.map(|value| reader.text(value, "value", TEXT_CHARS_MAX).unwrap_or_default());
        let value = value.filter(|value| !value.is_empty());
        let path = match value {
            None => format!("{path}.{key}"),
            Some(value) => format!("{path}.{key}_{value}"),
        };
        let pattern = value.and_then(Pattern::of);
        let is_shared = flag(map, "share_threshold", reader);
        if is_shared && pattern.is_none() {
            let place = map.get("share_threshold").map_or(map.place(), Yaml::place);
            let message = "`share_threshold` has no effect here, because `value` has no wildcard";
            reader.advise(note("no-effect", place, message));
        }
        for field in ["detailed_metric", "value_to_metric"] {
            if flag(map, field, reader) {
                let message =
                    format!("`{field}` has no effect: values that clients send are never labels of metrics");
                reader.advise(note("no-effect", map.get(field).map_or(map.place(), Yaml::place), message));
            }
        }
        let rule = self.rule(map, &path, reader);
        let below = self.level(map, &path, reader);
        let node = Node { rule, below, is_shared };
        let of_key = level.0.entry(key.into()).or_default();
        let is_taken = match (value, pattern) {
            (None, _) => of_key.any.replace(node.into()).is_some(),
            (Some(_), Some(pattern)) => {
                let is_taken = of_key.wildcards.iter().any(|(known, _)| *known == pattern);
                of_key.wildcards.push((pattern, node));
                is_taken
            }
            (Some(value), None) => of_key.exact.insert(value.into(), node).is_some(),
        };
        if is_taken {
            let message = format!("the descriptor `{path}` is there twice: remove one of them");
            reader.error("repeated-descriptor", map.place(), message);
        }
    }

    fn rule<'t>(
        &mut self,
        map: Yaml<'t>,
        path: &str,
        reader: &mut SectionReader<'_, 't>,
    ) -> Option<Arc<Rule>> {
        let is_shadow = flag(map, "shadow_mode", reader);
        let is_quota = flag(map, "quota_mode", reader);
        let metadata = map.get("metadata").and_then(|yaml| metadata(yaml, reader));
        let limit = map.get("rate_limit").filter(|limit| !limit.is_null())?;
        let limit = reader.map(limit, "`rate_limit`")?;
        reader.unknown_keys(limit, RATE_LIMIT.into_iter(), "`rate_limit`");
        let name = limit.get("name").and_then(|name| text(name, "name", reader)).unwrap_or_default();
        let replaces = replaces(limit, name, reader);
        let numbers = numbers(limit, reader)?;
        let rule = Rule {
            id: 0,
            path: path.into(),
            name: name.into(),
            numbers,
            is_shadow,
            is_quota,
            replaces,
            metadata,
        };
        self.loading.add(rule, limit.place(), reader)
    }
}

/// The numbers of a limit: `Some(None)` if it is unlimited, `None` with an error if they are wrong.
#[expect(clippy::option_option, reason = "unlimited and wrong are different")]
fn numbers<'t>(limit: Yaml<'t>, reader: &mut SectionReader<'_, 't>) -> Option<Option<Numbers>> {
    let unit = limit.get("unit").filter(|unit| !unit.is_null());
    if flag(limit, "unlimited", reader) {
        if let Some(unit) = unit {
            reader.error(
                "contradiction",
                unit.place(),
                "an unlimited `rate_limit` has no `unit`: remove one of them",
            );
            return None;
        }
        return Some(None);
    }
    let Some(unit) = unit else {
        let message = "this `rate_limit` has no `unit`: write `unit: minute`, or `unlimited: true`";
        reader.error("missing-field", limit.place(), message);
        return None;
    };
    let unit = reader.parsed(unit, "unit", |text| {
        let names = Unit::ALL.map(|(name, _)| name).join(", ");
        Unit::named(text).ok_or_else(|| format!("is no unit: write one of {names}"))
    })?;
    let Some(count) = limit.get("requests_per_unit") else {
        let message = "`requests_per_unit` is missing, which means 0: every request is refused";
        let warning = Diagnostic::new(Severity::Warning, "missing-field", limit.place(), message.into());
        reader.advise(warning);
        return Some(Some(Numbers { limit: 0, window: Window::Unit(unit) }));
    };
    let count = reader.parsed(count, "requests_per_unit", |text| {
        let wrong = || format!("is no whole number from 0 to {}", u32::MAX);
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits).ok_or_else(wrong)
    })?;
    Some(Some(Numbers { limit: count.into(), window: Window::Unit(unit) }))
}

fn replaces<'t>(limit: Yaml<'t>, own: &str, reader: &mut SectionReader<'_, 't>) -> Box<[Box<str>]> {
    let Some(list) = limit.get("replaces").filter(|list| !list.is_null()) else { return Box::default() };
    if !list.is_list() {
        reader.error(
            "type",
            list.place(),
            "`replaces` has to be a list, such as `replaces: [{ name: other }]`",
        );
        return Box::default();
    }
    let mut names: Vec<Box<str>> = Vec::new();
    for entry in list.items() {
        let Some(map) = reader.map(entry, "an entry of `replaces`") else { continue };
        reader.unknown_keys(map, ["name"].into_iter(), "an entry of `replaces`");
        let Some(name) = map.get("name") else {
            reader.error("missing-field", map.place(), "this entry of `replaces` has no `name`");
            continue;
        };
        let Some(replaced) = text(name, "name", reader) else { continue };
        if replaced == own {
            reader.error("contradiction", name.place(), "a limit cannot replace itself: name another one");
            continue;
        }
        names.push(replaced.into());
    }
    names.into()
}

/// A text that is not empty, or an error.
pub(super) fn text<'t>(yaml: Yaml<'t>, what: &str, reader: &mut SectionReader<'_, 't>) -> Option<&'t str> {
    let text = reader.text(yaml, what, TEXT_CHARS_MAX)?;
    if text.is_empty() {
        reader.error("empty", yaml.place(), format!("`{what}` is empty"));
        return None;
    }
    Some(text)
}

/// A flag: false if it is not there, or, with an error, if it is wrong.
fn flag<'t>(map: Yaml<'t>, name: &str, reader: &mut SectionReader<'_, 't>) -> bool {
    let Some(value) = map.get(name).filter(|value| !value.is_null()) else { return false };
    let parsed = reader.parsed(value, name, |text| match text {
        "true" | "True" | "TRUE" => Ok(true),
        "false" | "False" | "FALSE" => Ok(false),
        _ => Err("is neither `true` nor `false`".into()),
    });
    parsed.unwrap_or(false)
}

fn metadata<'t>(yaml: Yaml<'t>, reader: &mut SectionReader<'_, 't>) -> Option<Struct> {
    if yaml.is_null() {
        return None;
    }
    let map = reader.map(yaml, "`metadata`")?;
    let mut left = METADATA_VALUES_MAX;
    let fields = fields(map, &mut left);
    if fields.is_none() {
        let message = format!("`metadata` has more than {METADATA_VALUES_MAX} values");
        reader.error("too-many", map.place(), message);
    }
    fields
}

/// `None` if there are too many values.
fn fields(map: Yaml<'_>, left: &mut usize) -> Option<Struct> {
    let mut fields = Struct::default();
    for entry in map.entries() {
        fields.fields.insert(entry.key.into(), value(entry.value, left)?);
    }
    Some(fields)
}

fn value(yaml: Yaml<'_>, left: &mut usize) -> Option<Value> {
    *left = left.checked_sub(1)?;
    let kind = if yaml.is_map() {
        Kind::StructValue(fields(yaml, left)?)
    } else if yaml.is_list() {
        let values = yaml.items().map(|item| value(item, left)).collect::<Option<_>>()?;
        Kind::ListValue(ListValue { values })
    } else {
        scalar(yaml)
    };
    Some(Value { kind: Some(kind) })
}

fn scalar(yaml: Yaml<'_>) -> Kind {
    let text = yaml.text().unwrap_or_default();
    if yaml.is_null() {
        return Kind::NullValue(0);
    }
    match text {
        "true" | "True" | "TRUE" if yaml.is_plain() => Kind::BoolValue(true),
        "false" | "False" | "FALSE" if yaml.is_plain() => Kind::BoolValue(false),
        _ => {
            let number =
                |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            let parsed = text.parse::<f64>().ok().filter(|parsed| parsed.is_finite());
            match parsed.filter(|_| yaml.is_plain() && number(text)) {
                Some(parsed) => Kind::NumberValue(parsed),
                None => Kind::StringValue(text.into()),
            }
        }
    }
}
