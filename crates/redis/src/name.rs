//! Key names in Redis: keyed hashes, so that no identity leaves the process.

use std::fmt;
use std::hash::Hasher;

use sha2::{Digest, Sha256};
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::StateKind;

/// The version of the storage layout. Versions with different layouts on one server never read each
/// other's states.
pub const LAYOUT: &str = "tg3:";

/// Length of a name in bytes. One more byte would take 16 more bytes of server memory per key.
const NAME_BYTES: usize = 28;

/// Number of digits of the hash in braces. The other hash has one more.
const TAG_DIGITS: usize = 10;

/// The placeholder for the [kind](StateKind) in a name without one.
const ANY_KIND: u8 = b'*';

/// The name of one limit and one consumer key in Redis. The [kind](StateKind) of state completes it to a key name:
/// see [`of`](Self::of).
///
/// `Display` shows a `*` in place of the kind, as a pattern for all kinds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name([u8; NAME_BYTES]);

/// The name of a key in Redis: `tg3:k{…}…`, 28 characters. `k` is the letter of the [kind](StateKind) of state.
///
/// The part in braces is a hash of the consumer key alone, so that all limits of one consumer key are in one cluster
/// slot and can be charged together. The rest is a hash of the limit's name and the consumer key. Together they
/// have 124 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyName([u8; NAME_BYTES]);

/// Creates names. All processes that share limits need the same secret and the same [namespace](Self::in_namespace).
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

    /// Names under a secret of any length. Without the secret, a name does not reveal its key.
    #[must_use]
    pub fn of_secret(secret: &[u8]) -> Self {
        let mut own = [0; 16];
        own.iter_mut().zip(Sha256::digest(secret)).for_each(|(place, byte)| *place = byte);
        Self::new(own)
    }

    /// Names without a secret: anybody who knows a consumer key can compute its name.
    #[must_use]
    pub const fn without_secret() -> Self {
        Self::new(*b"tollgate's names")
    }

    /// Names in the namespace of one service, among several that share a store: limits with the same name in two namespaces are
    /// independent. An empty namespace is no namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        if namespace.is_empty() {
            return self.clone();
        }
        let hash = self.hasher(&[b"namespace", namespace.as_bytes()]).finish128();
        let mut secret = [0; 16];
        let (first, second) = secret.split_at_mut(8);
        first.copy_from_slice(&hash.h1.to_le_bytes());
        second.copy_from_slice(&hash.h2.to_le_bytes());
        Self { secret }
    }

    /// The name of a limit and a consumer key, both any bytes.
    #[must_use]
    pub fn name(&self, limit: &str, key: &[u8]) -> Name {
        let tag = self.hash(&[b"key", key]);
        let rest = self.hash(&[b"limit", limit.as_bytes(), key]);
        let mut name = [0; NAME_BYTES];
        let (layout, hashed) = name.split_at_mut(LAYOUT.len());
        layout.copy_from_slice(LAYOUT.as_bytes());
        let tag = digits(tag).take(TAG_DIGITS);
        let digits = [ANY_KIND, b'{'].into_iter().chain(tag).chain([b'}']).chain(digits(rest));
        hashed.iter_mut().zip(digits).for_each(|(place, digit)| *place = digit);
        Name(name)
    }

    fn hash(&self, parts: &[&[u8]]) -> u64 {
        self.hasher(parts).finish128().h1
    }

    /// A keyed hash of parts, each with its length, so that no two lists of parts are hashed alike.
    fn hasher(&self, parts: &[&[u8]]) -> SipHasher13 {
        let mut hasher = SipHasher13::new_with_key(&self.secret);
        for part in parts {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        }
        hasher
    }
}

/// 64 bits as eleven digits.
fn digits(bits: u64) -> impl Iterator<Item = u8> {
    (0..11).map(move |place| DIGITS.get(((bits >> (6 * place)) & 63) as usize).copied().unwrap_or(b'-'))
}

impl Name {
    /// The key name for a state of this kind.
    #[must_use]
    pub fn of(&self, kind: StateKind) -> KeyName {
        let mut name = self.0;
        if let Some(place) = name.get_mut(LAYOUT.len()) {
            *place = kind.letter();
        }
        KeyName(name)
    }

    /// Digits of keyed hashes, which differ from name to name.
    pub(crate) fn digits(&self) -> impl DoubleEndedIterator<Item = u8> {
        self.0.into_iter()
    }
}

impl KeyName {
    /// The bytes of the name.
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
        characters(f, &self.0)
    }
}

impl fmt::Debug for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        characters(f, &self.0)
    }
}

fn characters(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
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
        assert!(second.to_string().starts_with("tg3:*{") && second.to_string().get(16..17) == Some("}"));
    }

    #[test]
    fn each_kind_of_state_has_a_key_of_its_own_in_the_same_slot() {
        let name = Naming::new([7; 16]).name("per second", b"ada");
        let keys = StateKind::ALL.map(|kind| name.of(kind).to_string());
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert!(keys[0].starts_with("tg3:d{"), "{keys:?}");
        for key in &keys {
            assert_eq!(key.get(5..), name.to_string().get(5..), "all but the kind is the budget's");
            assert_eq!(key.len(), NAME_BYTES);
        }
    }

    #[test]
    fn another_namespace_names_everything_otherwise_and_an_empty_one_is_none() {
        let naming = Naming::new([7; 16]);
        let name = |naming: &Naming| naming.name("default", b"ada");
        let orders = naming.in_namespace("orders");
        assert_ne!(name(&orders), name(&naming.in_namespace("invoices")));
        assert_ne!(name(&orders), name(&naming));
        assert_ne!(name(&orders).to_string().get(..17), name(&naming).to_string().get(..17), "nor the slot");
        assert_eq!(name(&orders), name(&naming.in_namespace("orders")));
        assert_eq!(name(&naming.in_namespace("")), name(&naming));
        assert_ne!(name(&Naming::new([8; 16]).in_namespace("orders")), name(&orders), "the secret counts");
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
