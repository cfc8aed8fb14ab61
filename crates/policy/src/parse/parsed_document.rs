//! One document after parsing and before compilation: limits by place, tags, operations.

use std::collections::HashMap;

use http::HeaderName;

use crate::document::sources::Place;
use crate::ids::DraftLimitId;
use crate::model::{KeyPlace, PolicyLimit};
use crate::parse::limit::Limits;

/// What stands at one place where limits may stand.
#[derive(Clone, Debug)]
pub(crate) enum LimitsAt {
    /// `none`.
    Off(Place),
    /// These of the draft's limits.
    These(Vec<DraftLimitId>),
}

/// A tag and what it says.
#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) limits: Option<LimitsAt>,
    pub(crate) owner: Option<String>,
    pub(crate) reviewers: Vec<String>,
}

/// An operation or a route.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// `None` is every method.
    pub(crate) method: Option<String>,
    /// The template's text as it is written, and under which base paths it stands.
    pub(crate) template: String,
    pub(crate) template_at: Place,
    pub(crate) bases: Vec<String>,
    /// Whether it is a route of a native file.
    pub(crate) native: bool,
    /// The parameters that take several segments, if the document says so of them.
    pub(crate) multi: Vec<String>,
    pub(crate) host: Option<(String, Place)>,
    /// Headers that must be there, with their value if one is asked for.
    pub(crate) headers: Vec<(HeaderName, Option<String>)>,
    pub(crate) id: Option<String>,
    pub(crate) tags: Vec<(String, Place)>,
    /// Where it is written.
    pub(crate) place: Place,
    pub(crate) own: Option<LimitsAt>,
    pub(crate) path: Option<LimitsAt>,
    /// Where an API key stands, if the document says so.
    pub(crate) api_key: Vec<KeyPlace>,
    /// Whether the document asks for credentials of which none is a key.
    pub(crate) keyless: bool,
}

/// One document.
#[derive(Clone, Debug)]
pub(crate) struct ParsedDocument {
    /// Its title, which tells its limits from those of other documents.
    pub(crate) title: String,
    pub(crate) limits: Vec<PolicyLimit>,
    pub(crate) root: Option<LimitsAt>,
    tags: Vec<Tag>,
    /// Where each tag stands in the list: documents may have many.
    by_name: HashMap<String, usize>,
    pub(crate) operations: Vec<Operation>,
    /// API keys at the root.
    pub(crate) api_key: Vec<KeyPlace>,
}

impl ParsedDocument {
    pub(crate) fn new(title: String) -> Self {
        let (limits, tags, by_name, operations, api_key) = Default::default();
        Self { title, limits, root: None, tags, by_name, operations, api_key }
    }

    /// Every tag.
    pub(crate) fn tags(&self) -> &[Tag] {
        &self.tags
    }

    /// The tag of this name.
    pub(crate) fn tag(&self, name: &str) -> Option<&Tag> {
        self.tags.get(*self.by_name.get(name)?)
    }

    /// Adds a tag whose name is not there yet.
    pub(crate) fn add_tag(&mut self, tag: Tag) {
        self.by_name.insert(tag.name.clone(), self.tags.len());
        self.tags.push(tag);
    }

    /// Keeps limits, and says which they are.
    pub(crate) fn keep(&mut self, limits: Limits) -> LimitsAt {
        match limits {
            Limits::Off(place) => LimitsAt::Off(place),
            Limits::List(list) => {
                let first = self.limits.len();
                self.limits.extend(list);
                LimitsAt::These((first..self.limits.len()).map(DraftLimitId::from_index).collect())
            }
        }
    }
}

/// What a route asks for besides method and path, as ` (host a.example.org, x-mode: full)`; nothing if it asks for nothing.
pub(crate) fn asked_for(host: Option<&str>, headers: &[(HeaderName, Option<String>)]) -> String {
    let mut asked: Vec<String> = host.map(|host| format!("host {host}")).into_iter().collect();
    asked.extend(headers.iter().map(|(name, value)| match value {
        Some(value) => format!("{name}: {value}"),
        None => name.to_string(),
    }));
    if asked.is_empty() { String::new() } else { format!(" ({})", asked.join(", ")) }
}
