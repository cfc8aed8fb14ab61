//! A document as its reader understood it, before it is compiled: limits by place, operations, settings. Nothing is matched yet.

use http::HeaderName;

use crate::document::sources::Place;
use crate::model::{KeyPlace, PolicyLimit};
use crate::reading::limit::Limits;

/// What stands at one place where limits may stand.
#[derive(Clone, Debug)]
pub(crate) enum LimitsAt {
    /// `none`.
    Off(Place),
    /// These of the draft's limits.
    These(Vec<u32>),
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
    /// Whether a tail such as `{rest*}` may stand in it.
    pub(crate) native: bool,
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
}

/// One document.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Its title, which tells its limits from those of other documents.
    pub(crate) title: String,
    pub(crate) limits: Vec<PolicyLimit>,
    pub(crate) root: Option<LimitsAt>,
    pub(crate) tags: Vec<Tag>,
    pub(crate) operations: Vec<Operation>,
    /// API keys at the root.
    pub(crate) api_key: Vec<KeyPlace>,
}

impl Draft {
    pub(crate) fn new(title: String) -> Self {
        let (limits, tags, operations, api_key) = Default::default();
        Self { title, limits, root: None, tags, operations, api_key }
    }

    /// Keeps limits, and says which they are.
    pub(crate) fn keep(&mut self, limits: Limits) -> LimitsAt {
        match limits {
            Limits::Off(place) => LimitsAt::Off(place),
            Limits::List(list) => {
                let first = u32::try_from(self.limits.len()).unwrap_or(u32::MAX);
                self.limits.extend(list);
                let end = u32::try_from(self.limits.len()).unwrap_or(u32::MAX);
                LimitsAt::These((first..end).collect())
            }
        }
    }
}
