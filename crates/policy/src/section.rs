//! The section `serve` of a Tollgate file, which the command `tollgate` reads: its nodes, their places, and the checks that all
//! documents share. Which settings there are is not known here.

use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::read;
use crate::document::sources::{Place, Source, Sources};
use crate::document::tree::Tree;
use crate::parse::context::{Context, Trees, beside};
use crate::parse::schema_fields::{NATIVE, SETTINGS};
use crate::parse::{native, openapi};

pub use crate::document::suggest::nearest;
pub use crate::document::tree::{Entry, Value as Node};
pub use crate::parse::schema_fields::PATH_CHARS_MAX;

/// Reads the section `serve`, and adds what is wrong with it to the findings.
///
/// A document that refers to others may be read several times; only the findings of the last reading count.
pub type ReadSection<'a> = &'a mut dyn for<'t> FnMut(Node<'t>, &mut SectionReader<'_, 't>);

/// The checks that the section shares with the rest of a document. Each adds what is wrong to the findings.
#[derive(Debug)]
pub struct SectionReader<'c, 't> {
    context: &'c mut Context<'t>,
}

impl<'c, 't> SectionReader<'c, 't> {
    pub(crate) const fn new(context: &'c mut Context<'t>) -> Self {
        Self { context }
    }

    /// Adds an error.
    pub fn error(&mut self, code: &'static str, place: Place, message: impl Into<String>) {
        self.context.error(code, place, message);
    }

    /// Adds a warning or a note.
    pub fn advise(&mut self, advice: Diagnostic) {
        self.context.findings.push(advice);
    }

    /// The value if it is a map, or an error.
    pub fn map(&mut self, value: Node<'t>, what: &str) -> Option<Node<'t>> {
        self.context.map(value, what)
    }

    /// An error for every key of a map that is not among the known ones.
    pub fn unknown_keys<'k>(
        &mut self,
        map: Node<'t>,
        known: impl Iterator<Item = &'k str> + Clone,
        what: &str,
    ) {
        self.context.unknown_keys(map, known, what);
    }

    /// The text of a scalar, or an error.
    pub fn text(&mut self, value: Node<'t>, what: &str, chars_max: usize) -> Option<&'t str> {
        self.context.text(value, what, chars_max)
    }

    /// A scalar by one of the strict grammars, or an error.
    pub fn parsed<T>(
        &mut self,
        value: Node<'t>,
        what: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.context.parsed(value, what, parse)
    }

    /// The name of a file as seen from the current folder, if it is written in this document.
    #[must_use]
    pub fn beside(&self, value: Node<'t>, name: &str) -> String {
        let here = self.context.trees.sources.get(value.tree.file).map_or("", Source::name);
        beside(here, name)
    }
}

/// The fields at the root of a Tollgate file: `serve` and those of the policy.
pub fn root_fields() -> impl Iterator<Item = &'static str> + Clone {
    NATIVE.iter().chain(SETTINGS).map(|field| field.name)
}

/// The longest token.
pub const TOKEN_CHARS_MAX: usize = 128;

/// Checks a word that may stand in a header or in the name of a key.
///
/// # Errors
/// What is wrong with it, as the end of a sentence about it.
pub fn check_token(text: &str) -> Result<(), String> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if text.is_empty() || !text.bytes().all(part) {
        return Err("is not one word: write letters, digits, `-`, `.` and `_`".into());
    }
    if text.len() > TOKEN_CHARS_MAX {
        return Err(format!("has more than {TOKEN_CHARS_MAX} characters"));
    }
    Ok(())
}

/// The syntax tree of one text.
#[derive(Debug)]
pub struct Document {
    tree: Tree,
}

impl Document {
    /// Reads a text alone. `None` if it is neither YAML nor JSON.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("", text));
        let tree = read::read_for_secrets(id, sources.shared(id)?)?;
        Some(Self { tree })
    }

    /// Its root.
    #[must_use]
    pub const fn root(&self) -> Node<'_> {
        self.tree.value()
    }
}

/// What kind of file a document is. Its limits are not read.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Whether it is a Tollgate file, and not an OpenAPI document.
    pub native: bool,
    /// Where the key of the section `serve` is, if it has one.
    pub serve: Option<Place>,
    /// Where the file begins.
    pub start: Place,
    /// The first field of a Tollgate file that is about limits or those who are limited: the file is a policy.
    pub policy: Option<(&'static str, Place)>,
}

impl Outline {
    /// Reads a file: its grammar, its root's fields, and its section `serve`. The text is kept in `sources`, for messages.
    ///
    /// What is wrong is added to the findings; without an outline there is an error among them.
    pub fn read(
        (name, text): (&str, &str),
        sources: &mut Sources,
        findings: &mut Findings,
        read_section: ReadSection<'_>,
    ) -> Option<Self> {
        let mut trees = Trees { sources: std::mem::take(sources), ..Trees::default() };
        let id = trees.sources.add(Source::new(name, text));
        let mut grammar = Findings::default();
        let tree = trees.sources.shared(id).and_then(|source| read::read(id, source, &mut grammar));
        trees.trees.extend(tree.map(|tree| (id, tree)));
        let mut context = Context::new(&trees);
        let outline = trees.trees.get(&id).and_then(|tree| of_root(tree.value(), &mut context, read_section));
        findings.append(grammar);
        findings.append(context.findings);
        findings.sort();
        *sources = trees.sources;
        outline
    }
}

/// Reads a document of another project, such as the limits file of a server that Tollgate replaces: its grammar, and its root.
///
/// What is wrong is added to the findings. The text is kept in `sources`, for messages.
pub fn read_foreign(
    (name, text): (&str, &str),
    sources: &mut Sources,
    findings: &mut Findings,
    read_root: ReadSection<'_>,
) {
    let mut trees = Trees { sources: std::mem::take(sources), ..Trees::default() };
    let id = trees.sources.add(Source::new(name, text));
    let mut grammar = Findings::default();
    let tree = trees.sources.shared(id).and_then(|source| read::read(id, source, &mut grammar));
    trees.trees.extend(tree.map(|tree| (id, tree)));
    let mut context = Context::new(&trees);
    if let Some(tree) = trees.trees.get(&id) {
        read_root(tree.value(), &mut SectionReader::new(&mut context));
    }
    findings.append(grammar);
    findings.append(context.findings);
    findings.sort();
    *sources = trees.sources;
}

fn of_root<'t>(root: Node<'t>, context: &mut Context<'t>, read_section: ReadSection<'_>) -> Option<Outline> {
    let start = Place { file: root.tree.file, start: 0, end: 0 };
    if root.get("tollgate").is_none() && openapi::is_openapi(root) {
        return Some(Outline { native: false, serve: None, start, policy: None });
    }
    let root = native::root(root, context)?;
    let section = root.entry("serve");
    if let Some(section) = section {
        read_section(section.value, &mut SectionReader::new(context));
    }
    let mut about = root_fields().filter(|name| !matches!(*name, "tollgate" | "serve"));
    let policy = about.find_map(|name| Some((name, root.entry(name)?.key_at)));
    Some(Outline { native: true, serve: section.map(|section| section.key_at), start, policy })
}

/// Reads only what the policy itself needs of the section: the namespace of its limits. Errors in other settings are the command's.
pub(crate) fn check_namespace<'t>(section: Node<'t>, reader: &mut SectionReader<'_, 't>) {
    let Some(value) = section.get("store").and_then(|store| store.get("namespace")) else { return };
    reader.parsed(value, "store.namespace", crate::namespace::check);
}
