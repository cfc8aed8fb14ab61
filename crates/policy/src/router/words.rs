//! Every text of the templates, once, with a number; found by a hash. Not where a text may stand.

use core::fmt;

use super::trie::{NONE, number};
use crate::template::Case;

/// Texts and their numbers, from 0. The texts come from the operator's templates, so the hash needs no secret: a request
/// looks up, and never adds.
pub(super) struct Words {
    case: Case,
    text: Vec<u8>,
    /// Where each text ends, in `text`; it begins where the one before ends.
    ends: Vec<usize>,
    /// A power of two of them, at most half full.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    word: u32,
}

const EMPTY: Slot = Slot { hash: 0, word: NONE };

impl Words {
    pub(super) fn new(case: Case) -> Self {
        Self { case, text: Vec::new(), ends: Vec::new(), slots: vec![EMPTY; 16] }
    }

    pub(super) const fn case(&self) -> Case {
        self.case
    }

    /// The text of a number.
    pub(super) fn get(&self, word: u32) -> &[u8] {
        let word = word as usize;
        let begin = word.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[word]]
    }

    /// The number of a text, or `NONE`.
    pub(super) fn find(&self, text: &[u8]) -> u32 {
        self.slots[self.slot(text, hash(text, self.case))].word
    }

    /// The number of a text, which is new if it must be.
    pub(super) fn take(&mut self, text: &[u8]) -> u32 {
        let hash = hash(text, self.case);
        let slot = self.slot(text, hash);
        if self.slots[slot].word != NONE {
            return self.slots[slot].word;
        }
        let word = number(self.ends.len());
        self.slots[slot] = Slot { hash, word };
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len());
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        word
    }

    /// Where a text is, or would be.
    fn slot(&self, text: &[u8], hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            let here = slot.hash == hash && slot.word != NONE && self.case.same(self.get(slot.word), text);
            if here || slot.word == NONE {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let old = core::mem::replace(&mut self.slots, vec![EMPTY; mask + 1]);
        for slot in old.into_iter().filter(|slot| slot.word != NONE) {
            let mut at = slot.hash as usize & mask;
            while self.slots[at].word != NONE {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({})", self.ends.len())
    }
}

/// Eight bytes at a time. Where case is ignored, one bit of each byte is: what is hashed alike is compared later.
fn hash(text: &[u8], case: Case) -> u32 {
    let ignored = match case {
        Case::Kept => 0,
        Case::Ignored => 0x2020_2020_2020_2020,
    };
    let (chunks, rest) = text.as_chunks::<8>();
    let mut hash = text.len() as u64;
    for chunk in chunks {
        hash = mix(hash ^ (u64::from_le_bytes(*chunk) | ignored));
    }
    let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    hash = mix(hash ^ (rest | ignored));
    u32::try_from(hash >> 32).unwrap_or(0)
}

/// Spreads what differs to the upper half, and back into the lower.
pub(super) const fn mix(bits: u64) -> u64 {
    let spread = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (spread ^ spread >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}
