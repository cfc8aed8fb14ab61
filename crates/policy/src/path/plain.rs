//! Whether a path is normal at first sight, as most are. What is not so is not refused: the normaliser takes a second look.

use super::{PATH_BYTES_MAX, SEGMENTS_MAX};

/// A byte that stands for itself and ends nothing.
const PLAIN: u8 = 0;
const SLASH: u8 = 1;
/// Everything else: the end of the path, an escape, or what has no place in it.
const OTHER: u8 = 2;

/// The kind of every byte.
const KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut i = 0;
    while i < super::PLAIN.len() {
        kinds[super::PLAIN[i] as usize] = PLAIN;
        i += 1;
    }
    kinds[b'/' as usize] = SLASH;
    kinds
};

/// Where a normal path ends that the text begins with: at the first byte that is no plain one. `None` if what stands before it
/// is not normal, or may not be.
///
/// Every byte is looked at once, and a table says what it is: no escapes, no empty segment, none that begins with a dot, and
/// neither too many segments nor too many bytes.
#[inline]
pub(crate) fn end(text: &[u8]) -> Option<usize> {
    let mut bytes = text.iter();
    if bytes.next() != Some(&b'/') {
        return None;
    }
    let mut segments = 1;
    let end = loop {
        // Behind a slash: a dot may be a dot segment, a slash ends an empty one.
        if matches!(bytes.as_slice(), [b'.' | b'/', ..]) {
            return None;
        }
        let last = bytes.find(|byte| KINDS[usize::from(**byte)] != PLAIN);
        match last {
            Some(b'/') => segments += 1,
            // The one that was found is not part of it.
            Some(_) => break text.len() - bytes.len() - 1,
            None => break text.len(),
        }
    };
    (segments <= SEGMENTS_MAX && end <= PATH_BYTES_MAX).then_some(end)
}
