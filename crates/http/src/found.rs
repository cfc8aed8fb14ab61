//! The result of looking up one named value in a request. Lookups are `header`, `query` and `cookie`.

/// Maximum length of a value; a longer one is [`Lookup::Malformed`]. The same as the longest header line that
/// common servers accept.
pub const VALUE_MAX: usize = 8_192;

/// One named value of a request, or why there is not exactly one.
///
/// A repeated value is never resolved: if the first counted here and the last upstream, a client that
/// sends both would be limited as one client and served as another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Lookup<'a> {
    /// There is no such name.
    Missing,
    /// The name occurs once, without a value.
    Empty,
    /// The name occurs once, with this value, which is not empty.
    One(&'a [u8]),
    /// The name occurs more than once, possibly with equal values.
    Repeated,
    /// The value is malformed: a broken escape or quote, or too long.
    Malformed,
}

impl<'a> Lookup<'a> {
    /// A value that occurs once.
    pub fn value(value: &'a [u8]) -> Self {
        match value.len() {
            0 => Self::Empty,
            1..=VALUE_MAX => Self::One(value),
            _ => Self::Malformed,
        }
    }
}

/// Removes surrounding blanks: spaces and tabs, as in HTTP.
#[must_use]
pub fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
