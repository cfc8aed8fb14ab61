//! Whether a new template could match the same path as an old one, with no rule between them. Not the rule itself.

use super::trie::{NONE, Trie};
use super::{COMPARISONS_MAX, RouterError};
use crate::template::{Case, Pattern, Segment};

/// Compares one template with those of a trie.
pub(super) struct OverlapSearch<'a> {
    pub(super) trie: &'a Trie,
    /// Comparisons so far; the caller keeps the count.
    pub(super) comparisons: &'a mut u64,
    /// Whether a template of the trie may stand beside the new one, though nothing tells them apart.
    pub(super) may_stand: &'a mut dyn FnMut(u32) -> bool,
}

impl OverlapSearch<'_> {
    /// Refuses a template that is ambiguous with one of the trie.
    ///
    /// The rule decides by the first segment that differs, unless both have text and parameters there, and the same
    /// number of characters. Then no path may match both.
    pub(super) fn check(&mut self, segments: &[Segment]) -> Result<(), RouterError> {
        let mut node = 0;
        let mut rest = segments;
        while let Some((segment, after)) = rest.split_first() {
            if let Segment::Pattern(pattern) = segment {
                self.check_at(node, pattern, after)?;
            }
            node = self.trie.follow(node, segment);
            if node == NONE {
                break;
            }
            rest = after;
        }
        Ok(())
    }

    fn check_at(&mut self, node: u32, pattern: &Pattern, after: &[Segment]) -> Result<(), RouterError> {
        let characters = pattern.characters();
        for other in &self.trie.node(node).patterns {
            self.count()?;
            if other.characters == characters && other.pattern != *pattern && other.pattern.meets(pattern) {
                let with = self.meets(other.child, after)?;
                if with != NONE {
                    return Err(RouterError::Ambiguous { with });
                }
            }
        }
        Ok(())
    }

    /// A template below a node that some path matches as it does the segments, or `NONE`.
    fn meets(&mut self, node: u32, segments: &[Segment]) -> Result<u32, RouterError> {
        self.count()?;
        let trie = self.trie;
        let branch = trie.node(node);
        let Some((segment, after)) = segments.split_first() else { return Ok(self.refused(branch.here)) };
        let is_empty = matches!(segment, Segment::Literal(text) if text.is_empty());
        if !is_empty && self.refused(branch.tail) != NONE {
            return Ok(branch.tail);
        }
        if let Segment::Literal(_) = segment {
            let child = trie.follow(node, segment);
            let found = if child == NONE { NONE } else { self.meets(child, after)? };
            if found != NONE {
                return Ok(found);
            }
        } else {
            for (word, child) in trie.literals(node) {
                self.count()?;
                let found = if matches(segment, trie.words.get(word)) {
                    self.next(child, segment, after)?
                } else {
                    NONE
                };
                if found != NONE {
                    return Ok(found);
                }
            }
        }
        for other in &branch.patterns {
            self.count()?;
            let both = match segment {
                Segment::Literal(text) => other.pattern.matches(text.as_bytes(), Case::Kept),
                Segment::Pattern(pattern) => other.pattern.meets(pattern),
                Segment::Parameter | Segment::Tail => true,
            };
            let found = if both { self.next(other.child, segment, after)? } else { NONE };
            if found != NONE {
                return Ok(found);
            }
        }
        if branch.parameter != NONE && !is_empty {
            self.next(branch.parameter, segment, after)
        } else {
            Ok(NONE)
        }
    }

    /// Goes on below a child that the segment meets. A tail meets whatever is there.
    fn next(&mut self, child: u32, segment: &Segment, after: &[Segment]) -> Result<u32, RouterError> {
        if *segment == Segment::Tail { self.any(child) } else { self.meets(child, after) }
    }

    /// Some template below a node that may not stand beside the new one, or `NONE`.
    fn any(&mut self, node: u32) -> Result<u32, RouterError> {
        let trie = self.trie;
        let mut left = vec![node];
        while let Some(node) = left.pop() {
            self.count()?;
            let branch = trie.node(node);
            for id in [branch.here, branch.tail] {
                if self.refused(id) != NONE {
                    return Ok(id);
                }
            }
            left.extend(trie.literals(node).map(|(_, child)| child));
            left.extend(branch.patterns.iter().map(|follower| follower.child));
            left.extend(Some(branch.parameter).filter(|child| *child != NONE));
        }
        Ok(NONE)
    }

    /// The template, unless it may stand beside the new one.
    fn refused(&mut self, id: u32) -> u32 {
        if id == NONE || (self.may_stand)(id) { NONE } else { id }
    }

    fn count(&mut self) -> Result<(), RouterError> {
        *self.comparisons += 1;
        if *self.comparisons > COMPARISONS_MAX { Err(RouterError::TooTangled) } else { Ok(()) }
    }
}

/// Whether a segment that is no text alone matches a text. An empty text is matched by none.
fn matches(segment: &Segment, text: &[u8]) -> bool {
    match segment {
        Segment::Pattern(pattern) => pattern.matches(text, Case::Kept),
        Segment::Literal(_) | Segment::Parameter | Segment::Tail => !text.is_empty(),
    }
}
