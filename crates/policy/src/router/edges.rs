//! From a place and a text to the next place: one flat table for the whole router. Not what a place means.

use core::fmt;

use super::trie::NONE;
use super::words::mix;

/// Where each text leads from each place.
pub(super) struct Edges {
    /// A power of two of them, at most half full.
    slots: Vec<Edge>,
    count: usize,
}

#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    word: u32,
    to: u32,
}

const EMPTY: Edge = Edge { from: NONE, word: NONE, to: NONE };

impl Edges {
    pub(super) fn new() -> Self {
        Self { slots: vec![EMPTY; 16], count: 0 }
    }

    /// Where a text leads from a place, or `NONE`. No edge has the text `NONE`.
    pub(super) fn find(&self, from: u32, word: u32) -> u32 {
        self.slots[self.slot(from, word)].to
    }

    pub(super) fn insert(&mut self, from: u32, word: u32, to: u32) {
        let slot = self.slot(from, word);
        self.slots[slot] = Edge { from, word, to };
        self.count += 1;
        if self.count * 2 > self.slots.len() {
            let doubled = vec![EMPTY; self.slots.len() * 2];
            let old = core::mem::replace(&mut self.slots, doubled);
            for edge in old.into_iter().filter(|edge| edge.from != NONE) {
                let slot = self.slot(edge.from, edge.word);
                self.slots[slot] = edge;
            }
        }
    }

    /// Where an edge is, or would be.
    fn slot(&self, from: u32, word: u32) -> usize {
        let mask = self.slots.len() - 1;
        let hash = mix(u64::from(from) << 32 | u64::from(word));
        let mut at = usize::try_from(hash >> 32).unwrap_or(0) & mask;
        loop {
            let edge = &self.slots[at];
            if edge.from == NONE || (edge.from == from && edge.word == word) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

impl fmt::Debug for Edges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Edges({})", self.count)
    }
}
