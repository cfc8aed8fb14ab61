//! OpenAPI 3.0 and 3.1: where limits stand in a document, and which operations there are. The rest of it is not judged.

use std::collections::HashMap;

use http::header::AUTHORIZATION;

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::suggest;
use crate::document::tree::{Entry, Value};
use crate::model::{KeyPlace, Where};
use crate::parse::context::Context;
use crate::parse::identity::key_place;
use crate::parse::parsed_document::{LimitsAt, Operation, ParsedDocument, Tag};
use crate::parse::schema_fields::NAME_CHARS_MAX;
use crate::parse::{limit, limit_use, servers};

/// So many operations may a policy have. A document with more is refused.
pub const OPERATIONS_MAX: usize = 100_000;
/// The methods that a path item can have.
pub(crate) const METHODS: &[&str] = &["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// The extension.
const EXTENSION: &str = "x-rate-limit";

/// Whether a tree is an OpenAPI document.
pub(crate) fn is_openapi(root: Value<'_>) -> bool {
    root.get("openapi").is_some() || root.get("swagger").is_some()
}

/// What is the same for all operations of a document.
struct Whole {
    bases: Vec<String>,
    /// The document's API keys, by the name of their scheme.
    schemes: HashMap<String, KeyPlace>,
    names: Vec<String>,
    /// The schemes that the document asks for unless an operation says otherwise.
    security: Vec<Vec<String>>,
}

/// Reads a document.
pub(crate) fn read<'t>(root: Value<'t>, context: &mut Context<'t>) -> Option<ParsedDocument> {
    let root = context.map(root, "an OpenAPI document")?;
    version(root, context)?;
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
    draft.root = extension(root, &Where::Root, &mut draft, context);
    tags(root, &mut draft, context);
    let (schemes, names) = schemes(root, context);
    let bases = servers::base_paths(root, context).unwrap_or_else(|| vec![String::new()]);
    let security = required(root).unwrap_or_default();
    let whole = Whole { bases, schemes, names, security };
    draft.api_key = whole.places(None);
    let Some(paths) = root.get("paths") else {
        let finding = Diagnostic::warning(
            "no-paths",
            root.place(),
            "this document has no `paths`: it names no operation",
        );
        context.findings.push(finding);
        stray_limits(root, context);
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
        path_item(path, &whole, &mut draft, context);
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
    stray_limits(root, context);
    Some(draft)
}

fn version<'t>(root: Value<'t>, context: &mut Context<'t>) -> Option<()> {
    if let Some(swagger) = root.get("swagger") {
        let finding = Diagnostic::error("version", swagger.place(), "this is Swagger 2.0, which is not read");
        context.findings.push(finding.help("convert it to OpenAPI 3.0 or 3.1"));
        return None;
    }
    let value = root.get("openapi")?;
    let text = context.text(value, "openapi", 100)?;
    if text.starts_with("3.0.") || text.starts_with("3.1.") {
        return Some(());
    }
    let message = format!("OpenAPI `{}` is not a version that is read", tollgate_http::text::shown(text));
    context.findings.push(
        Diagnostic::error("version", value.place(), message)
            .help("write 3.0.x or 3.1.x, with all three numbers"),
    );
    None
}

/// The limits of a place, and complaints about what was probably meant to be limits.
fn extension<'t>(
    map: Value<'t>,
    at: &Where,
    draft: &mut ParsedDocument,
    context: &mut Context<'t>,
) -> Option<LimitsAt> {
    for entry in map.entries().filter(|entry| entry.key != EXTENSION && entry.key != "x-tollgate") {
        if entry.key == "<<" {
            let message = "merge keys are not part of YAML 1.2, and are not followed";
            context.findings.push(
                Diagnostic::error("merge-key", entry.key_at, message).help("write it out, or use $ref"),
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
            let message = format!("the tag `{}` stands here a second time", tollgate_http::text::shown(name));
            let finding = Diagnostic::error("repeated-tag", tag.place(), message);
            let finding = finding.also(other.place, "here it stands first");
            context.findings.push(finding);
            continue;
        }
        let limits = extension(tag, &Where::Tag(name.into()), draft, context);
        let owner = tag.get("x-owner").and_then(|value| context.text(value, "x-owner", NAME_CHARS_MAX));
        let owner = owner.map(Into::into);
        let reviewers =
            tag.get("x-reviewers").map(|value| context.texts(value, "x-reviewers", NAME_CHARS_MAX));
        let reviewers = reviewers.unwrap_or_default().into_iter().map(|(name, _)| name.to_owned()).collect();
        draft.add_tag(Tag { name: name.into(), place: tag.place(), limits, owner, reviewers });
    }
}

/// The place of a key that is in the `Authorization` header, by a security scheme's type and its HTTP scheme.
fn credentials(kind: Option<&str>, scheme: Option<&str>) -> Option<KeyPlace> {
    let is = |known: &str| scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(known));
    match kind {
        Some("http") if is("bearer") => Some(KeyPlace::Bearer),
        Some("http") if is("basic") => Some(KeyPlace::Basic),
        // Their access tokens are bearer tokens (RFC 6750).
        Some("oauth2" | "openIdConnect") => Some(KeyPlace::Bearer),
        _ => None,
    }
}

/// The keys among the security schemes, in the order of the document.
fn schemes<'t>(root: Value<'t>, context: &mut Context<'t>) -> (HashMap<String, KeyPlace>, Vec<String>) {
    let (mut places, mut names) = (HashMap::new(), Vec::new());
    let schemes = root.get("components").and_then(|components| components.get("securitySchemes"));
    for entry in schemes.into_iter().flat_map(Value::entries) {
        let Some(scheme) = context.resolve(entry.value) else { continue };
        let text = |field: &str| scheme.get(field).and_then(Value::text);
        if let Some(found) = credentials(text("type"), text("scheme")) {
            places.insert(entry.key.to_owned(), found);
            names.push(entry.key.to_owned());
            continue;
        }
        let (Some("apiKey"), Some(place), Some(name)) = (text("type"), text("in"), text("name")) else {
            continue;
        };
        let Ok(found) = key_place(&format!("{place}:{name}")) else {
            let message = format!(
                "an API key cannot stand in `{}: {}`",
                tollgate_http::text::shown(place),
                tollgate_http::text::shown(name)
            );
            let finding = Diagnostic::error("security-scheme", scheme.place(), message);
            context
                .findings
                .push(finding.help("`in` is one of header, query and cookie, and `name` is its name"));
            continue;
        };
        places.insert(entry.key.to_owned(), found);
        names.push(entry.key.to_owned());
    }
    (places, names)
}

/// The schemes that a map's `security` asks for: one of these alternatives, all schemes of it.
fn required(map: Value<'_>) -> Option<Vec<Vec<String>>> {
    let alternatives = map.get("security")?.items();
    let schemes = |one: Value<'_>| one.entries().map(|entry| entry.key.to_owned()).collect();
    Some(alternatives.map(schemes).collect())
}

impl Whole {
    /// Where the API key of an operation stands: where its own schemes say, else where any scheme of the document says.
    fn places(&self, own: Option<&[Vec<String>]>) -> Vec<KeyPlace> {
        without_doubles(self.all_places(own))
    }

    /// Whether credentials are asked for, and none of them yields a key.
    fn is_keyless(&self, own: Option<&[Vec<String>]>) -> bool {
        let asked = own.unwrap_or(&self.security);
        let mut schemes = asked.iter().flatten().peekable();
        schemes.peek().is_some() && !schemes.any(|name| self.schemes.contains_key(name))
    }

    fn all_places(&self, own: Option<&[Vec<String>]>) -> Vec<KeyPlace> {
        let asked = own.unwrap_or(&self.security);
        let mut places: Vec<KeyPlace> = Vec::new();
        let mut add = |place: KeyPlace| {
            if !places.contains(&place) {
                places.push(place);
            }
        };
        for alternative in asked {
            let known: Vec<_> =
                alternative.iter().filter_map(|name| self.schemes.get(name)).cloned().collect();
            match known.len() {
                0 => {}
                1 => known.into_iter().for_each(&mut add),
                _ => {
                    let mut known = without_doubles(known);
                    known.dedup();
                    add(if known.len() == 1 { known.remove(0) } else { KeyPlace::Together(known) });
                }
            }
        }
        if places.is_empty() {
            let all = self.names.iter().filter_map(|name| self.schemes.get(name));
            for place in all.cloned() {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }
}

/// A place that reads the whole `Authorization` header reads its bearer token and its user name, too: the same key would be
/// found twice.
pub(crate) fn without_doubles(mut places: Vec<KeyPlace>) -> Vec<KeyPlace> {
    if places.contains(&KeyPlace::Header(AUTHORIZATION)) {
        places.retain(|place| !matches!(place, KeyPlace::Bearer | KeyPlace::Basic));
    }
    places
}

fn path_item<'t>(path: Entry<'t>, whole: &Whole, draft: &mut ParsedDocument, context: &mut Context<'t>) {
    let Some(trail) = context.trail(path.value) else { return };
    let what = format!("the path `{}`", tollgate_http::text::shown(path.key));
    let at = Where::Path(path.key.to_owned());
    // What stands beside a $ref is nearer than what it leads to.
    let (mut limits, mut bases) = (None, None);
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
    }
    let bases = bases.unwrap_or_else(|| whole.bases.clone());
    for entry in trail.iter().flat_map(|item| item.entries()) {
        if METHODS.contains(&entry.key) {
            operation(entry, (path.key, path.key_at), &limits, (whole, &bases), draft, context);
        } else if METHODS.contains(&entry.key.to_ascii_lowercase().as_str()) {
            let message = format!("`{}` is not read as an operation", tollgate_http::text::shown(entry.key));
            let help = format!("did you mean `{}`?", entry.key.to_ascii_lowercase());
            context.findings.push(Diagnostic::error("unknown-field", entry.key_at, message).help(help));
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "what is the same for all operations of a path comes along")]
fn operation<'t>(
    entry: Entry<'t>,
    (template, template_at): (&str, Place),
    path: &Option<LimitsAt>,
    (whole, bases): (&Whole, &[String]),
    draft: &mut ParsedDocument,
    context: &mut Context<'t>,
) {
    let method = entry.key.to_ascii_uppercase();
    let place = Place { end: entry.key_at.end, ..entry.key_at };
    let what = format!("the operation {method} {}", tollgate_http::text::shown(template));
    let Some(map) = context.map(entry.value, &what) else { return };
    if let Some(reference) = map.entry("$ref") {
        let finding = Diagnostic::error("operation-ref", reference.key_at, "an operation cannot be a $ref");
        context.findings.push(finding.help("OpenAPI has $ref for path items: refer to the whole path"));
    }
    let own = extension(map, &Where::Operation(format!("{method} {template}")), draft, context);
    let tags = map.get("tags");
    if let Some(tags) = tags.filter(|tags| !tags.is_list()) {
        context.error("type", tags.place(), format!("`tags` has to be a list, and this is {}", tags.what()));
    }
    let tags = tags.into_iter().flat_map(Value::items);
    let tags = tags.filter_map(|tag| Some((tag.text()?.to_owned(), tag.place()))).collect();
    let bases = servers::base_paths(map, context).unwrap_or_else(|| bases.to_vec());
    draft.operations.push(Operation {
        method: Some(method),
        template: template.to_owned(),
        template_at,
        bases,
        native: false,
        host: None,
        headers: Vec::new(),
        id: map.get("operationId").and_then(Value::text).map(Into::into),
        tags,
        place,
        own,
        path: path.clone(),
        api_key: whole.places(required(map).as_deref()),
        keyless: whole.is_keyless(required(map).as_deref()),
    });
}

/// Points at every `x-rate-limit` that stands where nobody reads it: silence would be "not limited". In other files, only
/// what was referred to is looked through.
fn stray_limits<'t>(root: Value<'t>, context: &mut Context<'t>) {
    let mut stray: Vec<Place> = Vec::new();
    let mut files: Vec<_> = context.reached.iter().map(|place| place.file).chain([root.tree.file]).collect();
    files.sort_unstable();
    files.dedup();
    for tree in files.iter().filter_map(|file| context.trees.trees.get(file)) {
        for (key, value) in &tree.entries {
            let key = Value { tree, id: *key };
            if key.text() != Some(EXTENSION) || context.used.contains(&(tree.file, *value)) {
                continue;
            }
            let at = key.place();
            let within =
                |place: &Place| place.file == at.file && place.start <= at.start && at.end <= place.end;
            if tree.file == root.tree.file || context.reached.iter().any(within) {
                stray.push(at);
            }
        }
    }
    for place in stray {
        let finding = Diagnostic::error("no-effect", place, "`x-rate-limit` has no effect here");
        let help = "it is read at the root, on a tag, on a path and on an operation";
        context.findings.push(finding.help(help));
    }
}
