//! What makes bytes no command and no reply.

use std::fmt;

/// The bytes are not the protocol, or beyond a [bound](crate::Bounds). What follows them has no meaning: report the error and close the
/// connection.
///
/// The messages are those of Redis, where it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The number of arguments or elements is no number, negative, or too large.
    ArrayLength,
    /// The length of a bulk string is no number, negative, or too large.
    BulkLength,
    /// An argument of a command that is not a bulk string. The value is the byte found instead of `$`.
    NotBulk(u8),
    /// A bulk string does not end with a line end.
    BulkEnd,
    /// The command or reply is longer than [`Bounds::total_bytes`](crate::Bounds::total_bytes).
    TooLong,
    /// An inline command is longer than [`Bounds::line_bytes`](crate::Bounds::line_bytes).
    InlineTooLong,
    /// The quotes of an inline command do not match.
    Quotes,
    /// A line of a reply is longer than [`Bounds::line_bytes`](crate::Bounds::line_bytes), or holds a line feed without a carriage return.
    Line,
    /// Arrays are nested deeper than [`Bounds::depth`](crate::Bounds::depth).
    Depth,
    /// No reply begins with this byte.
    Type(u8),
    /// A number, a boolean or a null of a reply is malformed.
    Malformed,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        match self {
            Self::ArrayLength => f.write_str("invalid multibulk length"),
            Self::BulkLength => f.write_str("invalid bulk length"),
            Self::NotBulk(byte) => write!(f, "expected '$', got '{}'", byte.escape_ascii()),
            Self::BulkEnd => f.write_str("a bulk string does not end after its length"),
            Self::TooLong => f.write_str("too big request"),
            Self::InlineTooLong => f.write_str("too big inline request"),
            Self::Quotes => f.write_str("unbalanced quotes in request"),
            Self::Line => f.write_str("a line is too long or has a line feed in it"),
            Self::Depth => f.write_str("arrays are nested too deep"),
            Self::Type(byte) => write!(f, "unknown type '{}'", byte.escape_ascii()),
            Self::Malformed => f.write_str("malformed value"),
        }
    }
}

impl std::error::Error for ProtocolError {}
