//! A value of RESP2, as a reply contains it. `resp.rs` parses it.

use std::fmt;

/// A reply of the server, or an element of one.
///
/// ```
/// use tollgate_redis::Value;
///
/// assert_eq!(Value::Int(7).as_int(), Some(7));
/// assert_eq!(Value::BulkString(b"seven".to_vec()).as_bytes(), Some(b"seven".as_slice()));
/// assert_eq!(Value::Nil.as_bytes(), None);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// The null bulk string or the null array: there is no value.
    Nil,
    /// An integer.
    Int(i64),
    /// A string of any bytes.
    BulkString(Vec<u8>),
    /// A list of values.
    Array(Vec<Self>),
    /// A status such as `OK`. Bytes that are not UTF-8 are replaced.
    SimpleString(String),
    /// An error inside an array, without its `-`. An error that is the whole reply is a [`LinkError`](crate::LinkError).
    Error(String),
}

impl Value {
    /// The number, if the value is an integer.
    #[must_use]
    pub const fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Nil | Self::BulkString(_) | Self::Array(_) | Self::SimpleString(_) | Self::Error(_) => None,
        }
    }

    /// The bytes, if the value is a bulk string.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::BulkString(bytes) => Some(bytes),
            Self::Nil | Self::Int(_) | Self::Array(_) | Self::SimpleString(_) | Self::Error(_) => None,
        }
    }
}

impl fmt::Debug for Value {
    /// Shows the bytes of a string as text, so that errors can be read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("Nil"),
            Self::Int(number) => write!(f, "Int({number})"),
            Self::BulkString(bytes) => write!(f, "BulkString(\"{}\")", bytes.escape_ascii()),
            Self::Array(values) => f.debug_tuple("Array").field(values).finish(),
            Self::SimpleString(text) => f.debug_tuple("SimpleString").field(text).finish(),
            Self::Error(line) => f.debug_tuple("Error").field(line).finish(),
        }
    }
}
