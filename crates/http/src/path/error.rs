//! Errors of paths: what is wrong, at which byte, and how to fix it.

use core::fmt;

use super::{PATH_BYTES_MAX, SEGMENTS_MAX};

/// Why a path is invalid or ambiguous.
///
/// `at` is a byte offset in the path as sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathError {
    /// It is longer than [`PATH_BYTES_MAX`].
    TooLong {
        /// The length.
        bytes: usize,
    },
    /// It has more than [`SEGMENTS_MAX`] segments.
    TooManySegments,
    /// It does not start with `/`.
    NoLeadingSlash,
    /// A `%` without two hex digits.
    BadEscape {
        /// Where the percent sign is.
        at: usize,
    },
    /// `%2F`: a slash to some servers, a letter to others.
    EncodedSlash {
        /// Where the escape is.
        at: usize,
    },
    /// `%2E`: part of a dot segment to some servers.
    EncodedDot {
        /// Where the escape is.
        at: usize,
    },
    /// `%5C`: a slash to some servers.
    EncodedBackslash {
        /// Where the escape is.
        at: usize,
    },
    /// `\`: a slash to some servers.
    Backslash {
        /// Where it is.
        at: usize,
    },
    /// A control character, as it is or encoded: NUL to 1F, 7F to 9F.
    Control {
        /// Where it is.
        at: usize,
    },
    /// Escapes that are not UTF-8: overlong, truncated, or a surrogate.
    NotUtf8 {
        /// Where they begin.
        at: usize,
    },
    /// A slash, dot, backslash or NUL that is encoded twice or more often, such as `%252F`.
    DoublyEncoded {
        /// Where the first percent sign of the segment is encoded.
        at: usize,
    },
    /// A byte that is not ASCII and not encoded.
    NotAscii {
        /// Where it is.
        at: usize,
    },
    /// A character that RFC 3986 does not allow in a path.
    NotAllowed {
        /// Where it is.
        at: usize,
        /// Which it is.
        found: char,
    },
    /// `?` or `#`: what follows is not the path.
    NotThePath {
        /// Where it is.
        at: usize,
        /// Which it is.
        found: char,
    },
    /// `//`: one slash to some servers, two to others.
    EmptySegment {
        /// Where the second slash is.
        at: usize,
    },
    /// `..` above the root.
    AboveRoot {
        /// Where it is.
        at: usize,
    },
    /// `.` or `..` with parameters, such as `..;x`: a dot segment to servers that drop them.
    DotsWithParameters {
        /// Where it is.
        at: usize,
    },
}

impl PathError {
    /// The error for a byte that is invalid in a path.
    pub(super) fn refused(byte: u8, at: usize) -> Self {
        match byte {
            b'\\' => Self::Backslash { at },
            b'?' | b'#' => Self::NotThePath { at, found: char::from(byte) },
            0x80.. => Self::NotAscii { at },
            _ if byte.is_ascii_control() => Self::Control { at },
            _ => Self::NotAllowed { at, found: char::from(byte) },
        }
    }

    /// The byte offset of the error, if it has one.
    #[must_use]
    pub const fn at(&self) -> Option<usize> {
        match *self {
            Self::TooLong { .. } | Self::TooManySegments | Self::NoLeadingSlash => None,
            Self::BadEscape { at }
            | Self::EncodedSlash { at }
            | Self::EncodedDot { at }
            | Self::EncodedBackslash { at }
            | Self::Backslash { at }
            | Self::Control { at }
            | Self::NotUtf8 { at }
            | Self::DoublyEncoded { at }
            | Self::NotAscii { at }
            | Self::NotAllowed { at, .. }
            | Self::NotThePath { at, .. }
            | Self::EmptySegment { at }
            | Self::AboveRoot { at }
            | Self::DotsWithParameters { at } => Some(at),
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "the path has {bytes} bytes: send at most {PATH_BYTES_MAX}")
            }
            Self::TooManySegments => {
                write!(f, "the path has too many segments: send at most {SEGMENTS_MAX}")
            }
            Self::NoLeadingSlash => f.write_str("the path does not start with a slash: add one"),
            Self::BadEscape { at } => {
                write!(
                    f,
                    "the path has a % without two hex digits at byte {at}: write %25 for a percent sign"
                )
            }
            Self::EncodedSlash { at } => write!(
                f,
                "the path has an encoded slash (%2F) at byte {at}: write it as / where it separates segments, and \
                 send names that contain one in the query"
            ),
            Self::EncodedDot { at } => {
                write!(f, "the path has an encoded dot (%2E) at byte {at}: write it as .")
            }
            Self::EncodedBackslash { at } => write!(
                f,
                "the path has an encoded backslash (%5C) at byte {at}: write / where it separates segments, and \
                 send names that contain one in the query"
            ),
            Self::Backslash { at } => write!(f, "the path has a backslash at byte {at}: write it as /"),
            Self::Control { at } => {
                write!(f, "the path has a control character at byte {at}: leave it out")
            }
            Self::NotUtf8 { at } => {
                write!(
                    f,
                    "the path has escapes that are not UTF-8 at byte {at}: percent-encode the UTF-8 bytes of each character"
                )
            }
            Self::DoublyEncoded { at } => write!(
                f,
                "the path has a slash, dot, backslash or NUL that is encoded twice at byte {at}: encode once"
            ),
            Self::NotAscii { at } => {
                write!(f, "the path has a byte that is not ASCII at byte {at}: write it as %HH")
            }
            Self::NotAllowed { at, found } => {
                write!(f, "the path has {found:?} at byte {at}: write it as %{:02X}", u32::from(*found))
            }
            Self::NotThePath { at, found } => write!(
                f,
                "the path has {found:?} at byte {at}, where the path ends: give the path alone, or write it as \
                 %{:02X}",
                u32::from(*found)
            ),
            Self::EmptySegment { at } => {
                write!(f, "the path has two slashes in a row at byte {at}: write one")
            }
            Self::AboveRoot { at } => {
                write!(f, "the path goes above the root with .. at byte {at}: leave it out")
            }
            Self::DotsWithParameters { at } => {
                write!(f, "the path has a dot segment with parameters at byte {at}: leave it out")
            }
        }
    }
}

impl core::error::Error for PathError {}
