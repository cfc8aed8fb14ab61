//! A segment with text and parameters: whether one matches a segment, and whether two could match the same one. Not
//! whole templates.

/// Text, then parameters with text between them, then text: `{name}.json`, `a{x}-{y}`.
///
/// All text is as in a normalised path. A parameter takes one or more characters, and an escape is one character.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pattern {
    /// The text before the first parameter; may be empty.
    pub(crate) prefix: Box<str>,
    /// The text after the last parameter; may be empty.
    pub(crate) suffix: Box<str>,
    /// The texts between two parameters; none is empty.
    pub(crate) middles: Box<[Box<str>]>,
}

/// Whether the letters `A` and `a` are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Case {
    Kept,
    /// For ASCII alone.
    Ignored,
}

impl Case {
    pub(crate) fn same(self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Self::Kept => a == b,
            Self::Ignored => a.eq_ignore_ascii_case(b),
        }
    }
}

impl Pattern {
    /// How many characters of text it has. `%C3%A9` is one, as `é` is.
    pub(crate) fn characters(&self) -> usize {
        let texts = self.middles.iter().chain([&self.prefix, &self.suffix]);
        texts.map(|text| characters(text)).sum()
    }

    /// Whether it matches a segment.
    pub(crate) fn matches(&self, segment: &[u8], case: Case) -> bool {
        let (prefix, suffix) = (self.prefix.as_bytes(), self.suffix.as_bytes());
        let Some(end) = segment.len().checked_sub(suffix.len()).filter(|end| *end > prefix.len()) else {
            return false;
        };
        let (Some(before), Some(after)) = (segment.get(..prefix.len()), segment.get(end..)) else {
            return false;
        };
        whole(segment, end)
            && case.same(before, prefix)
            && case.same(after, suffix)
            && between(&self.middles, segment, prefix.len()..end, case)
    }

    /// Whether some segment matches both.
    ///
    /// The ends decide: if the prefixes fit and the suffixes fit, then the longer prefix, the middles of one, the
    /// middles of the other and the longer suffix, with a character between each, match both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let fits = |a: &str, b: &str| a.starts_with(b) || b.starts_with(a);
        fits(&self.prefix, &other.prefix)
            && (ends_with(&self.suffix, &other.suffix) || ends_with(&other.suffix, &self.suffix))
    }
}

/// Whether the parameters and the texts between them match a part of a segment, of which both ends are whole
/// characters. The leftmost place for each text leaves the most for the others.
pub(crate) fn between(
    middles: &[Box<str>],
    segment: &[u8],
    part: core::ops::Range<usize>,
    case: Case,
) -> bool {
    let mut from = part.start;
    for middle in middles {
        let middle = middle.as_bytes();
        // A parameter takes at least one byte, and here at least one whole character.
        let fits = |at: &usize| {
            let found = segment.get(*at..*at + middle.len());
            found.is_some_and(|found| case.same(found, middle)) && whole(segment, *at)
        };
        let last = part.end.saturating_sub(middle.len());
        let Some(at) = (from + 1..=last).find(fits) else { return false };
        from = at + middle.len();
    }
    from < part.end
}

/// Whether a place in normalised text is not inside an escape.
pub(crate) fn whole(text: &[u8], at: usize) -> bool {
    let is_percent = |back| at.checked_sub(back).and_then(|at| text.get(at)) == Some(&b'%');
    !is_percent(1) && !is_percent(2)
}

fn ends_with(long: &str, short: &str) -> bool {
    long.ends_with(short) && whole(long.as_bytes(), long.len() - short.len())
}

/// The characters of normalised text.
fn characters(text: &str) -> usize {
    // Of an escape, `%HH`, the percent sign counts, unless the byte continues a character (80 to BF).
    let continues =
        |rest: &str| matches!(rest.as_bytes().first(), Some(b'8' | b'9' | b'A' | b'B' | b'a' | b'b'));
    let mut pieces = text.split('%');
    let plain = pieces.next().map_or(0, str::len);
    plain + pieces.map(|piece| piece.len().saturating_sub(2) + usize::from(!continues(piece))).sum::<usize>()
}
