//! One document after parsing and before compilation: limits by place, tags, operations.

use std::collections::{HashMap, HashSet};

use http::HeaderName;

use crate::document::sources::Place;
use crate::ids::DraftLimitId;
use crate::model::{Condition, KeyPlace, PolicyLimit, Priority};
use crate::parse::limit::{LimitItem, ParsedLimits};
use crate::parse::limit_use::LimitReference;

/// What stands at one place where limits may stand.
#[derive(Clone, Debug)]
pub(crate) enum LimitsAt {
    /// `none`.
    Off(Place),
    /// These of the draft's limits, and limits that are written elsewhere.
    These(Vec<LimitEntry>),
}

/// One of the limits of a place.
#[derive(Clone, Debug)]
pub(crate) enum LimitEntry {
    /// It is written there.
    Own(DraftLimitId, Option<Condition>),
    /// It is written elsewhere.
    Use(LimitReference),
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
    /// Whether `%2F` may stand in its path.
    pub(crate) allows_slashes: bool,
    /// How important its requests are.
    pub(crate) priority: Option<Priority>,
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
    /// Those of them that `limits` defines, by name.
    defined: HashMap<String, DraftLimitId>,
    /// Names under `limits` whose limits are wrong, which has been said.
    pub(crate) misread: HashSet<String>,
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
        let (defined, misread) = Default::default();
        Self { title, limits, defined, misread, root: None, tags, by_name, operations, api_key }
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
    pub(crate) fn keep(&mut self, limits: ParsedLimits) -> LimitsAt {
        let list = match limits {
            ParsedLimits::Off(place) => return LimitsAt::Off(place),
            ParsedLimits::List(list) => list,
        };
        let entries = list.into_iter().map(|item| match item {
            LimitItem::Use(named) => LimitEntry::Use(named),
            LimitItem::Limit(limit, when) => {
                let id = DraftLimitId::from_index(self.limits.len());
                self.limits.push(*limit);
                LimitEntry::Own(id, when)
            }
        });
        LimitsAt::These(entries.collect())
    }

    /// Keeps a limit that `limits` defines.
    pub(crate) fn define(&mut self, limit: PolicyLimit) {
        self.defined.insert(limit.name.clone(), DraftLimitId::from_index(self.limits.len()));
        self.limits.push(limit);
    }

    /// The limit that `limits` defines by this name.
    pub(crate) fn defined(&self, name: &str) -> Option<DraftLimitId> {
        self.defined.get(name).copied()
    }

    /// Every name that `limits` defines.
    pub(crate) fn defined_names(&self) -> impl Iterator<Item = &str> {
        self.defined.keys().map(String::as_str)
    }

    /// Every place of the document where limits are written.
    pub(crate) fn places(&self) -> impl Iterator<Item = &LimitsAt> {
        let tags = self.tags.iter().filter_map(|tag| tag.limits.as_ref());
        let operations = self.operations.iter().flat_map(|operation| [&operation.path, &operation.own]);
        self.root.iter().chain(tags).chain(operations.flatten())
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
