//! Which templates a path matches, nearest first. Not methods, hosts or headers: whoever asks looks at those.

mod build;
mod case_fold;
mod children;
mod key;
mod literals;
mod overlap;
mod prefix;
mod search;
mod segments;
mod table;
#[cfg(test)]
mod tests;
mod trie;

use core::fmt;
use std::sync::Arc;

use table::Table;
use trie::Trie;

use crate::template::Segment;

/// One more template is refused with [`RouterError::TooManyTemplates`].
pub const TEMPLATES_MAX: u32 = 1 << 18;
/// One more segment with text and parameters at the same place, after the same segments, is refused with
/// [`RouterError::TooManyPatterns`]: each new one is compared with all others there.
pub const PATTERNS_MAX: usize = 1024;
/// Templates among which a search could take more steps are refused with [`RouterError::TooTangled`] when the router is
/// built. So no request's path can take more: see [`Router`].
pub const STEPS_MAX: u64 = 4096;
/// Templates that take more comparisons to be told apart are refused with [`RouterError::TooTangled`] when the last of
/// them is added. It takes thousands of templates that meet at every segment.
pub const COMPARISONS_MAX: u64 = 50_000_000;

/// Collects templates, tells those that are the same, and refuses those that cannot be told apart.
///
/// ```
/// use tollgate_policy::router::{AddedTemplate, LenientSearch, RouterBuilder};
/// use tollgate_policy::template::{Tail, Template};
///
/// let mut builder = RouterBuilder::new();
/// let mut add = |text| builder.add(&Template::parse(text, Tail::Refused).unwrap());
/// assert_eq!(add("/reports/{id}"), Ok(AddedTemplate::New(0)));
/// assert_eq!(add("/reports/latest"), Ok(AddedTemplate::New(1)));
/// assert_eq!(add("/reports/{name}"), Ok(AddedTemplate::Same(0)));
///
/// let router = builder.build(LenientSearch::Yes).unwrap();
/// assert_eq!(router.find("/reports/latest", Some), Some(1));
/// assert_eq!(router.find("/reports/latest", |id| (id != 1).then_some(id)), Some(0));
/// assert_eq!(router.find("/Reports/latest/", Some), None);
/// assert_eq!(router.find_loosely("/Reports/latest/", Some), Some(1));
/// ```
#[derive(Debug)]
pub struct RouterBuilder {
    trie: Trie,
    /// Of each id, for the loose table.
    segments: Vec<Arc<[Segment]>>,
    comparisons: u64,
}

/// What became of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddedTemplate {
    /// It is the first of its shape. Ids count from 0.
    New(u32),
    /// It has the shape of one that was added before, and so its id.
    Same(u32),
}

/// Whether [`Router::find_loosely`] will be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LenientSearch {
    /// A second table is built for it.
    Yes,
    /// It finds what [`Router::find`] finds.
    No,
}

/// Why templates cannot be told apart, or not fast enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RouterError {
    /// Some path matches both templates, and the rule of [`Router::find`] puts neither before the other.
    Ambiguous {
        /// The id of the template that was there before.
        with: u32,
    },
    /// More than [`TEMPLATES_MAX`].
    TooManyTemplates,
    /// More than [`PATTERNS_MAX`] segments with text and parameters at one place.
    TooManyPatterns,
    /// A path could match so many templates in part that a search would take more than [`STEPS_MAX`] steps; or the
    /// check for ambiguity more than [`COMPARISONS_MAX`].
    TooTangled,
}

/// Finds the templates that a path matches.
///
/// A search takes time in proportion to the path's length, however many templates there are. It goes back when the
/// nearest template does not fit to the end or is not accepted; how often is bounded when the router is built: a search
/// takes at most [`steps`](Self::steps) steps, never more than [`STEPS_MAX`]. A step looks up one segment at one place,
/// or compares it with the text around a parameter. It allocates nothing.
#[derive(Debug)]
pub struct Router {
    strict: Table,
    loose: Option<LenientTable>,
}

/// The table for lenient searches, whose templates may each stand for several.
#[derive(Debug)]
struct LenientTable {
    table: Table,
    members: Vec<Vec<u32>>,
}

impl Router {
    /// Calls `accept` with the ids of the templates that match a [normalised](tollgate_http::path::normalise) path, from the
    /// nearest to the farthest, until it returns something.
    ///
    /// Of two templates the nearer is decided from the left, by the first segment in which their shapes differ:
    ///
    /// 1. A segment of text alone comes first.
    /// 2. Then segments with text and parameters: one with more characters of text before one with fewer. An escape is
    ///    one character.
    /// 3. Then a parameter alone.
    /// 4. Then a tail.
    ///
    /// A parameter never matches an empty string. So a trailing slash, which is an empty last segment, only matches
    /// templates with a trailing slash, and tails that have taken a segment before it.
    pub fn find<R>(&self, path: &str, mut accept: impl FnMut(u32) -> Option<R>) -> Option<R> {
        self.strict.search(path, &mut accept)
    }

    /// The same as a lenient server would do it: the case of ASCII letters is ignored, and so are `;parameters` of a
    /// segment, and empty segments, among them a trailing slash. This holds for templates as for the path.
    ///
    /// It is for gateways that forward what no template matches: `/LOGIN`, `/login/` and `/login;x=1` do not get round
    /// the limit of `/login`. Of templates that only differ in what is ignored, the one that was added first comes
    /// first; of others that the rule does not tell apart, any.
    pub fn find_loosely<R>(&self, path: &str, mut accept: impl FnMut(u32) -> Option<R>) -> Option<R> {
        let Some(LenientTable { table, members }) = &self.loose else { return self.find(path, accept) };
        table.search(path, &mut |group| {
            let mut ids = members.get(group as usize)?.iter();
            ids.find_map(|id| accept(*id))
        })
    }

    /// The most steps that a search can take, for any path.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let loose = self.loose.as_ref().map_or(0, |loose| loose.table.steps());
        loose.max(self.strict.steps())
    }
}

impl fmt::Display for RouterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguous { .. } => f.write_str(
                "two templates match the same path and neither is nearer: put more text into one of them, or make them \
                 one",
            ),
            Self::TooManyTemplates => {
                write!(f, "there are too many templates: write at most {TEMPLATES_MAX} in all")
            }
            Self::TooManyPatterns => write!(
                f,
                "too many segments with text beside a parameter follow the same path: write at most {PATTERNS_MAX} \
                 there"
            ),
            Self::TooTangled => write!(
                f,
                "so many templates match the same paths in part that a search could take more than {STEPS_MAX} steps: \
                 write fewer that have a parameter where others have text"
            ),
        }
    }
}

impl core::error::Error for RouterError {}
