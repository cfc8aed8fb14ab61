//! The section `serve` of a native file: every setting that stands there, read by its kind. What it does is the server's.

use crate::document::tree::Value as Node;
use crate::parse::context::{Context, beside};
use crate::parse::schema_fields::serve::SERVE;
use crate::parse::schema_fields::{Field, FieldType};
use crate::serve::{FILE_CHARS_MAX, Kind, Value, Written, list, parse};
use tollgate_http::text::shown;

/// Every setting of the section, the wrong ones without a value.
pub(crate) fn read<'t>(root: Node<'t>, context: &mut Context<'t>) -> Vec<Written> {
    let mut found = Vec::new();
    if let Some(section) = root.get("serve") {
        map(section, ("serve", ""), SERVE, context, &mut found);
    }
    found
}

/// A map of settings. It is named by what it is called, and by what stands before its settings.
fn map<'t>(
    value: Node<'t>,
    (called, before): (&str, &str),
    fields: &'static [Field],
    context: &mut Context<'t>,
    found: &mut Vec<Written>,
) {
    let called = format!("`{called}`");
    let Some(map) = context.map(value, &called) else { return };
    context.unknown_fields(map, &[fields], &called);
    for field in fields {
        let Some(value) = map.get(field.name) else { continue };
        let path = format!("{before}{}", field.name);
        if let FieldType::Setting(kind) = field.kind {
            let read = setting(value, &path, kind, context);
            found.push(Written { path, value: read, place: value.place() });
        } else if let FieldType::Map(fields) = field.kind {
            self::map(value, (&path, &format!("{path}.")), fields, context, found);
        }
    }
}

fn setting<'t>(value: Node<'t>, path: &str, kind: Kind, context: &mut Context<'t>) -> Option<Value> {
    if matches!(kind.one(), Kind::File | Kind::Secret | Kind::Store | Kind::Origin) {
        return place(value, path, kind, context);
    }
    if !value.is_list() {
        return one(value, path, kind, context);
    }
    let count = value.items().count();
    let item = kind.listed().map_or(kind, |(item, _)| item);
    let items: Vec<_> = value.items().filter_map(|value| one(value, path, item, context)).collect();
    if items.len() < count {
        return None;
    }
    list(kind, items).map_err(|why| context.error("value", value.place(), format!("`{path}` {why}"))).ok()
}

/// One value that is no list. A comma in it is no list either: files have brackets.
fn one<'t>(value: Node<'t>, path: &str, kind: Kind, context: &mut Context<'t>) -> Option<Value> {
    context.parsed(value, path, |text| {
        if kind.listed().is_some() && text.contains(',') {
            return Err("is one text: write a list in brackets, such as `[a, b]`".into());
        }
        parse(kind, text)
    })
}

/// The name of a file, as seen from the file in which it stands, or the address of a server. Either may hold a secret, so the
/// value is repeated only if the grammar says that it may be.
fn place<'t>(value: Node<'t>, path: &str, kind: Kind, context: &mut Context<'t>) -> Option<Value> {
    let here = context.trees.sources.get(value.tree.file).map_or("", |source| source.name()).to_owned();
    let text = context.text(value, path, FILE_CHARS_MAX)?;
    let why = match parse(kind, text) {
        Ok(Value::Text(name)) => return Some(Value::Text(beside(&here, &name))),
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
    context.error("value", value.place(), message);
    None
}
