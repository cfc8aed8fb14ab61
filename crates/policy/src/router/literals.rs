//! Every text of the templates, once, with a number. Not where a text may stand, nor how a path's text is found: that is `edges`.

use core::fmt;

use super::key::Key;
use super::trie::{NONE, number};
use crate::template::Case;

/// Texts and their numbers, from 0.
pub(super) struct Literals {
    case: Case,
    text: Vec<u8>,
    /// Where each text ends, in `text`; it begins where the one before ends.
    ends: Vec<usize>,
    longest: usize,
    /// A power of two of them, at most half full.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    word: u32,
}

const EMPTY: Slot = Slot { key: Key::NONE, word: NONE };

impl Literals {
    pub(super) fn new(case: Case) -> Self {
        Self { case, text: Vec::new(), ends: Vec::new(), longest: 0, slots: vec![EMPTY; 16] }
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

    /// The key of a text that may be here; `None` if it is longer than all that are. So the work for a request's text is
    /// bounded by the templates, however often it is looked up.
    #[inline]
    pub(super) fn key(&self, text: &[u8]) -> Option<Key> {
        (text.len() <= self.longest).then(|| Key::of(text, self.case))
    }

    /// Whether a text is the one of this number, if their keys are the same.
    #[inline]
    pub(super) fn is(&self, word: u32, text: &[u8], key: Key) -> bool {
        key.is_whole() || self.case.same(self.get(word), text)
    }

    /// The number of a text, which is new if it must be.
    pub(super) fn take(&mut self, text: &[u8]) -> u32 {
        let key = Key::of(text, self.case);
        let slot = self.slot(text, key);
        if self.slots[slot].word != NONE {
            return self.slots[slot].word;
        }
        let word = number(self.ends.len());
        self.slots[slot] = Slot { key, word };
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len());
        self.longest = self.longest.max(text.len());
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        word
    }

    /// Where a text is, or would be.
    fn slot(&self, text: &[u8], key: Key) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = key.at(0) & mask;
        loop {
            let slot = self.slots[at];
            if slot.word == NONE || slot.key == key && self.is(slot.word, text, key) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let old = core::mem::replace(&mut self.slots, vec![EMPTY; mask + 1]);
        for slot in old.into_iter().filter(|slot| slot.word != NONE) {
            let mut at = slot.key.at(0) & mask;
            while self.slots[at].word != NONE {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }
}

impl fmt::Debug for Literals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({})", self.ends.len())
    }
}
