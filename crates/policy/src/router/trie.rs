//! The templates as a tree of segments, while they are added. Not the search, which has a flatter form.

use super::children::Edges;
use super::literals::Literals;
use super::{PATTERNS_MAX, RouterError, TEMPLATES_MAX};
use crate::template::{Case, Pattern, Segment};

/// No template, no node, no text.
pub(super) const NONE: u32 = u32::MAX;

/// Templates, each of which ends at a node of its own; a tail ends at the node before it.
#[derive(Debug)]
pub(super) struct Trie {
    pub(super) words: Literals,
    pub(super) edges: Edges,
    /// The root is the first. Every node comes after its parent.
    pub(super) nodes: Vec<Branch>,
    siblings: Vec<Sibling>,
    count: u32,
}

/// A node: what may follow after the segments before it.
#[derive(Debug)]
pub(super) struct Branch {
    /// The template that ends here.
    pub(super) here: u32,
    /// The template with a tail from here on.
    pub(super) tail: u32,
    /// The node after a parameter alone.
    pub(super) parameter: u32,
    /// The node after each segment with text and parameters.
    pub(super) patterns: Vec<Follower>,
    /// The first of the nodes after a text; `edges` finds one by its text.
    pub(super) literals: u32,
}

#[derive(Debug)]
pub(super) struct Follower {
    pub(super) pattern: Pattern,
    pub(super) characters: usize,
    pub(super) child: u32,
}

/// The nodes after a text are chained, so that all can be visited.
#[derive(Debug)]
struct Sibling {
    word: u32,
    child: u32,
    next: u32,
}

const LEAF: Branch = Branch { here: NONE, tail: NONE, parameter: NONE, patterns: Vec::new(), literals: NONE };

impl Trie {
    pub(super) fn new(case: Case) -> Self {
        let (words, edges) = (Literals::new(case), Edges::new());
        Self { words, edges, nodes: vec![LEAF], siblings: Vec::new(), count: 0 }
    }

    pub(super) fn node(&self, node: u32) -> &Branch {
        &self.nodes[node as usize]
    }

    /// The nodes after a text, with the numbers of the texts.
    pub(super) fn literals(&self, node: u32) -> impl Iterator<Item = (u32, u32)> {
        let mut next = self.node(node).literals;
        core::iter::from_fn(move || {
            let sibling = self.siblings.get(next as usize)?;
            next = sibling.next;
            Some((sibling.word, sibling.child))
        })
    }

    /// The node after a segment of a template, or `NONE`.
    pub(super) fn follow(&self, node: u32, segment: &Segment) -> u32 {
        let branch = self.node(node);
        match segment {
            Segment::Literal(text) => self.edges.find(node, text.as_bytes(), &self.words),
            Segment::Pattern(pattern) => {
                let same = branch.patterns.iter().find(|follower| follower.pattern == *pattern);
                same.map_or(NONE, |follower| follower.child)
            }
            Segment::Parameter => branch.parameter,
            Segment::Tail => NONE,
        }
    }

    /// The template of exactly these segments, or `NONE`.
    pub(super) fn get(&self, segments: &[Segment]) -> u32 {
        let mut node = 0;
        for segment in segments {
            if *segment == Segment::Tail {
                return self.node(node).tail;
            }
            node = self.follow(node, segment);
            if node == NONE {
                return NONE;
            }
        }
        self.node(node).here
    }

    /// Adds a template that is not there. It is not checked for ambiguity. If it is refused, nothing has changed.
    pub(super) fn insert(&mut self, segments: &[Segment]) -> Result<u32, RouterError> {
        if self.count == TEMPLATES_MAX {
            return Err(RouterError::TooManyTemplates);
        }
        let mut node = 0;
        for segment in segments {
            if *segment != Segment::Tail {
                node = self.step(node, segment)?;
            }
        }
        let id = self.count;
        let branch = &mut self.nodes[node as usize];
        match segments.last() {
            Some(Segment::Tail) => branch.tail = id,
            _ => branch.here = id,
        }
        self.count += 1;
        Ok(id)
    }

    /// The node after a segment, which is new if it must be.
    fn step(&mut self, node: u32, segment: &Segment) -> Result<u32, RouterError> {
        let there = self.follow(node, segment);
        if there != NONE {
            return Ok(there);
        }
        let child = number(self.nodes.len());
        let branch = &mut self.nodes[node as usize];
        match segment {
            Segment::Literal(text) => {
                let word = self.words.take(text.as_bytes());
                let first = core::mem::replace(&mut branch.literals, number(self.siblings.len()));
                self.siblings.push(Sibling { word, child, next: first });
                self.edges.insert(node, word, child, &self.words);
            }
            Segment::Pattern(pattern) => {
                // Only at the first new node can there be others, so nothing was added before this.
                if branch.patterns.len() == PATTERNS_MAX {
                    return Err(RouterError::TooManyPatterns);
                }
                let characters = pattern.characters();
                branch.patterns.push(Follower { pattern: pattern.clone(), characters, child });
            }
            Segment::Parameter => branch.parameter = child,
            Segment::Tail => return Ok(node),
        }
        self.nodes.push(LEAF);
        Ok(child)
    }
}

/// A count of nodes or texts as a number.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).expect("at most TEMPLATES_MAX templates of SEGMENTS_MAX segments: 2^26")
}
