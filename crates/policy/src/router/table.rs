//! The trie laid flat for the search, with the most steps that a search can take. Not the search itself.

use core::cmp::Reverse;

use super::children::Edges;
use super::literals::Literals;
use super::prefix::CommonPrefix;
use super::trie::{Branch, Follower, NONE, Trie, number};
use super::{RouterError, STEPS_MAX};
use crate::template::Pattern;

/// A trie that grows no more.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) words: Literals,
    pub(super) edges: Edges,
    pub(super) nodes: Vec<Node>,
    pub(super) forms: Vec<Form>,
    /// The patterns of each place that is no node, as a range of `patterns`. Places count on where nodes end.
    pub(super) buckets: Vec<(u32, u32)>,
    pub(super) patterns: Vec<MiddleText>,
    pub(super) stem: CommonPrefix,
    steps: u64,
}

#[derive(Debug)]
pub(super) struct Node {
    /// A bit for each number of segments that some template has from here on. A tail has every number from one on.
    pub(super) lengths: u64,
    /// The template that ends here.
    pub(super) here: u32,
    /// The template with a tail from here on.
    pub(super) tail: u32,
    /// The node after a parameter alone.
    pub(super) parameter: u32,
    /// The range of its forms.
    pub(super) forms: (u32, u32),
    /// Whether any text leads on.
    pub(super) literals: bool,
    /// Whether nothing but a text leads on: then a search never comes back.
    pub(super) literals_only: bool,
}

impl Node {
    /// Whether a segment with text and parameters leads on.
    #[inline]
    pub(super) const fn has_forms(&self) -> bool {
        self.forms.0 != self.forms.1
    }

    /// Whether some template has so many segments from here on, as far as can be told. Most branches that lead nowhere are too
    /// long or too short, which one bit says.
    #[inline]
    pub(super) fn reaches(&self, left: usize) -> bool {
        u32::try_from(left)
            .ok()
            .and_then(|left| self.lengths.checked_shr(left))
            .is_none_or(|bits| bits & 1 == 1)
    }
}

/// Patterns of one node whose texts before and after are of one length: one lookup finds those that a segment could
/// match, however many there are. The forms of a node are in the order of the rule.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) prefix: usize,
    pub(super) suffix: usize,
    pub(super) place: u32,
}

/// What is left of a pattern when its ends match.
#[derive(Debug)]
pub(super) struct MiddleText {
    pub(super) middles: Box<[Box<str>]>,
    pub(super) child: u32,
}

impl Table {
    /// Lays a trie flat. `weight` says how many templates one of the trie stands for.
    pub(super) fn new(mut trie: Trie, weight: &dyn Fn(u32) -> u64) -> Result<Self, RouterError> {
        for branch in &mut trie.nodes {
            branch.patterns.sort_by(|a, b| form(a).cmp(&form(b)).then_with(|| ends(a).cmp(&ends(b))));
        }
        let (lengths, steps) = measure(&trie, weight);
        if steps > STEPS_MAX {
            return Err(RouterError::TooTangled);
        }
        let stem = CommonPrefix::of(&trie);
        let Trie { words, edges, nodes: branches, .. } = trie;
        let base = number(branches.len());
        let (nodes, forms) = (Vec::with_capacity(branches.len()), Vec::new());
        let (buckets, patterns) = (Vec::new(), Vec::new());
        let mut table = Self { words, edges, nodes, forms, buckets, patterns, stem, steps };
        for (branch, lengths) in branches.into_iter().zip(lengths) {
            let Branch { here, tail, parameter, patterns, literals } = branch;
            let begin = number(table.forms.len());
            table.lay(patterns, base);
            let forms = (begin, number(table.forms.len()));
            let literals = literals != NONE;
            let literals_only = (parameter, tail) == (NONE, NONE) && forms.0 == forms.1;
            table.nodes.push(Node { lengths, here, tail, parameter, forms, literals, literals_only });
        }
        Ok(table)
    }

    /// The most steps that a search can take.
    pub(super) const fn steps(&self) -> u64 {
        self.steps
    }

    /// Lays the sorted patterns of a node.
    fn lay(&mut self, patterns: Vec<Follower>, base: u32) {
        let mut last = None;
        for follower in patterns {
            let Pattern { prefix, suffix, middles } = follower.pattern;
            let form = (follower.characters, prefix.len(), suffix.len());
            if last != Some(form) {
                last = Some(form);
                let place = self.new_place(base);
                self.forms.push(Form { prefix: prefix.len(), suffix: suffix.len(), place });
            }
            let mut place = self.forms.last().map_or(NONE, |form| form.place);
            for text in [prefix, suffix].iter().filter(|text| !text.is_empty()) {
                let mut next = self.edges.find(place, text.as_bytes(), &self.words);
                if next == NONE {
                    next = self.new_place(base);
                    let word = self.words.take(text.as_bytes());
                    self.edges.insert(place, word, next, &self.words);
                }
                place = next;
            }
            let end = number(self.patterns.len());
            let bucket = &mut self.buckets[(place - base) as usize];
            // Those of one bucket come one after the other, since they are sorted.
            *bucket = if bucket.0 == bucket.1 { (end, end + 1) } else { (bucket.0, end + 1) };
            self.patterns.push(MiddleText { middles, child: follower.child });
        }
    }

    fn new_place(&mut self, base: u32) -> u32 {
        self.buckets.push((0, 0));
        base + number(self.buckets.len() - 1)
    }
}

/// What patterns of one form have in common. More characters come first.
fn form(follower: &Follower) -> (Reverse<usize>, usize, usize) {
    let Pattern { prefix, suffix, .. } = &follower.pattern;
    (Reverse(follower.characters), prefix.len(), suffix.len())
}

/// What patterns of one bucket have in common, besides their form.
fn ends(follower: &Follower) -> (&str, &str) {
    (&follower.pattern.prefix, &follower.pattern.suffix)
}

/// For each node the lengths below it; and the most steps of a search from the root, for any path.
///
/// Of texts one can match, so the worst counts. Of the patterns of one form, those of one bucket can match. All else
/// counts together.
fn measure(trie: &Trie, weight: &dyn Fn(u32) -> u64) -> (Vec<u64>, u64) {
    let count = trie.nodes.len();
    let (mut lengths, mut steps) = (vec![0_u64; count], vec![0_u64; count]);
    // Children come after their parents, so backwards every child is known.
    for (node, branch) in trie.nodes.iter().enumerate().rev() {
        let steps_of = |child: u32| steps.get(child as usize).copied().unwrap_or(0);
        let lengths_of = |child: u32| lengths.get(child as usize).map_or(0, |lengths| lengths << 1);
        let mut most = 0;
        let mut has = if branch.here == NONE { 0 } else { 1 };
        has |= if branch.tail == NONE { 0 } else { !1 };
        for (_, child) in trie.literals(number(node)) {
            most = most.max(steps_of(child));
            has |= lengths_of(child);
        }
        for form in branch.patterns.chunk_by(|a, b| form(a) == form(b)) {
            let buckets = form.chunk_by(|a, b| ends(a) == ends(b));
            let of_bucket = |bucket: &[Follower]| -> u64 {
                bucket.iter().fold(0, |sum, follower| sum.saturating_add(steps_of(follower.child)) + 1)
            };
            most = most.saturating_add(1 + buckets.map(of_bucket).max().unwrap_or(0));
            has |= form.iter().fold(0, |has, follower| has | lengths_of(follower.child));
        }
        has |= lengths_of(branch.parameter);
        let ids = [branch.here, branch.tail].into_iter().filter(|id| *id != NONE).map(weight).sum::<u64>();
        let others = steps_of(branch.parameter).saturating_add(ids).saturating_add(1);
        steps[node] = most.saturating_add(others).min(u64::MAX / 2);
        lengths[node] = has;
    }
    (lengths, steps.first().copied().unwrap_or(0))
}
