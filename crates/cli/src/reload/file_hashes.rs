//! Content hashes, to ignore file events that changed nothing.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

use crate::files;

/// Maximum bytes of a file to hash. A change beyond them is noticed only by an explicit reload.
pub const COMPARED_BYTES_MAX: u64 = 1 << 30;

/// Files, and what they held. Two are the same if the files are and each holds the same, or cannot be read in both.
///
/// A 64-bit hash of a text, with a key per process: a change goes unnoticed with a probability of 2^-64.
#[derive(Clone, Debug)]
pub struct FileHashes {
    files: BTreeMap<String, Content>,
    keys: RandomState,
}

#[derive(Clone, Default, Debug)]
enum Content {
    /// It could not be read.
    #[default]
    Nothing,
    Bytes {
        hasher: DefaultHasher,
        count: u64,
    },
}

impl Content {
    /// The hash and the length.
    fn mark(&self) -> Option<(u64, u64)> {
        match self {
            Self::Nothing => None,
            Self::Bytes { hasher, count } => Some((hasher.finish(), *count)),
        }
    }
}

impl PartialEq for FileHashes {
    fn eq(&self, other: &Self) -> bool {
        let marks =
            |seen: &Self| seen.files.iter().map(|(name, content)| (name.clone(), content.mark())).collect();
        let (one, two): (Vec<_>, Vec<_>) = (marks(self), marks(other));
        one == two
    }
}

impl FileHashes {
    /// Nothing yet. What is compared must come of one beginning: see [`again`](Self::again).
    fn new(keys: RandomState) -> Self {
        Self { files: BTreeMap::new(), keys }
    }

    /// Nothing yet, to be compared with this.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Self::new(self.keys.clone())
    }

    /// Takes note of a piece of a file, after those before it; `None` if it cannot be read.
    pub(crate) fn note(&mut self, name: &str, piece: Option<&[u8]>) {
        let content = self.files.entry(name.into()).or_default();
        let Some(piece) = piece else {
            *content = Content::Nothing;
            return;
        };
        let (mut hasher, count) = match std::mem::take(content) {
            Content::Nothing => (self.keys.build_hasher(), 0),
            Content::Bytes { hasher, count } => (hasher, count),
        };
        let more =
            u64::try_from(piece.len()).unwrap_or(u64::MAX).min(COMPARED_BYTES_MAX.saturating_sub(count));
        let piece = usize::try_from(more).ok().and_then(|more| piece.get(..more)).unwrap_or(piece);
        hasher.write(piece);
        *content = Content::Bytes { hasher, count: count.saturating_add(more) };
    }

    /// Takes note of a file as a whole, in place of what was known of it; `None` if it cannot be read.
    pub(crate) fn note_whole(&mut self, name: &str, content: Option<&[u8]>) {
        self.files.remove(name);
        self.note(name, content);
    }

    /// Adds files of another beginning that is comparable with this, if they are not here already.
    pub(crate) fn join(&mut self, other: Self) {
        for (name, content) in other.files {
            self.files.entry(name).or_insert(content);
        }
    }

    /// What the same files hold now.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut now = self.afresh();
        for name in self.files.keys() {
            now.look_at(name);
        }
        now
    }

    /// Notes files that could not be used, but can be read, as what they hold: it is not their absence that was seen.
    pub(crate) fn look_at_the_unread(&mut self) {
        let unread: Vec<_> = self.missing().map(str::to_owned).collect();
        unread.iter().for_each(|name| self.look_at(name));
    }

    fn look_at(&mut self, name: &str) {
        self.files.remove(name);
        self.note(name, Some(&[]));
        if files::feed_up_to(name, COMPARED_BYTES_MAX, &mut |piece| self.note(name, Some(piece))).is_err() {
            self.note(name, None);
        }
    }

    /// Whether a file that was there is not there any more.
    #[must_use]
    pub fn misses(&self, before: &Self) -> bool {
        self.missing().any(|name| before.files.get(name).is_some_and(|content| content.mark().is_some()))
    }

    fn missing(&self) -> impl Iterator<Item = &str> {
        let missing = self.files.iter().filter(|(_, content)| content.mark().is_none());
        missing.map(|(name, _)| name.as_str())
    }

    /// Every file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl Default for FileHashes {
    fn default() -> Self {
        Self::new(RandomState::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_matter_in_which_pieces_a_file_was_read() {
        let start = FileHashes::default();
        let (mut whole, mut pieces, mut other) = (start.afresh(), start.afresh(), start.afresh());
        whole.note("a", Some(b"some text"));
        for piece in ["", "s", "ome te", "", "xt"] {
            pieces.note("a", Some(piece.as_bytes()));
        }
        other.note("a", Some(b"some texT"));
        assert_eq!(whole, pieces);
        assert_ne!(whole, other);
    }

    #[test]
    fn an_empty_file_is_not_a_missing_one_and_another_file_is_not_the_same() {
        let start = FileHashes::default();
        let (mut empty, mut missing, mut renamed) = (start.afresh(), start.afresh(), start.afresh());
        empty.note("a", Some(b""));
        missing.note("a", Some(b"begun"));
        missing.note("a", None);
        renamed.note("b", Some(b""));
        assert_ne!(empty, missing);
        assert_ne!(empty, renamed);
        assert!(missing.misses(&empty) && !empty.misses(&missing) && !missing.misses(&missing));
    }

    #[test]
    fn what_lies_beyond_the_most_that_is_compared_makes_no_difference() {
        let start = FileHashes::default();
        let after = |piece: &[u8]| {
            let mut seen = start.afresh();
            let hasher = seen.keys.build_hasher();
            seen.files.insert("a".into(), Content::Bytes { hasher, count: COMPARED_BYTES_MAX - 1 });
            seen.note("a", Some(piece));
            seen
        };
        assert_eq!(after(b"xy"), after(b"xz"));
        assert_ne!(after(b"xy"), after(b"yy"));
    }

    #[test]
    fn files_are_looked_at_again_by_name() {
        let mut seen = FileHashes::default();
        seen.note("no-such-file.yaml", None);
        seen.note("Cargo.toml", Some(b"not what it holds"));
        let now = seen.again();
        let mut read = seen.afresh();
        read.note("no-such-file.yaml", None);
        read.note("Cargo.toml", Some(&std::fs::read("Cargo.toml").unwrap()));
        assert_eq!(now, read);
        assert_eq!(now.names().collect::<Vec<_>>(), seen.names().collect::<Vec<_>>());
        assert_ne!(now, seen);
        assert_eq!(now, now.again());
    }
}
