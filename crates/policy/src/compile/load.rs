//! Reads a document and every file that it leads to, and makes a policy of them. The files' bytes come from the caller.

use std::collections::{HashMap, HashSet};

use crate::compile::{header_names, inherit, merge, routes, variants};
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::read;
use crate::document::sources::{FileId, Place, Source, Sources};
use crate::document::tree::Value;
use crate::ids::LimitId;
use crate::jwt::{JwtKeys, JwtRules};
use crate::namespace;
use crate::overlay;
use crate::parse::context::{Context, Trees};
use crate::parse::parsed_document::ParsedDocument;
use crate::parse::schema_fields::SETTINGS;
use crate::parse::settings::Settings;
use crate::parse::{native, openapi, settings};
use crate::policy::Policy;
use crate::section::{self, ReadSection, SectionReader};

/// So many files may belong to one policy. More are refused.
pub const FILES_MAX: usize = 1_000;

/// Gives the text of a file by its name, or says in a few words why it cannot.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// Documents that were rejected, and every error in them.
#[derive(Clone)]
pub struct RejectedPolicy {
    /// The files that were read.
    pub sources: Sources,
    /// Everything that was found, sorted by place.
    pub findings: Findings,
    /// The consumers file that the settings name, and where: it can be checked all the same.
    pub consumers: Option<(String, Place)>,
}

impl std::fmt::Display for RejectedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.findings.lines(&self.sources).join("\n"))
    }
}

impl std::error::Error for RejectedPolicy {}

/// The first findings, one line each: the whole value contains the documents, which may be megabytes.
impl std::fmt::Debug for RejectedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = self.findings.lines(&self.sources);
        let mut list = f.debug_list();
        list.entries(lines.iter().take(DEBUG_LINES_MAX).map(|line| DebugLine(line)));
        if lines.len() > DEBUG_LINES_MAX {
            list.entry(&format_args!("and {} more", lines.len().saturating_sub(DEBUG_LINES_MAX)));
        }
        list.finish()
    }
}

/// Maximum findings in the `Debug` output of a rejected policy; further ones are counted.
const DEBUG_LINES_MAX: usize = 10;
/// Maximum characters of a finding in that output; the rest is replaced by `…`.
const DEBUG_CHARS_MAX: usize = 200;

/// A line of the `Debug` output, cut to [`DEBUG_CHARS_MAX`].
struct DebugLine<'a>(&'a str);

impl std::fmt::Debug for DebugLine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.char_indices().nth(DEBUG_CHARS_MAX) {
            Some((end, _)) => write!(f, "{}…", self.0.get(..end).unwrap_or_default()),
            None => f.write_str(self.0),
        }
    }
}

/// What was understood of all documents.
#[derive(Debug, Default)]
pub(crate) struct ParsedDocuments {
    pub(crate) drafts: Vec<ParsedDocument>,
    pub(crate) settings: Settings,
    /// Where the settings stand, for what is missing in them.
    pub(crate) settings_at: Option<Place>,
}

/// Reads the document of this name, and all that it leads to.
///
/// # Errors
/// When something is wrong with them: all of it at once.
pub(crate) fn load(
    name: &str,
    read_file: ReadFile<'_>,
    read_section: ReadSection<'_>,
) -> Result<Policy, RejectedPolicy> {
    let mut trees = Trees::default();
    let mut grammar = Findings::default();
    let start = match read_file(name) {
        Ok(text) => add(&mut trees, name, text, &mut grammar),
        Err(why) => {
            let place = Place { file: trees.sources.add(Source::new(name, "")), start: 0, end: 0 };
            grammar.push(Diagnostic::error(
                "unreadable",
                place,
                format!("{} cannot be read: {why}", tollgate_http::text::shown(name)),
            ));
            return Err(RejectedPolicy { sources: trees.sources, findings: grammar, consumers: None });
        }
    };
    let start = extended(start, &mut trees, read_file, &mut grammar);
    let mut overlaid = HashSet::new();
    // Every round reads everything again, with the files that the round before has found to be missing.
    let (read, mut findings) = loop {
        overlay_documents(start, &mut trees, &mut overlaid, &mut grammar);
        let mut context = Context::new(&trees);
        let read = read_all(start, &mut context, read_section);
        let (findings, wanted) = (context.findings, context.wanted);
        if wanted.is_empty() {
            break (read, findings);
        }
        for (name, _) in wanted {
            if trees.sources.by_name(&name).is_some() || trees.failed.contains_key(&name) {
                continue;
            }
            let text = if trees.trees.len() < FILES_MAX {
                read_file(&name)
            } else {
                Err(format!("there are more than {FILES_MAX} files"))
            };
            match text {
                Ok(text) => {
                    add(&mut trees, &name, text, &mut grammar);
                }
                Err(why) => {
                    trees.failed.insert(name, why);
                }
            }
        }
    };
    findings.append(grammar);
    finish(read, trees, findings, read_file)
}

/// Reads one document that leads to no other.
///
/// # Errors
/// As [`load`].
pub(crate) fn parse(name: &str, text: &str) -> Result<Policy, RejectedPolicy> {
    let mut read_file = |asked: &str| {
        if asked == name { Ok(text.to_owned()) } else { Err("no other file was given".into()) }
    };
    load(name, &mut read_file, &mut section::check_namespace)
}

fn add(trees: &mut Trees, name: &str, text: String, findings: &mut Findings) -> FileId {
    let id = trees.sources.add(Source::new(name, text));
    let tree = trees.sources.shared(id).and_then(|source| read::read(id, source, findings));
    trees.trees.extend(tree.map(|tree| (id, tree)));
    id
}

/// The document that an overlay extends, with the overlay applied; any other document as it is.
fn extended(start: FileId, trees: &mut Trees, read_file: ReadFile<'_>, findings: &mut Findings) -> FileId {
    let Some(tree) = trees.trees.get(&start).filter(|tree| overlay::is_overlay(tree.value())) else {
        return start;
    };
    let place = tree.value().get("extends").map_or(tree.value().place(), Value::place);
    let Some(name) = overlay::extended(tree, trees) else {
        let finding =
            Diagnostic::error("overlay-alone", place, "this overlay does not say which document it changes");
        findings.push(finding.help(
            "name the document, as in `extends: openapi.yaml`; or name both under `openapi` in a Tollgate file, the overlay last",
        ));
        return start;
    };
    match read_file(&name) {
        Ok(text) => {
            let document = add(trees, &name, text, findings);
            overlay::apply(start, &[document], trees, findings);
            document
        }
        Err(why) => {
            let message = format!("{} cannot be read: {why}", tollgate_http::text::shown(&name));
            findings.push(Diagnostic::error("unreadable", place, message));
            start
        }
    }
}

/// Applies each overlay that a native file names to the documents that it names before it, or to the one that the overlay
/// extends, once all of them have been read.
fn overlay_documents(start: FileId, trees: &mut Trees, done: &mut HashSet<FileId>, findings: &mut Findings) {
    let named = {
        let mut context = Context::new(trees);
        let Some(root) = context.trees.trees.get(&start).map(|tree| tree.value()) else { return };
        if root.get("tollgate").is_none() {
            return;
        }
        native::documents(root, &mut context)
    };
    let known = |trees: &Trees, name: &str| trees.sources.by_name(name);
    if named.iter().any(|(name, _)| known(trees, name).is_none() && !trees.failed.contains_key(name)) {
        return;
    }
    let mut before: Vec<FileId> = Vec::new();
    for (name, place) in &named {
        let Some(id) = known(trees, name) else { continue };
        let Some(tree) = trees.trees.get(&id) else { continue };
        if !overlay::is_overlay(tree.value()) {
            before.push(id);
            continue;
        }
        if !done.insert(id) {
            continue;
        }
        let documents = match overlay::extended(tree, trees) {
            None => before.clone(),
            Some(name) => known(trees, &name).into_iter().filter(|id| before.contains(id)).collect(),
        };
        if documents.is_empty() {
            let finding = Diagnostic::error(
                "overlay-alone",
                *place,
                "no document that this overlay could change is named before it",
            );
            findings.push(finding.help("name the document first, and its overlays after it"));
            continue;
        }
        overlay::apply(id, &documents, trees, findings);
    }
}

fn read_all<'t>(start: FileId, context: &mut Context<'t>, read_section: ReadSection<'_>) -> ParsedDocuments {
    let mut all = ParsedDocuments::default();
    let root = context.trees.trees.get(&start).map(|tree| tree.value());
    // An overlay that could not be applied has its own findings.
    let Some(root) = root.filter(|root| !overlay::is_overlay(*root)) else { return all };
    // A native file has `openapi` too: the names of documents.
    if root.get("tollgate").is_none() && openapi::is_openapi(root) {
        if let Some(map) = root.get("x-tollgate") {
            own_settings(map, &mut all, context);
        }
        all.drafts.extend(openapi::read(root, context));
        return all;
    }
    all.drafts.extend(native::read(root, context));
    all.settings = settings::read(root, context);
    if let Some(section) = root.get("serve") {
        read_section(section, &mut SectionReader::new(context));
        all.settings.namespace = namespace::written(section);
    }
    all.settings_at = Some(root.place());
    for (name, place) in native::documents(root, context) {
        if let Some(why) = context.trees.failed.get(&name) {
            context.error(
                "unreadable",
                place,
                format!("{} cannot be read: {why}", tollgate_http::text::shown(&name)),
            );
        }
        let Some(id) = context.trees.sources.by_name(&name) else {
            if !context.trees.failed.contains_key(&name) {
                context.wanted.push((name, place));
            }
            continue;
        };
        let document = context.trees.trees.get(&id).map(|tree| tree.value());
        // An overlay has changed the documents before it.
        let Some(document) = document.filter(|root| !overlay::is_overlay(*root)) else { continue };
        foreign_settings(document, place, context);
        all.drafts.extend(openapi::read(document, context));
    }
    all
}

/// Points at settings in a document that another file names. Named limits are the document's own.
fn foreign_settings<'t>(document: Value<'t>, named_at: Place, context: &mut Context<'t>) {
    let Some(map) = document.get("x-tollgate") else { return };
    let label = "the settings stand in the file that names this document";
    if !map.is_map() {
        let finding = Diagnostic::error("two-settings", map.place(), "`x-tollgate` has no effect here");
        context.findings.push(finding.also(named_at, label));
        return;
    }
    for entry in map.entries().filter(|entry| entry.key != "limits") {
        let message =
            format!("`{}` of `x-tollgate` has no effect here", tollgate_http::text::shown(entry.key));
        let finding = Diagnostic::error("two-settings", entry.key_at, message);
        context.findings.push(finding.also(named_at, label));
    }
}

fn own_settings<'t>(map: Value<'t>, all: &mut ParsedDocuments, context: &mut Context<'t>) {
    if let Some(map) = context.map(map, "`x-tollgate`") {
        context.unknown_fields(map, &[SETTINGS], "`x-tollgate`");
        all.settings = settings::read(map, context);
        all.settings_at = Some(map.place());
    }
}

/// Everything after reading: names, nearness, routes, numbers.
fn finish(
    read: ParsedDocuments,
    trees: Trees,
    mut findings: Findings,
    read_file: ReadFile<'_>,
) -> Result<Policy, RejectedPolicy> {
    let ParsedDocuments { drafts, settings, .. } = &read;
    let mut merged = merge::merge(drafts, settings, &mut findings);
    let operations = inherit::operations(drafts, &mut merged, settings, &mut findings);
    let routes = routes::build(operations, &merged.limits, settings, &mut findings);
    let variants = variants::build(&merged.limits, settings, &mut findings);
    merge::check_sources(settings, &mut findings);
    let jwt = jwt_rules(&read, read_file, &mut findings);
    let (root, documents) = inherit::root(drafts, &merged, settings, &mut findings);
    let operations = routes.as_ref().map_or(&[][..], |routes| &routes.operations);
    let readers = header_names::HeaderReaders { limits: &merged.limits, operations, root: &root };
    let header_filter = header_names::check((&read, &documents), &readers, &mut findings);
    findings.sort();
    let (Some(routes), Some(variants), false) = (routes, variants, findings.has_errors()) else {
        let consumers = settings.consumers.clone();
        return Err(RejectedPolicy { sources: trees.sources, findings, consumers });
    };
    let titled = drafts.iter().map(|draft| &draft.title).find(|title| !title.trim().is_empty());
    let title = titled.cloned().unwrap_or_default();
    let api_key = if settings.api_key.is_empty() { documents } else { settings.api_key.clone() };
    let tags = drafts.iter().flat_map(|draft| draft.tags()).filter(|tag| tag.limits.is_some());
    let tag_limits = tags.map(|tag| (tag.name.clone(), tag.place)).collect();
    let mut condition_headers: Vec<_> =
        routes.operations.iter().flat_map(|of| of.headers.iter().map(|(name, _)| name.clone())).collect();
    condition_headers.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    condition_headers.dedup();
    let allows_slashes = routes.operations.iter().any(|operation| operation.allows_encoded_slashes);
    let of_operations = routes.operations.iter().any(|operation| operation.priority.is_some());
    let has_priorities = of_operations || read.settings.priorities.is_some();
    Ok(Policy {
        sources: trees.sources,
        settings: read.settings,
        title,
        limits: merged.limits,
        operations: routes.operations,
        router: routes.router,
        picks: routes.picks,
        suffixes: routes.suffixes,
        root: inherit::ids(&root),
        root_uses: root,
        root_api_key: inherit::key_places(api_key),
        condition_headers,
        allows_slashes,
        has_priorities,
        header_filter,
        variants,
        tag_limits,
        jwt,
        findings,
    })
}

fn jwt_rules(read: &ParsedDocuments, read_file: ReadFile<'_>, findings: &mut Findings) -> Option<JwtRules> {
    let jwt = read.settings.jwt.as_ref()?;
    let place = jwt.jwks_at;
    let keys = read_file(&jwt.jwks).and_then(|text| JwtKeys::from_jwks(&text));
    match keys {
        Err(why) => {
            let message = format!(
                "{} gives no keys: {}",
                tollgate_http::text::shown(&jwt.jwks),
                why.trim_end_matches('.')
            );
            findings.push(Diagnostic::error("jwks", place, message));
            None
        }
        Ok(keys) => Some(JwtRules {
            keys,
            issuer: jwt.issuer.clone(),
            audience: jwt.audience.clone(),
            leeway_s: jwt.leeway.secs_rounded_up(),
            require_exp: true,
        }),
    }
}

/// A policy's limits by name, for those who look one up.
pub(crate) fn by_name(policy: &Policy) -> HashMap<&str, LimitId> {
    let numbered = LimitId::number(policy.limits());
    numbered.map(|(id, limit)| (limit.name.as_str(), id)).collect()
}
