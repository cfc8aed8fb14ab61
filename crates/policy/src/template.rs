//! Path templates as in OpenAPI: text in, segments out, errors with their place. Not which template a path matches.

mod error;
mod parse;
mod pattern;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use error::{TemplateError, TemplateProblem};
pub(crate) use pattern::{Case, Pattern, between, whole};

/// A longer template is refused. Even all in letters of three bytes it fits into a path of
/// [`PATH_BYTES_MAX`](tollgate_http::path::PATH_BYTES_MAX) when it is encoded.
pub const TEMPLATE_BYTES_MAX: usize = 2 * 1024;
/// A template with more parameters is refused.
pub const PARAMETERS_MAX: usize = 32;
/// Longer text beside a parameter, in one segment, is refused: it bounds the work for a long segment of a request.
/// Counted as it is matched: `é` is `%C3%A9`.
pub const TEXT_BYTES_MAX: usize = 255;

/// Whether a template may end with `{rest*}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// As in native files: a last segment `{rest*}` matches one or more segments.
    Allowed,
    /// As in OpenAPI, which has no such thing.
    Refused,
}

/// A path with parameters: `/reports/{id}`, `/files/{name}.json`, `/v1/{name}:cancel`, `/a/{x}-{y}`.
///
/// - A parameter matches one or more characters of one segment, never an empty string, and never half an escape.
/// - `{rest*}`, where it is allowed, is the whole last segment and matches everything from there on: one or more
///   segments, the first of which is not empty. A trailing slash may be among them.
/// - Everything else matches itself, as it stands in a [normalised](tollgate_http::path::normalise) path. Letters that are not
///   ASCII stand for their escapes. What no normalised path has is an error, since it would match nothing.
/// - The names of parameters say nothing about what matches: templates of one [shape](Self::shape) match the same
///   paths.
///
/// ```
/// use tollgate_policy::template::{Tail, Template};
///
/// let template = Template::parse("/users/{user}/café/{name}.json", Tail::Refused).unwrap();
/// assert_eq!(template.shape(), "/users/{}/caf%C3%A9/{}.json");
/// assert_eq!(template.parameters(), 2);
///
/// let error = Template::parse("/users/{user", Tail::Refused).unwrap_err();
/// assert_eq!(error.range, 7..12);
/// assert_eq!(error.to_string(), "a { has no }: close the parameter with } in the same segment");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    text: String,
    shape: String,
    names: Vec<String>,
    segments: Arc<[Segment]>,
}

/// What stands between two slashes of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Segment {
    /// Text alone. It is empty after a trailing slash.
    Literal(Box<str>),
    /// Text and parameters.
    Pattern(Pattern),
    /// One parameter alone.
    Parameter,
    /// Everything from here on.
    Tail,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// With the first thing that is wrong, where it stands, and what to write instead.
    pub fn parse(text: &str, tail: Tail) -> Result<Self, TemplateError> {
        parse::parse(text, tail)
    }

    /// The template as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The template without the names of its parameters, its text encoded: `/a/{}/b{}c/{*}`.
    #[must_use]
    pub fn shape(&self) -> &str {
        &self.shape
    }

    /// How many parameters it has.
    #[must_use]
    pub const fn parameters(&self) -> usize {
        self.names.len()
    }

    /// The names of its parameters, from the left; the name of a tail is without its star.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Its segments, for matching. Shared, since the router keeps them.
    pub(crate) const fn segments(&self) -> &Arc<[Segment]> {
        &self.segments
    }
}
