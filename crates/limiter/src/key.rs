//! Keys: the bytes of any common value, and keys made of parts, encoded so that no two lists of parts collide.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

/// A key with several parts, such as an organisation and a user.
///
/// Each part is encoded with its length, so `("a:b", "c")` and `("a", "b:c")` are different keys.
///
/// ```
/// use tollgate::Key;
/// assert_ne!(Key::of(["a:b", "c"]), Key::of(["a", "b:c"]));
/// assert_ne!(Key::of(["a", ""]), Key::of(["a"]));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Key(Vec<u8>);

impl Key {
    /// The key of any value: see [`AsKey`].
    #[must_use]
    pub fn new(value: impl AsKey) -> Self {
        Self(value.key_bytes().as_ref().to_vec())
    }

    /// Creates a key from parts.
    #[must_use]
    pub fn of<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        parts.into_iter().fold(Self::default(), |key, part| key.and(part.as_ref()))
    }

    /// Appends a part.
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

/// A value that can be the key of a limit.
///
/// Text and bytes are used as they are. Numbers, addresses and tuples have encodings that no text has: `42`,
/// `"42"` and `("4", "2")` are three different keys. Equal numbers of different widths are the same key, and so are an IPv4 address and
/// its IPv4-mapped IPv6 address.
///
/// ```
/// use std::net::IpAddr;
/// use tollgate::Key;
/// assert_ne!(Key::new(42), Key::new("42"));
/// assert_eq!(Key::new(42_u8), Key::new(42_i64));
/// let [plain, mapped] = ["192.0.2.1", "::ffff:192.0.2.1"].map(|text| text.parse::<IpAddr>().unwrap());
/// assert_eq!(Key::new(plain), Key::new(mapped));
/// assert_ne!(Key::new(("a:b", "c")), Key::new(("a", "b:c")));
/// ```
pub trait AsKey {
    /// The bytes of the key.
    fn key_bytes(&self) -> KeyBytes<'_>;
}

/// The bytes of a key, borrowed from its value or encoded: see [`AsKey`].
#[derive(Clone, Debug)]
pub struct KeyBytes<'a>(Bytes<'a>);

#[derive(Clone, Debug)]
enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Encoded(SmallVec<[u8; 24]>),
}

impl AsRef<[u8]> for KeyBytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Encoded(bytes) => bytes,
        }
    }
}

/// The first byte of encoded values. It never occurs in UTF-8.
const ENCODED: u8 = 0xff;

/// The type of an encoded value, as the second byte.
#[derive(Clone, Copy)]
enum Tag {
    Positive = 1,
    Negative = 2,
    Address = 3,
    Parts = 4,
}

impl KeyBytes<'_> {
    fn encoded(tag: Tag, bytes: &[u8]) -> Self {
        let mut encoded = SmallVec::from_slice(&[ENCODED, tag as u8]);
        encoded.extend_from_slice(bytes);
        Self(Bytes::Encoded(encoded))
    }

    /// Parts with their lengths, so that no two lists of parts are the same bytes.
    fn of_parts(parts: &[KeyBytes<'_>]) -> Self {
        let mut encoded: SmallVec<[u8; 24]> = SmallVec::from_slice(&[ENCODED, Tag::Parts as u8]);
        for part in parts {
            let part = part.as_ref();
            encoded.extend_from_slice(&(part.len() as u64).to_le_bytes());
            encoded.extend_from_slice(part);
        }
        Self(Bytes::Encoded(encoded))
    }
}

impl<T: AsKey + ?Sized> AsKey for &T {
    fn key_bytes(&self) -> KeyBytes<'_> {
        (**self).key_bytes()
    }
}

macro_rules! borrowed {
    ($($type:ty),*) => {$(
        impl AsKey for $type {
            fn key_bytes(&self) -> KeyBytes<'_> {
                let bytes: &[u8] = self.as_ref();
                KeyBytes(Bytes::Borrowed(bytes))
            }
        }
    )*};
}

borrowed!(str, String, [u8], Vec<u8>, Key, KeyBytes<'_>);

macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        impl<T: AsKey + ?Sized> AsKey for $pointer<T> {
            fn key_bytes(&self) -> KeyBytes<'_> {
                (**self).key_bytes()
            }
        }
    )*};
}

pointers!(Box, Rc, Arc);

impl<const N: usize> AsKey for [u8; N] {
    fn key_bytes(&self) -> KeyBytes<'_> {
        KeyBytes(Bytes::Borrowed(self))
    }
}

impl<T: AsKey + ToOwned + ?Sized> AsKey for Cow<'_, T> {
    fn key_bytes(&self) -> KeyBytes<'_> {
        (**self).key_bytes()
    }
}

macro_rules! unsigned {
    ($($type:ty),*) => {$(
        impl AsKey for $type {
            fn key_bytes(&self) -> KeyBytes<'_> {
                KeyBytes::encoded(Tag::Positive, &u128_of(*self as u128))
            }
        }
    )*};
}

macro_rules! signed {
    ($($type:ty),*) => {$(
        impl AsKey for $type {
            fn key_bytes(&self) -> KeyBytes<'_> {
                let tag = if *self < 0 { Tag::Negative } else { Tag::Positive };
                KeyBytes::encoded(tag, &u128_of(self.unsigned_abs() as u128))
            }
        }
    )*};
}

const fn u128_of(number: u128) -> [u8; 16] {
    number.to_le_bytes()
}

unsigned!(u8, u16, u32, u64, u128, usize);
signed!(i8, i16, i32, i64, i128, isize);

macro_rules! non_zero {
    ($($number:ty),*) => {$(
        impl AsKey for NonZero<$number> {
            fn key_bytes(&self) -> KeyBytes<'_> {
                match self.get().key_bytes().0 {
                    Bytes::Encoded(bytes) => KeyBytes(Bytes::Encoded(bytes)),
                    Bytes::Borrowed(bytes) => KeyBytes(Bytes::Encoded(SmallVec::from_slice(bytes))),
                }
            }
        }
    )*};
}

non_zero!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

impl AsKey for IpAddr {
    fn key_bytes(&self) -> KeyBytes<'_> {
        match self.to_canonical() {
            Self::V4(address) => KeyBytes::encoded(Tag::Address, &address.octets()),
            Self::V6(address) => KeyBytes::encoded(Tag::Address, &address.octets()),
        }
    }
}

impl AsKey for Ipv4Addr {
    fn key_bytes(&self) -> KeyBytes<'_> {
        KeyBytes::encoded(Tag::Address, &self.octets())
    }
}

impl AsKey for Ipv6Addr {
    fn key_bytes(&self) -> KeyBytes<'_> {
        match self.to_canonical() {
            IpAddr::V4(address) => KeyBytes::encoded(Tag::Address, &address.octets()),
            IpAddr::V6(address) => KeyBytes::encoded(Tag::Address, &address.octets()),
        }
    }
}

macro_rules! tuple {
    ($($type:ident $field:tt),*) => {
        impl<$($type: AsKey),*> AsKey for ($($type,)*) {
            fn key_bytes(&self) -> KeyBytes<'_> {
                KeyBytes::of_parts(&[$(self.$field.key_bytes()),*])
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::HashSet;
    use std::net::Ipv4Addr;
    use std::num::NonZero;
    use std::sync::Arc;

    use super::{AsKey, Key};

    #[test]
    fn values_of_different_kinds_are_different_keys() {
        let v4: std::net::IpAddr = "1.2.3.4".parse().unwrap();
        let v6: std::net::IpAddr = "102:304::".parse().unwrap();
        let keys = [
            Key::new("1"),
            Key::new(1),
            Key::new(-1),
            Key::new(u128::MAX),
            Key::new(i128::MIN),
            Key::new(v4),
            Key::new(v6),
            Key::new("1.2.3.4"),
            Key::new(16_909_060),
            Key::new(("1", 1)),
            Key::new((1, "1")),
            Key::new(("1", "1", "")),
            Key::new((("1", "1"), "")),
            Key::new(("", ("1", "1"))),
            Key::new(""),
        ];
        let different: HashSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
    }

    #[test]
    fn equal_values_are_the_same_key_whatever_their_type() {
        assert_eq!(Key::new("ada"), Key::new(String::from("ada")));
        assert_eq!(Key::new("ada"), Key::new(b"ada".as_slice()));
        assert_eq!(Key::new(7_u8), Key::new(7_isize));
        assert_eq!(Key::new(Key::new(7)), Key::new(7));
        assert_eq!(Key::new(("a", &1)), Key::new(("a".to_string(), 1_u64)));
        assert_eq!(Key::new(NonZero::new(7_i8).unwrap()), Key::new(7));
        let text = String::from("ada");
        let spelled = [
            Key::new(&text),
            Key::new(Cow::Borrowed("ada")),
            Key::new(Arc::<str>::from("ada")),
            Key::new(b"ada"),
        ];
        assert!(spelled.iter().all(|key| *key == Key::new(Box::<str>::from("ada"))));
        assert_eq!(
            Key::new([7_u8; 16]),
            Key::new(Cow::Borrowed([7_u8; 16].as_slice())),
            "the bytes of a UUID"
        );
        let v4 = Ipv4Addr::new(192, 0, 2, 1);
        assert_eq!(Key::new(v4), Key::new(v4.to_ipv6_mapped()));
        assert_eq!(Key::new((1, 2, 3, 4, 5, 6)), Key::new((1_u8, 2_i64, 3_u16, 4_u32, 5_u64, 6_usize)));
        assert_eq!(
            "ada".key_bytes().as_ref(),
            b"ada",
            "text is its own bytes, as it was in earlier versions"
        );
    }
}
