//! What a budget's key is called in Redis: a keyed hash, so that no identity leaves the process. Not the key's parts.

use std::fmt;
use std::hash::Hasher;

use sha2::{Digest, Sha256};
use siphasher::sip128::{Hasher128, SipHasher13};

/// The layout of what is stored. Another layout has another number, so that two versions on one server never read each
/// other's states.
pub const LAYOUT: &str = "tg2:";

/// How many bytes a name has.
const NAME_BYTES: usize = 28;

/// A key's name in Redis: `tg2:{…}…`, 28 characters.
///
/// The part in braces is a hash of the key alone, so that all limits on one key live in one slot of a cluster and can be
/// charged together. What follows is a hash of the limit's name and the key. Together they are 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name([u8; NAME_BYTES]);

/// Makes names. Every process that shares a store needs the same secret.
#[derive(Clone)]
pub struct Naming {
    secret: [u8; 16],
}

const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-";

impl Naming {
    /// Names under a secret of 16 bytes.
    #[must_use]
    pub const fn new(secret: [u8; 16]) -> Self {
        Self { secret }
    }

    /// Names under a secret of any length: whoever does not know it cannot tell whose budget a name is.
    #[must_use]
    pub fn of_secret(secret: &[u8]) -> Self {
        let mut own = [0; 16];
        own.iter_mut().zip(Sha256::digest(secret)).for_each(|(place, byte)| *place = byte);
        Self::new(own)
    }

    /// Names that anybody can make who knows a key: for those who share a store and no secret.
    #[must_use]
    pub const fn without_secret() -> Self {
        Self::new(*b"tollgate's names")
    }

    /// The name of a limit's key. Both are any bytes.
    #[must_use]
    pub fn name(&self, limit: &str, key: &[u8]) -> Name {
        let tag = self.hash(&[b"key", key]);
        let rest = self.hash(&[b"limit", limit.as_bytes(), key]);
        let mut name = [0; NAME_BYTES];
        let (layout, hashed) = name.split_at_mut(LAYOUT.len());
        layout.copy_from_slice(LAYOUT.as_bytes());
        let digits = std::iter::once(b'{').chain(digits(tag)).chain([b'}']).chain(digits(rest));
        hashed.iter_mut().zip(digits).for_each(|(place, digit)| *place = digit);
        Name(name)
    }

    /// A keyed hash of parts, each with its length, so that no two lists of parts are hashed alike.
    fn hash(&self, parts: &[&[u8]]) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.secret);
        for part in parts {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        }
        hasher.finish128().h1
    }
}

/// 64 bits as eleven digits.
fn digits(bits: u64) -> impl Iterator<Item = u8> {
    (0..11).map(move |place| DIGITS.get(((bits >> (6 * place)) & 63) as usize).copied().unwrap_or(b'-'))
}

impl Name {
    /// Its bytes, as they are sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

impl fmt::Debug for Naming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Naming(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_has_one_tag_and_two_limits_have_two_names() {
        let naming = Naming::new([7; 16]);
        let (second, day) = (naming.name("per second", b"ada"), naming.name("per day", b"ada"));
        assert_ne!(second, day);
        assert_eq!(second.to_string().get(..17), day.to_string().get(..17));
        assert!(second.to_string().starts_with("tg2:{") && second.to_string().get(16..17) == Some("}"));
    }

    #[test]
    fn another_secret_names_everything_otherwise() {
        let names = [[7; 16], [8; 16]].map(|secret| Naming::new(secret).name("per day", b"ada"));
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let naming = Naming::new([7; 16]);
        assert_ne!(naming.name("ab", b"c"), naming.name("a", b"bc"));
    }
}
