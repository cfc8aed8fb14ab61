//! From a place and a text to the next place: one flat table for the whole router. Not what a place means.

use core::fmt;

use super::key::Key;
use super::literals::Literals;
use super::trie::NONE;

/// Where each text leads from each place.
pub(super) struct Edges {
    /// A power of two of them, at most half full.
    slots: Vec<Edge>,
    count: usize,
}

#[derive(Clone, Copy)]
struct Edge {
    /// The text's, so that most that are others are told without a look at the text.
    key: Key,
    from: u32,
    word: u32,
    to: u32,
}

const EMPTY: Edge = Edge { key: Key::NONE, from: NONE, word: NONE, to: NONE };

impl Edges {
    pub(super) fn new() -> Self {
        Self { slots: vec![EMPTY; 16], count: 0 }
    }

    /// Where a text leads from a place, or `NONE`. The texts are those of `words`.
    #[inline(always)]
    pub(super) fn find(&self, from: u32, text: &[u8], words: &Literals) -> u32 {
        let Some(key) = words.key(text) else { return NONE };
        let mask = self.slots.len() - 1;
        let mut at = key.at(from) & mask;
        loop {
            let edge = &self.slots[at];
            let here = edge.from == from && edge.key == key && words.is(edge.word, text, key);
            if here || edge.from == NONE {
                return edge.to;
            }
            at = (at + 1) & mask;
        }
    }

    /// Lets a text lead on from a place, from which it leads nowhere yet.
    pub(super) fn insert(&mut self, from: u32, word: u32, to: u32, words: &Literals) {
        let key = Key::of(words.get(word), words.case());
        self.put(Edge { key, from, word, to });
        self.count += 1;
        if self.count * 2 > self.slots.len() {
            let doubled = vec![EMPTY; self.slots.len() * 2];
            let old = core::mem::replace(&mut self.slots, doubled);
            for edge in old.into_iter().filter(|edge| edge.from != NONE) {
                self.put(edge);
            }
        }
    }

    /// Puts an edge that is not there into the first slot that is free.
    fn put(&mut self, edge: Edge) {
        let mask = self.slots.len() - 1;
        let mut at = edge.key.at(edge.from) & mask;
        while self.slots[at].from != NONE {
            at = (at + 1) & mask;
        }
        self.slots[at] = edge;
    }
}

impl fmt::Debug for Edges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Edges({})", self.count)
    }
}
