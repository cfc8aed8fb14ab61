//! The native file, `tollgate.yaml`: the same words for people without OpenAPI, and what a gateway needs.

use http::HeaderName;

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::suggest;
use crate::document::tree::Value;
use crate::model::LimitLocation;
use crate::parse::context::{Context, beside};
use crate::parse::identity::header;
use crate::parse::openapi::OPERATIONS_MAX;
use crate::parse::parsed_document::{LimitsAt, Operation, ParsedDocument, Tag, asked_for};
use crate::parse::schema_fields::{
    ENCODED_SLASHES, NAME_CHARS_MAX, NATIVE, PATH_CHARS_MAX, ROUTE, SETTINGS, TAG,
};
use crate::parse::{limit, limit_use, priorities};

/// The root of a native file: of a version that is known, and its unknown fields pointed at.
pub(crate) fn root<'t>(root: Value<'t>, context: &mut Context<'t>) -> Option<Value<'t>> {
    let root = context.map(root, "a Tollgate file")?;
    match root.get("tollgate") {
        None => {
            let finding = Diagnostic::error(
                "version",
                root.place(),
                "this is neither a Tollgate file nor an OpenAPI document",
            );
            context.findings.push(finding.help("begin it with `tollgate: 1` or `openapi: 3.1.0`"));
            return None;
        }
        Some(version) => {
            context.word(version, "tollgate", &["1"])?;
        }
    }
    context.unknown_fields(root, &[NATIVE, SETTINGS], "a Tollgate file");
    Some(root)
}

/// Reads the native file itself. The OpenAPI documents that it names are read by themselves: see [`documents`].
pub(crate) fn read<'t>(root: Value<'t>, context: &mut Context<'t>) -> Option<ParsedDocument> {
    let root = self::root(root, context)?;
    let mut draft = ParsedDocument::new(String::new());
    limit_use::define(root, &mut draft, context);
    draft.root = limits(root, &LimitLocation::Root, &mut draft, context);
    tags(root, &mut draft, context);
    if let Some(routes) = root.get("routes") {
        if !routes.is_list() {
            context.error(
                "type",
                routes.place(),
                format!("`routes` has to be a list, and this is {}", routes.what()),
            );
        }
        for route in routes.items().take(OPERATIONS_MAX) {
            self::route(route, &mut draft, context);
        }
        let count = routes.items().count();
        if count > OPERATIONS_MAX {
            context.error(
                "too-many",
                routes.place(),
                format!("there are {count} routes, and at most {OPERATIONS_MAX} are read"),
            );
        }
    }
    Some(draft)
}

/// The OpenAPI documents that a native file names.
pub(crate) fn documents<'t>(root: Value<'t>, context: &mut Context<'t>) -> Vec<(String, Place)> {
    let here = context.trees.sources.get(root.tree.file).map_or("", |source| source.name()).to_owned();
    let Some(value) = root.get("openapi") else { return Vec::new() };
    let names = context.texts(value, "openapi", PATH_CHARS_MAX);
    names.into_iter().map(|(name, place)| (beside(&here, name), place)).collect()
}

fn limits<'t>(
    map: Value<'t>,
    at: &LimitLocation,
    draft: &mut ParsedDocument,
    context: &mut Context<'t>,
) -> Option<LimitsAt> {
    let limits = limit::read(map.get("rate_limit")?, at, context);
    Some(draft.keep(limits))
}

fn tags<'t>(root: Value<'t>, draft: &mut ParsedDocument, context: &mut Context<'t>) {
    let Some(tags) = root.get("tags") else { return };
    let Some(tags) = context.map(tags, "`tags`") else { return };
    for entry in tags.entries() {
        let what = format!("the tag `{}`", tollgate_http::text::shown(entry.key));
        let Some(map) = context.map(entry.value, &what) else { continue };
        context.unknown_fields(map, &[TAG], &what);
        let name = entry.key.to_owned();
        let limits = limits(map, &LimitLocation::Tag(name.clone()), draft, context);
        let owner =
            map.get("owner").and_then(|value| context.text(value, "owner", NAME_CHARS_MAX)).map(Into::into);
        let reviewers = map.get("reviewers").map(|value| context.texts(value, "reviewers", NAME_CHARS_MAX));
        let reviewers = reviewers.unwrap_or_default().into_iter().map(|(name, _)| name.to_owned()).collect();
        draft.add_tag(Tag { name, place: entry.key_at, limits, owner, reviewers });
    }
}

fn route<'t>(value: Value<'t>, draft: &mut ParsedDocument, context: &mut Context<'t>) {
    let Some(map) = context.map(value, "a route") else { return };
    context.unknown_fields(map, &[ROUTE], "a route");
    let Some(path) = map.get("path") else {
        let finding = Diagnostic::error("missing-field", map.place(), "this route has no `path`");
        context.findings.push(
            finding.help("add one, such as `path: '/reports/{id}'`, or `path: '/{rest*}'` for every path"),
        );
        return;
    };
    let Some(template) = context.text(path, "path", PATH_CHARS_MAX) else { return };
    let methods = map.get("methods").map(|value| methods(value, context));
    let mut text = |field: &str| {
        let value = map.get(field)?;
        Some((context.text(value, field, NAME_CHARS_MAX)?.to_owned(), value.place()))
    };
    let (name, host) = (text("name"), text("host"));
    let headers = map.get("headers").map(|value| headers((value, "headers"), context)).unwrap_or_default();
    let priority = map.get("priority").and_then(|value| priorities::word(value, "priority", context));
    let slashes = map.get("encoded_slashes");
    let slashes = slashes.and_then(|value| context.word(value, "encoded_slashes", ENCODED_SLASHES));
    let tags = map.get("tags").map(|value| context.texts(value, "tags", NAME_CHARS_MAX)).unwrap_or_default();
    for (tag, place) in tags.iter().filter(|(tag, _)| draft.tag(tag).is_none()) {
        // Tags may group without saying anything; one that is nearly a declared one is a slip that would cost its limits.
        let declared = draft.tags().iter().map(|known| known.name.as_str());
        if let Some(help) = suggest::did_you_mean(tag, declared) {
            let message = format!("no tag `{}` is declared under `tags`", tollgate_http::text::shown(tag));
            context.findings.push(Diagnostic::error("unknown-tag", *place, message).help(help));
        }
    }
    let tags: Vec<_> = tags.into_iter().map(|(tag, place)| (tag.to_owned(), place)).collect();
    let spoken = match (&name, &methods) {
        (Some((name, _)), _) => name.clone(),
        (None, Some(methods)) if !methods.is_empty() => format!("{} {template}", methods.join(",")),
        (None, _) => format!("* {template}"),
    };
    let spoken = if name.is_none() {
        format!("{spoken}{}", asked_for(host.as_ref().map(|(host, _)| host.as_str()), &headers))
    } else {
        spoken
    };
    let own = limits(map, &LimitLocation::Operation(spoken), draft, context);
    let methods: Vec<_> = methods.map_or_else(|| vec![None], |list| list.into_iter().map(Some).collect());
    for method in methods {
        draft.operations.push(Operation {
            method,
            template: template.to_owned(),
            template_at: path.place(),
            bases: vec![String::new()],
            native: true,
            multi: Vec::new(),
            host: host.clone(),
            headers: headers.clone(),
            allows_slashes: slashes == Some("allow"),
            priority,
            id: name.as_ref().map(|(name, _)| name.clone()),
            tags: tags.clone(),
            place: map.place(),
            own: own.clone(),
            path: None,
            api_key: Vec::new(),
            keyless: false,
        });
    }
}

fn methods<'t>(value: Value<'t>, context: &mut Context<'t>) -> Vec<String> {
    let texts = context.texts(value, "methods", 32);
    if value.is_list() && value.items().count() == 0 {
        let finding =
            Diagnostic::error("empty", value.place(), "this route has no method: nothing would meet it");
        context.findings.push(finding.help("leave `methods` out for every method"));
    }
    let mut methods: Vec<String> = Vec::new();
    for (text, place) in texts {
        if !is_method(text) {
            let message = format!("`{}` is not a method", tollgate_http::text::shown(text));
            let upper = text.to_ascii_uppercase();
            let help = if is_method(&upper) {
                format!("methods are upper case: `{}`", tollgate_http::text::shown(&upper))
            } else {
                "a method is one word of upper-case letters and hyphens, such as `GET`".to_owned()
            };
            context.findings.push(Diagnostic::error("method", place, message).help(help));
        } else if !methods.iter().any(|method| method == text) {
            methods.push(text.to_owned());
        }
    }
    methods
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

/// Headers and their values; nothing as a value is any value.
pub(crate) fn headers<'t>(
    (value, field): (Value<'t>, &str),
    context: &mut Context<'t>,
) -> Vec<(HeaderName, Option<String>)> {
    let Some(map) = context.map(value, &format!("`{field}`")) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in map.entries() {
        match header(entry.key) {
            Err(why) => context.error("header", entry.key_at, why),
            Ok(name) if entry.value.is_null() => found.push((name, None)),
            Ok(name) => {
                let text = context.text(entry.value, entry.key, PATH_CHARS_MAX);
                found.extend(text.map(|text| (name, Some(text.to_owned()))));
            }
        }
    }
    found
}
