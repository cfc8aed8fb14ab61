//! A file that may hold settings of `tollgate serve`: what it says, and whether it is a policy too. Its limits are not read here.

use super::Value;
use crate::document::diagnostic::Findings;
use crate::document::read;
use crate::document::sources::{Place, Source, Sources};
use crate::parse::context::{Context, Trees};
use crate::parse::schema_fields::{NATIVE, SETTINGS};
use crate::parse::{native, openapi, serve};

/// A setting that stands in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Where it stands below `serve`.
    pub path: String,
    /// What is written; nothing if it is wrong, which is among the findings. Names of files are as seen from the current
    /// folder, not from that of the file.
    pub value: Option<Value>,
    /// Where.
    pub place: Place,
}

/// What a file says of `tollgate serve`.
#[derive(Clone, Debug)]
pub struct File {
    /// What it is called.
    pub name: String,
    /// Whether it is a Tollgate file, and not an OpenAPI document.
    pub native: bool,
    /// Its section `serve`, if it has one: every setting in it.
    pub serve: Option<Vec<Written>>,
    /// Where the section is named, or else the file begins.
    pub place: Place,
    /// The first field of a Tollgate file that is about limits or those who are limited: the file is a policy.
    pub policy: Option<(&'static str, Place)>,
}

impl File {
    /// Reads a file: its grammar, its root's fields, and its section `serve`. The text is kept in `sources`, for messages.
    ///
    /// What is wrong is added to the findings; without a file there is an error among them.
    pub fn read(name: &str, text: &str, sources: &mut Sources, findings: &mut Findings) -> Option<Self> {
        let mut trees = Trees { sources: std::mem::take(sources), ..Trees::default() };
        let id = trees.sources.add(Source::new(name, text));
        let mut grammar = Findings::default();
        let tree = trees.sources.shared(id).and_then(|source| read::read(id, source, &mut grammar));
        trees.trees.extend(tree.map(|tree| (id, tree)));
        let mut context = Context::new(&trees);
        let file = trees.trees.get(&id).and_then(|tree| {
            let root = tree.value();
            if root.get("tollgate").is_none() && openapi::is_openapi(root) {
                let place = Place { file: id, start: 0, end: 0 };
                return Some(Self { name: name.into(), native: false, serve: None, place, policy: None });
            }
            let root = native::root(root, &mut context)?;
            let section = root.entry("serve");
            let about = NATIVE.iter().chain(SETTINGS).map(|field| field.name);
            let mut about = about.filter(|name| !matches!(*name, "tollgate" | "serve"));
            Some(Self {
                name: name.into(),
                native: true,
                serve: section.map(|_| serve::read(root, &mut context)),
                place: section.map_or(Place { file: id, start: 0, end: 0 }, |section| section.key_at),
                policy: about.find_map(|name| Some((name, root.entry(name)?.key_at))),
            })
        });
        findings.append(grammar);
        findings.append(context.findings);
        findings.sort();
        *sources = trees.sources;
        file
    }
}
