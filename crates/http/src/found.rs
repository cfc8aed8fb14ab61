//! The result of looking up one named value in a request. Lookups are `header`, `query` and `cookie`.

/// The longest value that is taken; a longer one is [`Found::Malformed`]. As long as the longest header line that
/// common servers take.
pub const VALUE_MAX: usize = 8_192;

/// One named value of a request, or why there is not exactly one.
///
/// A value that is there twice is never chosen from: the first may win here and the last upstream, and then whoever
/// sends both is limited as one and served as another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Found<'a> {
    /// The name is not there.
    Missing,
    /// The name is there once, without a value.
    Empty,
    /// The name is there once, with this value. Never empty.
    One(&'a [u8]),
    /// The name is there more than once, even if the values are equal.
    Repeated,
    /// It cannot be told what is there: a broken escape or quote, or more than is looked through.
    Malformed,
}

impl<'a> Found<'a> {
    /// A value that is there once.
    pub fn value(value: &'a [u8]) -> Self {
        match value.len() {
            0 => Self::Empty,
            1..=VALUE_MAX => Self::One(value),
            _ => Self::Malformed,
        }
    }
}

/// Without the blanks (spaces and tabs, as HTTP has it) around it.
#[must_use]
pub fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
