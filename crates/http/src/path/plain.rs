//! A fast check for paths that are already normal, as most are.

use super::{PATH_BYTES_MAX, SEGMENTS_MAX};

/// A literal byte without structure: zero, so that the kinds of several bytes can be combined.
const QUIET: u8 = 0;
/// A dot is literal, too, but after a slash it may start a dot segment.
const DOT: u8 = 1;
const SLASH: u8 = 2;
/// Everything else: the end of the path, an escape, or an invalid byte.
const OTHER: u8 = 4;

/// The kind of every byte.
const KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut i = 0;
    while i < super::PLAIN.len() {
        kinds[super::PLAIN[i] as usize] = QUIET;
        i += 1;
    }
    kinds[b'.' as usize] = DOT;
    kinds[b'/' as usize] = SLASH;
    kinds
};

/// A one in each of eight bytes.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The end of a normal path at the start of the text: the first byte that is not part of it, or the end of the text.
/// `None` if the path is not normal, or may not be.
///
/// One pass with a table: no escapes, no empty segments, no segments that start with a dot, and
/// not too many segments or bytes.
#[inline]
#[must_use]
pub fn end(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"/")?;
    let (chunks, _) = rest.as_chunks::<8>();
    let (mut slashes, mut at) = (1_u64, 0);
    // A mark in the lowest byte if the byte before is a slash.
    let mut before = 0x80;
    for chunk in chunks {
        let kinds = chunk.iter().fold(QUIET, |all, byte| all | KINDS[usize::from(*byte)]);
        if kinds & OTHER != 0 {
            break;
        }
        if kinds != QUIET {
            let bytes = u64::from_le_bytes(*chunk);
            // A dot and a slash differ in their lowest bit.
            let dot_or_slash = marks(bytes | ONES, b'/');
            let slash = dot_or_slash & bytes << 7;
            if (slash << 8 | before) & dot_or_slash != 0 {
                return None;
            }
            // The sum of all bytes comes to stand in the highest.
            slashes += (slash >> 7).wrapping_mul(ONES) >> 56;
            before = slash >> 56;
        } else {
            before = 0;
        }
        at += chunk.len();
    }
    let mut behind_slash = before != 0;
    for byte in rest.get(at..)? {
        let kind = KINDS[usize::from(*byte)];
        if kind & OTHER != 0 {
            break;
        }
        if behind_slash && kind != QUIET {
            return None;
        }
        behind_slash = kind == SLASH;
        slashes += u64::from(behind_slash);
        at += 1;
    }
    // With the first slash.
    let end = at + 1;
    (slashes <= SEGMENTS_MAX as u64 && end <= PATH_BYTES_MAX).then_some(end)
}

/// The highest bit of each of eight bytes that is this one, and no other bit.
#[inline]
#[must_use]
pub const fn marks(bytes: u64, byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // What was this byte is zero now; the sum carries into the highest bit of all others, and never beyond it.
    let others = bytes ^ u64::from_ne_bytes([byte; 8]);
    !(((others & LOW) + LOW) | others | LOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{EncodedSlashes, in_full};
    use tollgate_testing::dice::Dice;

    /// What the first look says is what the second would have said: the path is normal as it is. And whoever reads on behind
    /// it finds the byte that ends it.
    fn assert_agrees(text: &str) -> bool {
        let Some(end) = end(text.as_bytes()) else { return false };
        let path = &text[..end];
        let mut buffer = String::new();
        let found = in_full(path, &mut buffer, EncodedSlashes::Refused);
        assert_eq!(found, Ok(path), "{text:?}");
        assert_eq!(found.unwrap().as_ptr(), text.as_ptr(), "{text:?} is copied");
        assert!(
            text.as_bytes()[end..].first().is_none_or(|byte| KINDS[usize::from(*byte)] == OTHER),
            "{text:?}"
        );
        true
    }

    #[test]
    fn the_first_look_and_the_second_agree_on_any_text() {
        let alphabet = b"/////..aZ09-_~;=:@%%25fFeE2?#\\ {\x00\x1f\x7f";
        let mut plain = 0;
        for seed in 0..300_000 {
            let mut dice = Dice::new(seed);
            let most = dice.pick(&[4, 9, 30, 100]);
            let soup =
                if dice.below(2) == 0 { dice.soup(alphabet, most) } else { dice.soup(b"/.abcde", most) };
            let text = format!("/{}", String::from_utf8(soup).unwrap());
            plain += u32::from(assert_agrees(&text));
        }
        assert!(plain > 50_000, "only {plain} were plain");
    }

    #[test]
    fn every_byte_is_seen_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 1..20 {
                let mut text = *b"/abcdefg/ijklmnop/rst";
                text[place] = byte;
                let Ok(text) = str::from_utf8(&text) else {
                    assert!(end(&text).is_none_or(|end| end <= place), "{text:?}");
                    continue;
                };
                let plain = assert_agrees(text) && end(text.as_bytes()) == Some(text.len());
                let normal =
                    in_full(text, &mut String::new(), EncodedSlashes::Refused).is_ok_and(|path| path == text);
                // A segment that begins with a dot is looked at again, and so is an escape: nothing else that is normal.
                let again = byte == b'.' && b"/abcdefg/ijklmnop/rst"[place - 1] == b'/';
                assert_eq!(plain, normal && !again, "{text:?}");
            }
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_second_look() {
        let table = [
            ("", None),
            ("a", None),
            ("*", None),
            ("//", None),
            ("/a//b", None),
            ("/abcdefg//b", None),
            ("/abcdef//b", None),
            ("/.", None),
            ("/a/../b", None),
            ("/abcdefg/.x", None),
            ("/abcdef/.x", None),
            ("/", Some(1)),
            ("/a.b/c./", Some(8)),
            ("/a?b//", Some(2)),
            ("/a%2f", Some(2)),
            ("/abcdefghijk%2f", Some(12)),
            ("/?", Some(1)),
        ];
        for (text, expected) in table {
            assert_eq!(end(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_longest_and_the_most_are_plain_and_one_more_is_not() {
        let (longest, most) = (format!("/{}", "a".repeat(PATH_BYTES_MAX - 1)), "/a".repeat(SEGMENTS_MAX));
        for plain in [longest, most] {
            assert_eq!(end(plain.as_bytes()), Some(plain.len()));
            assert_eq!(end(format!("{plain}/").as_bytes()), None);
        }
    }

    #[test]
    fn bytes_that_are_almost_the_one_looked_for_are_not_marked() {
        for byte in 0..=u8::MAX {
            for others in [0, b'/', b'a', 0xff] {
                for place in 0..8 {
                    let mut bytes = [others; 8];
                    bytes[place] = byte;
                    let marked = (0..8).filter(|at| bytes[*at] == b'/');
                    let expected: u64 = marked.map(|at| 0x80 << (8 * at)).sum();
                    assert_eq!(marks(u64::from_le_bytes(bytes), b'/'), expected, "{bytes:?}");
                }
            }
        }
    }
}
