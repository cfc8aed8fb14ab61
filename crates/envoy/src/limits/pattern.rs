//! Values with wildcards: `*` anywhere stands for zero or more characters.

/// A pattern, split at its wildcards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    text: Box<str>,
    pieces: Box<[Box<str>]>,
}

impl Pattern {
    /// A value as a pattern; `None` if it has no wildcard.
    pub(crate) fn of(value: &str) -> Option<Self> {
        let pieces = || value.split('*').map(Into::into).collect();
        value.contains('*').then(|| Self { text: value.into(), pieces: pieces() })
    }

    /// As it is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a value matches, in time proportional to the value times the pattern at most.
    pub(crate) fn is_match(&self, value: &str) -> bool {
        let [first, middle @ .., last] = &*self.pieces else { return false };
        let Some(rest) = value.strip_prefix(&**first) else { return false };
        let Some(mut rest) = rest.strip_suffix(&**last) else { return false };
        // The leftmost place of each piece leaves the most for those behind it.
        for piece in middle {
            let Some(at) = rest.find(&**piece) else { return false };
            rest = rest.get(at.saturating_add(piece.len())..).unwrap_or_default();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_any_text_or_none() {
        for (pattern, value, matches) in [
            ("*", "", true),
            ("*", "anything", true),
            ("value*", "value", true),
            ("value*", "value_1", true),
            ("value*", "valu", false),
            ("*end", "the end", true),
            ("*end", "the end.", false),
            ("/api/*/items", "/api/v1/items", true),
            ("/api/*/items", "/api//items", true),
            ("/api/*/items", "/api/items", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("**", "", true),
            ("é*", "éa", true),
        ] {
            let pattern = Pattern::of(pattern).expect("it has a wildcard");
            assert_eq!(pattern.is_match(value), matches, "{} {value}", pattern.text());
        }
        assert_eq!(Pattern::of("plain"), None);
    }
}
