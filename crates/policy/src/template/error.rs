//! Why a template is refused: which bytes of it, and what to write instead. Not how it is read.

use core::fmt;
use core::ops::Range;

use super::{PARAMETERS_MAX, TEMPLATE_BYTES_MAX, TEXT_BYTES_MAX};
use tollgate_http::path::PathError;

/// A template that cannot be matched, and where it goes wrong. Its `Display` is a sentence that ends with what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateError {
    /// The bytes of the template that are wrong.
    pub range: Range<usize>,
    /// What is wrong with them.
    pub problem: TemplateProblem,
}

/// What can be wrong with a template.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TemplateProblem {
    /// It does not begin with `/`.
    NoLeadingSlash,
    /// A `{` without a `}` in the same segment.
    NotClosed,
    /// A `}` without a `{` in the same segment.
    NotOpened,
    /// `{}`, or `{*}`.
    NoName,
    /// A name with a character that cannot be part of one.
    BadName {
        /// The character.
        found: char,
    },
    /// Two parameters of one name.
    SameName {
        /// The name.
        name: String,
    },
    /// Two parameters with nothing between them.
    NoTextBetween,
    /// `{rest*}` where templates have no tails.
    TailRefused,
    /// `{rest*}` that is not the whole of the last segment.
    TailNotLast,
    /// `?` or `#`.
    NotThePath {
        /// Which of them.
        found: char,
    },
    /// Text that stands otherwise in every normalised path.
    NotNormal {
        /// What to write.
        write: String,
    },
    /// A segment `.` or `..`, which no normalised path has.
    DotSegment,
    /// Text for which every path is refused.
    Refused(PathError),
    /// Longer than [`TEMPLATE_BYTES_MAX`].
    TooLong,
    /// More than [`PARAMETERS_MAX`] parameters.
    TooManyParameters,
    /// More than [`TEXT_BYTES_MAX`] bytes beside a parameter.
    TextTooLong,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TemplateProblem as P;
        match &self.problem {
            P::NoLeadingSlash => f.write_str("a path template begins with a slash: put one before it"),
            P::NotClosed => f.write_str("a { has no }: close the parameter with } in the same segment"),
            P::NotOpened => f.write_str("a } has no {: open the parameter with {, or write %7D for the character"),
            P::NoName => f.write_str("a parameter has no name: write one between { and }"),
            P::BadName { found } => {
                write!(f, "a parameter's name has {found:?} in it: use letters, digits, _, - and .")
            }
            P::SameName { name } => {
                write!(f, "two parameters have the name {name:?}: give one of them another name")
            }
            P::NoTextBetween => {
                f.write_str("two parameters have no text between them: write some, or make them one parameter")
            }
            P::TailRefused => f.write_str(
                "a parameter for several segments ({name*}) is not allowed in this document: write a parameter for \
                 each segment",
            ),
            P::TailNotLast => f.write_str(
                "a parameter for several segments ({name*}) is not the whole of the last segment: move it to the end, \
                 after a slash",
            ),
            P::NotThePath { found } => {
                write!(f, "a path ends before {found:?}: leave out what follows; queries and fragments are not matched")
            }
            P::NotNormal { write } => {
                write!(f, "no path has this text once it is normalised: write {write:?} instead")
            }
            P::DotSegment => f.write_str("dot segments are removed from every path: leave this one out"),
            P::Refused(error) => write!(f, "no path has this text, since such paths are refused: {error}"),
            P::TooLong => write!(f, "the template is too long: write at most {TEMPLATE_BYTES_MAX} bytes"),
            P::TooManyParameters => {
                write!(f, "the template has too many parameters: write at most {PARAMETERS_MAX}")
            }
            P::TextTooLong => {
                write!(f, "the text beside a parameter is too long: write at most {TEXT_BYTES_MAX} bytes in a row")
            }
        }
    }
}

impl core::error::Error for TemplateError {}
