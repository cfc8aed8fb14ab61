//! The limits of a parser: what a peer may send at once.

/// Maximum length of a header line such as `*3` or `$5`, without its line end. No number that fits a bound is longer; a longer line is a
/// [protocol error](crate::ProtocolError).
pub const HEADER_BYTES_MAX: usize = 24;

/// What a peer may send at once. Anything beyond is a [protocol error](crate::ProtocolError), after which the connection is of no more use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Elements of an array, and arguments of a command.
    pub elements: usize,
    /// Bytes of a bulk string, and of one argument.
    pub bulk_bytes: usize,
    /// Bytes of a whole command or reply, with its headers. No more than this is ever waited for.
    pub total_bytes: usize,
    /// Bytes of a line: an inline command, a simple string or an error.
    pub line_bytes: usize,
    /// How deep arrays, maps and sets of a reply may be nested. Commands are not nested.
    pub depth: usize,
}

impl Default for Bounds {
    /// For commands of a rate limiter: 1,024 arguments, 64 KiB for one, 1 MiB in all, and inline commands of up to 64 KiB.
    fn default() -> Self {
        Self { elements: 1_024, bulk_bytes: 1 << 16, total_bytes: 1 << 20, line_bytes: 1 << 16, depth: 16 }
    }
}
