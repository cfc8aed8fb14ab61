//! OpenAPI 3.0, 3.1 and 3.2: where limits stand in a document, and which operations there are. The rest of it is not judged.

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::suggest;
use crate::document::tree::{Entry, Value};
use crate::model::LimitLocation;
use crate::parse::context::Context;
use crate::parse::parsed_document::{LimitsAt, Operation, ParsedDocument, Tag};
use crate::parse::schema_fields::{ENCODED_SLASHES, NAME_CHARS_MAX};
use crate::parse::security::Security;
use crate::parse::{limit, limit_use, parameters, priorities, servers, stray_limits};

/// So many operations may a policy have. A document with more is refused.
pub const OPERATIONS_MAX: usize = 100_000;
/// The methods that a path item can have.
pub(crate) const METHODS: &[&str] = &["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// The method that OpenAPI 3.2 added.
const QUERY: &str = "query";
/// Where OpenAPI 3.2 has the operations of all other methods.
const ADDITIONAL: &str = "additionalOperations";
/// The extension.
pub(crate) const EXTENSION: &str = "x-rate-limit";

/// Whether a tree is an OpenAPI document.
pub(crate) fn is_openapi(root: Value<'_>) -> bool {
    root.get("openapi").is_some() || root.get("swagger").is_some()
}

/// What is the same for all operations of a document.
struct DocumentDefaults {
    bases: Vec<String>,
    security: Security,
    /// Whether it is of OpenAPI 3.2, which has more kinds of operations.
    has_more_methods: bool,
}

/// What is the same for all operations of a path.
struct PathItem<'a> {
    template: &'a str,
    template_at: Place,
    limits: Option<LimitsAt>,
    bases: Vec<String>,
    /// Its parameters that take several segments.
    multi: Vec<String>,
}

/// Reads a document.
pub(crate) fn read<'t>(root: Value<'t>, context: &mut Context<'t>) -> Option<ParsedDocument> {
    let root = context.map(root, "an OpenAPI document")?;
    let has_more_methods = version(root, context)?;
    let title = root.get("info").and_then(|info| info.get("title")).and_then(Value::text).unwrap_or("");
    let mut draft = ParsedDocument::new(title.chars().take(NAME_CHARS_MAX).collect());
    for entry in root.entries().filter(|entry| entry.key != "x-tollgate") {
        if suggest::nearest(entry.key, ["x-tollgate"]).is_some() {
            let message = format!("`{}` is not read", tollgate_http::text::shown(entry.key));
            let finding = Diagnostic::error("unknown-field", entry.key_at, message);
            context.findings.push(finding.help("did you mean `x-tollgate`?"));
        }
    }
    if let Some(settings) = root.get("x-tollgate").filter(|settings| settings.is_map()) {
        limit_use::define(settings, &mut draft, context);
    }
    draft.root = extension(root, &LimitLocation::Root, &mut draft, context);
    tags(root, &mut draft, context);
    let security = Security::read(root, context);
    let bases = servers::base_paths(root, context).unwrap_or_else(|| vec![String::new()]);
    draft.api_key = security.places(None);
    let mut whole = DocumentDefaults { bases, security, has_more_methods };
    let Some(paths) = root.get("paths") else {
        let finding = Diagnostic::warning(
            "no-paths",
            root.place(),
            "this document has no `paths`: it names no operation",
        );
        context.findings.push(finding);
        stray_limits::find(root, context);
        return Some(draft);
    };
    let paths = context.map(paths, "`paths`")?;
    let count = paths.entries().count();
    if count > OPERATIONS_MAX {
        let message = format!("the document has {count} paths, and at most {OPERATIONS_MAX} are read");
        context.error("too-many", paths.place(), message);
        return None;
    }
    for path in paths.entries().filter(|path| !path.key.starts_with("x-")) {
        path_item(path, &mut whole, &mut draft, context);
    }
    if draft.operations.len() > OPERATIONS_MAX {
        let count = draft.operations.len();
        context.error(
            "too-many",
            paths.place(),
            format!("the document has {count} operations, and at most {OPERATIONS_MAX} are read"),
        );
        return None;
    }
    stray_limits::find(root, context);
    Some(draft)
}

/// Whether the document is of OpenAPI 3.2; nothing if it is of a version that is not read.
fn version<'t>(root: Value<'t>, context: &mut Context<'t>) -> Option<bool> {
    if let Some(swagger) = root.get("swagger") {
        let finding = Diagnostic::error("version", swagger.place(), "this is Swagger 2.0, which is not read");
        let help = "convert it to OpenAPI 3, such as with `npx swagger2openapi --outfile openapi.yaml FILE`";
        context.findings.push(finding.help(help));
        return None;
    }
    let value = root.get("openapi")?;
    let text = context.text(value, "openapi", 100)?;
    let is = |version: &str| text.starts_with(version);
    if is("3.0.") || is("3.1.") || is("3.2.") {
        return Some(is("3.2."));
    }
    let message = format!("OpenAPI `{}` is not a version that is read", tollgate_http::text::shown(text));
    context.findings.push(
        Diagnostic::error("version", value.place(), message)
            .help("write 3.0.x, 3.1.x or 3.2.x, with all three numbers"),
    );
    None
}

/// The limits of a place, and complaints about what was probably meant to be limits.
fn extension<'t>(
    map: Value<'t>,
    at: &LimitLocation,
    draft: &mut ParsedDocument,
    context: &mut Context<'t>,
) -> Option<LimitsAt> {
    for entry in map.entries().filter(|entry| entry.key != EXTENSION && entry.key != "x-tollgate") {
        if entry.key == "<<" {
            let message = "merge keys are not part of YAML 1.2, and are not followed";
            context.findings.push(
                Diagnostic::error("merge-key", entry.key_at, message).help("write out what it would add"),
            );
        } else if looks_like_extension(entry.key) {
            let message = format!("`{}` is not read as a limit", tollgate_http::text::shown(entry.key));
            context.findings.push(
                Diagnostic::error("unknown-field", entry.key_at, message)
                    .help("did you mean `x-rate-limit`?"),
            );
        }
    }
    let limits = limit::read(map.get(EXTENSION)?, at, context);
    Some(draft.keep(limits))
}

fn looks_like_extension(key: &str) -> bool {
    // Nearly every key of a document is asked; one of the two words is right in nearly every slip.
    let has = |word: &[u8]| key.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !has(b"rate") && !has(b"limit") {
        return false;
    }
    let plain: String = key.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    let near = suggest::distance(&plain, "xratelimit") <= 2;
    near && (key.starts_with("x-") || key.starts_with("X-") || plain == "ratelimit" || plain == "xratelimit")
}

fn tags<'t>(root: Value<'t>, draft: &mut ParsedDocument, context: &mut Context<'t>) {
    for tag in root.get("tags").into_iter().flat_map(Value::items) {
        let Some(name) = tag.get("name").and_then(Value::text) else { continue };
        if let Some(other) = draft.tag(name) {
            let message = format!("the tag `{}` is repeated here", tollgate_http::text::shown(name));
            let finding = Diagnostic::error("repeated-tag", tag.place(), message);
            let finding = finding.also(other.place, "first here");
            context.findings.push(finding);
            continue;
        }
        let limits = extension(tag, &LimitLocation::Tag(name.into()), draft, context);
        let owner = tag.get("x-owner").and_then(|value| context.text(value, "x-owner", NAME_CHARS_MAX));
        let owner = owner.map(Into::into);
        let reviewers =
            tag.get("x-reviewers").map(|value| context.texts(value, "x-reviewers", NAME_CHARS_MAX));
        let reviewers = reviewers.unwrap_or_default().into_iter().map(|(name, _)| name.to_owned()).collect();
        draft.add_tag(Tag { name: name.into(), place: tag.place(), limits, owner, reviewers });
    }
}

fn path_item<'t>(
    path: Entry<'t>,
    whole: &mut DocumentDefaults,
    draft: &mut ParsedDocument,
    context: &mut Context<'t>,
) {
    let Some(trail) = context.trail(path.value) else { return };
    let what = format!("the path `{}`", tollgate_http::text::shown(path.key));
    let at = LimitLocation::Path(path.key.to_owned());
    // What stands beside a $ref is nearer than what it leads to.
    let (mut limits, mut bases, mut multi) = (None, None, Vec::new());
    for (step, item) in trail.iter().enumerate() {
        let Some(item) = context.map(*item, &what) else { return };
        if step > 0 {
            context.reached.push(item.place());
        }
        match (&limits, item.get(EXTENSION)) {
            (None, _) => limits = extension(item, &at, draft, context),
            // Another step is nearer.
            (Some(_), Some(farther)) => {
                context.used.insert((farther.tree.file, farther.id));
            }
            (Some(_), None) => {}
        }
        let here = servers::base_paths(item, context);
        bases = bases.or(here);
        multi.extend(parameters::multi_segment(item, context));
    }
    let bases = bases.unwrap_or_else(|| whole.bases.clone());
    let item = PathItem { template: path.key, template_at: path.key_at, limits, bases, multi };
    for entry in trail.iter().flat_map(|item| item.entries()) {
        let lower = entry.key.to_ascii_lowercase();
        if METHODS.contains(&entry.key) || (entry.key == QUERY && whole.has_more_methods) {
            operation(entry, lower.to_ascii_uppercase(), &item, whole, draft, context);
        } else if entry.key == ADDITIONAL && whole.has_more_methods {
            additional(entry, &item, whole, draft, context);
        } else if entry.key == QUERY || entry.key == ADDITIONAL {
            let message = format!("`{}` is not read in this version of OpenAPI", entry.key);
            let finding = Diagnostic::error("unknown-field", entry.key_at, message);
            context.findings.push(finding.help("it is of OpenAPI 3.2: write `openapi: 3.2.0`"));
        } else if METHODS.contains(&lower.as_str()) || lower == QUERY {
            let message = format!("`{}` is not read as an operation", tollgate_http::text::shown(entry.key));
            let help = format!("did you mean `{lower}`?");
            context.findings.push(Diagnostic::error("unknown-field", entry.key_at, message).help(help));
        }
    }
}

/// The operations of other methods, which are written as they are sent.
fn additional<'t>(
    entry: Entry<'t>,
    item: &PathItem<'_>,
    whole: &mut DocumentDefaults,
    draft: &mut ParsedDocument,
    context: &mut Context<'t>,
) {
    let Some(map) = context.map(entry.value, "`additionalOperations`") else { return };
    for entry in map.entries() {
        let lower = entry.key.to_ascii_lowercase();
        let is_token =
            !entry.key.is_empty() && entry.key.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
        let fixed = METHODS.contains(&lower.as_str()) || lower == QUERY;
        if !is_token || fixed {
            let message = format!("`{}` is no additional method", tollgate_http::text::shown(entry.key));
            let help = if fixed {
                format!("the path has it, under `{lower}`")
            } else {
                "methods are upper case, as they are sent: `COPY`".to_owned()
            };
            context.findings.push(Diagnostic::error("method", entry.key_at, message).help(help));
            continue;
        }
        operation(entry, entry.key.to_owned(), item, whole, draft, context);
    }
}

#[expect(clippy::too_many_arguments, reason = "what is the same for all operations of a path comes along")]
fn operation<'t>(
    entry: Entry<'t>,
    method: String,
    item: &PathItem<'_>,
    whole: &mut DocumentDefaults,
    draft: &mut ParsedDocument,
    context: &mut Context<'t>,
) {
    let template = item.template;
    let place = Place { end: entry.key_at.end, ..entry.key_at };
    let what = format!("the operation {method} {}", tollgate_http::text::shown(template));
    let Some(map) = context.map(entry.value, &what) else { return };
    if let Some(reference) = map.entry("$ref") {
        let finding = Diagnostic::error("operation-ref", reference.key_at, "an operation cannot be a $ref");
        context.findings.push(finding.help("OpenAPI has $ref for path items: refer to the whole path"));
    }
    let own = extension(map, &LimitLocation::Operation(format!("{method} {template}")), draft, context);
    let tags = map.get("tags");
    if let Some(tags) = tags.filter(|tags| !tags.is_list()) {
        context.error("type", tags.place(), format!("`tags` has to be a list, and this is {}", tags.what()));
    }
    let tags = tags.into_iter().flat_map(Value::items);
    let tags = tags.filter_map(|tag| Some((tag.text()?.to_owned(), tag.place()))).collect();
    let bases = servers::base_paths(map, context).unwrap_or_else(|| item.bases.clone());
    let priority = map.get("x-priority").and_then(|value| priorities::word(value, "x-priority", context));
    let slashes = map.get("x-encoded-slashes");
    let slashes = slashes.and_then(|value| context.word(value, "x-encoded-slashes", ENCODED_SLASHES));
    let mut multi = item.multi.clone();
    multi.extend(parameters::multi_segment(map, context));
    let asked = whole.security.required(map, context);
    draft.operations.push(Operation {
        method: Some(method),
        template: template.to_owned(),
        template_at: item.template_at,
        bases,
        native: false,
        multi,
        host: None,
        headers: Vec::new(),
        allows_slashes: slashes == Some("allow"),
        priority,
        id: map.get("operationId").and_then(Value::text).map(Into::into),
        tags,
        place,
        own,
        path: item.limits.clone(),
        api_key: whole.security.places(asked.as_ref()),
        keyless: whole.security.is_keyless(asked.as_ref()),
    });
}
