//! Parses the section `serve` of a native file, field by field.

use tollgate_http::text::shown;
use tollgate_policy::section::{Node, SectionReader};

use super::config_file::FileSetting;
use super::definitions::{Field, FieldType, SERVE};
use super::kind::{FILE_CHARS_MAX, Kind, list, parse};
use super::value::Value;

/// Every setting of the section, the wrong ones without a value.
pub(crate) fn read<'t>(section: Node<'t>, reader: &mut SectionReader<'_, 't>) -> Vec<FileSetting> {
    let mut found = Vec::new();
    map(section, ("serve", ""), SERVE, reader, &mut found);
    found
}

/// Adds what is wrong with the section to the findings.
pub(crate) fn check<'t>(section: Node<'t>, reader: &mut SectionReader<'_, 't>) {
    read(section, reader);
}

/// A map of settings. It is named by what it is called, and by what stands before its settings.
fn map<'t>(
    value: Node<'t>,
    (called, before): (&str, &str),
    fields: &'static [Field],
    reader: &mut SectionReader<'_, 't>,
    found: &mut Vec<FileSetting>,
) {
    let called = format!("`{called}`");
    let Some(map) = reader.map(value, &called) else { return };
    reader.unknown_keys(map, fields.iter().map(|field| field.name), &called);
    for field in fields {
        let Some(value) = map.get(field.name) else { continue };
        let path = format!("{before}{}", field.name);
        if let FieldType::Setting(kind) = field.kind {
            let read = setting(value, &path, kind, reader);
            found.push(FileSetting { path, value: read, place: value.place() });
        } else if let FieldType::Map(fields) = field.kind {
            self::map(value, (&path, &format!("{path}.")), fields, reader, found);
        }
    }
}

fn setting<'t>(value: Node<'t>, path: &str, kind: Kind, reader: &mut SectionReader<'_, 't>) -> Option<Value> {
    if matches!(kind.one(), Kind::File | Kind::Secret | Kind::Store | Kind::Origin) {
        return place(value, path, kind, reader);
    }
    if !value.is_list() {
        return one(value, path, kind, reader);
    }
    let count = value.items().count();
    let item = kind.listed().map_or(kind, |(item, _)| item);
    let items: Vec<_> = value.items().filter_map(|value| one(value, path, item, reader)).collect();
    if items.len() < count {
        return None;
    }
    list(kind, items).map_err(|why| reader.error("value", value.place(), format!("`{path}` {why}"))).ok()
}

/// One value that is no list. A comma in it is no list either: files have brackets.
fn one<'t>(value: Node<'t>, path: &str, kind: Kind, reader: &mut SectionReader<'_, 't>) -> Option<Value> {
    reader.parsed(value, path, |text| {
        if kind.listed().is_some() && text.contains(',') {
            return Err("is one text: write a list in brackets, such as `[a, b]`".into());
        }
        parse(kind, text)
    })
}

/// The name of a file, as seen from the file in which it stands, or the address of a server; or a list of such. Any may hold a secret,
/// so the value is repeated only if the grammar says that it may be.
fn place<'t>(value: Node<'t>, path: &str, kind: Kind, reader: &mut SectionReader<'_, 't>) -> Option<Value> {
    if let (true, Some((item, _))) = (value.is_list(), kind.listed()) {
        let count = value.items().count();
        let items: Vec<_> = value.items().filter_map(|value| place(value, path, item, reader)).collect();
        if items.len() < count {
            return None;
        }
        let whole = list(kind, items);
        return whole.map_err(|why| reader.error("value", value.place(), format!("`{path}` {why}"))).ok();
    }
    let text = reader.text(value, path, FILE_CHARS_MAX)?;
    let why = match parse(kind, text) {
        Ok(Value::Text(name)) => return Some(Value::Text(reader.beside(value, &name))),
        Ok(Value::List(names)) => {
            let beside = |name: Value| {
                if let Value::Text(name) = name { Value::Text(reader.beside(value, &name)) } else { name }
            };
            return Some(Value::List(names.into_iter().map(beside).collect()));
        }
        Ok(other) => return Some(other),
        Err(why) => why,
    };
    let message = if !why.starts_with(|first: char| first.is_ascii_lowercase()) {
        format!("`{path}`: {why}")
    } else if matches!(kind.one(), Kind::Origin) {
        format!("`{path}: {}` {why}", shown(text))
    } else {
        format!("`{path}` {why}")
    };
    reader.error("value", value.place(), message);
    None
}

#[cfg(test)]
mod tests;
