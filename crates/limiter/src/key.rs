//! A key made of parts, written down so that no two lists of parts look alike. Not for keys of one part: those are their
//! own bytes.

/// A key made of parts: an organisation and a user, say.
///
/// Each part is written with its length, so `("a:b", "c")` and `("a", "b:c")` are two keys, whatever is in them.
///
/// ```
/// use tollgate::Key;
/// assert_ne!(Key::of(["a:b", "c"]), Key::of(["a", "b:c"]));
/// assert_ne!(Key::of(["a", ""]), Key::of(["a"]));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Key(Vec<u8>);

impl Key {
    /// A key of these parts.
    #[must_use]
    pub fn of<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        parts.into_iter().fold(Self::default(), |key, part| key.and(part.as_ref()))
    }

    /// The same key with one more part.
    #[must_use]
    pub fn and(mut self, part: &(impl AsRef<[u8]> + ?Sized)) -> Self {
        let part = part.as_ref();
        self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.0.extend_from_slice(part);
        self
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
