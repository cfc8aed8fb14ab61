//! The search: down the nearest branch first, back when it does not fit. Not the table it goes through.

use super::table::{Between, Form, Node, Table};
use super::trie::NONE;
use super::words::Words;
use crate::path::SEGMENTS_MAX;
use crate::template::{Case, between, whole};

/// What [`Router::steps`](super::Router::steps) bounds is counted in tests, so that the bound is seen to hold.
#[cfg(test)]
fn count_step() {
    STEPS.set(STEPS.get() + 1);
}

#[cfg(not(test))]
const fn count_step() {}

#[cfg(test)]
thread_local! {
    pub(super) static STEPS: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// A path in its segments, each looked up once.
struct Segments<'p> {
    path: &'p [u8],
    /// Where each begins and ends. Small numbers, since all of it is written for every search.
    ranges: [(u16, u16); SEGMENTS_MAX],
    words: [u32; SEGMENTS_MAX],
    count: usize,
}

impl<'p> Segments<'p> {
    const fn none(path: &'p str) -> Self {
        let (ranges, words) = ([(0, 0); SEGMENTS_MAX], [NONE; SEGMENTS_MAX]);
        Self { path: path.as_bytes(), ranges, words, count: 0 }
    }

    /// Splits the path; returns nothing if it is not normalised.
    fn split(&mut self, words: &Words) -> Option<()> {
        let mut begin = 1;
        for mut text in self.path.strip_prefix(b"/")?.split(|byte| *byte == b'/') {
            let next = begin + text.len() + 1;
            if words.case() == Case::Ignored {
                text = text.split(|byte| *byte == b';').next().unwrap_or_default();
            }
            if words.case() == Case::Kept || !text.is_empty() {
                let range = (u16::try_from(begin).ok()?, u16::try_from(begin + text.len()).ok()?);
                *self.ranges.get_mut(self.count)? = range;
                *self.words.get_mut(self.count)? = words.find(text);
                self.count += 1;
            }
            begin = next;
        }
        Some(())
    }

    fn text(&self, at: usize) -> Option<&'p [u8]> {
        let (begin, end) = *self.ranges.get(at)?;
        self.path.get(usize::from(begin)..usize::from(end))
    }
}

impl Table {
    /// Calls `accept` with the templates that match, nearest first, until it returns something.
    pub(super) fn search<R>(&self, path: &str, accept: &mut impl FnMut(u32) -> Option<R>) -> Option<R> {
        let mut segments = Segments::none(path);
        segments.split(&self.words)?;
        self.descend(0, &segments, 0, accept)
    }

    /// Goes on below a node, whose parents took the segments before `at`. It calls itself at most once for each segment
    /// deeper, so [`SEGMENTS_MAX`] deep.
    fn descend<R>(
        &self,
        place: u32,
        path: &Segments<'_>,
        at: usize,
        accept: &mut impl FnMut(u32) -> Option<R>,
    ) -> Option<R> {
        let node = self.nodes.get(place as usize)?;
        count_step();
        let left = path.count - at;
        // Most branches that lead nowhere are too long or too short, which one bit says.
        let reaches = u32::try_from(left).ok().and_then(|left| node.lengths.checked_shr(left));
        if reaches.is_some_and(|bits| bits & 1 == 0) {
            return None;
        }
        if left == 0 {
            return if node.here == NONE { None } else { accept(node.here) };
        }
        let (text, word) = (path.text(at)?, *path.words.get(at)?);
        if word != NONE && node.literals {
            let child = self.edges.find(place, word);
            if child != NONE
                && let Some(found) = self.descend(child, path, at + 1, accept)
            {
                return Some(found);
            }
        }
        if text.is_empty() {
            return None;
        }
        for form in self.forms_of(node) {
            count_step();
            for pattern in self.bucket(form, text) {
                count_step();
                if self.fits(form, pattern, text)
                    && let Some(found) = self.descend(pattern.child, path, at + 1, accept)
                {
                    return Some(found);
                }
            }
        }
        if node.parameter != NONE
            && let Some(found) = self.descend(node.parameter, path, at + 1, accept)
        {
            return Some(found);
        }
        if node.tail == NONE { None } else { accept(node.tail) }
    }

    fn forms_of(&self, node: &Node) -> &[Form] {
        let (begin, end) = node.forms;
        self.forms.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// The patterns of a form whose texts before and after are those of the segment.
    fn bucket(&self, form: &Form, text: &[u8]) -> &[Between] {
        let found = || {
            let end = text.len().checked_sub(form.suffix).filter(|end| *end > form.prefix)?;
            let mut place = form.place;
            for part in [text.get(..form.prefix)?, text.get(end..)?] {
                if !part.is_empty() {
                    let word = self.words.find(part);
                    place = if word == NONE { NONE } else { self.edges.find(place, word) };
                }
            }
            let bucket = (place as usize).checked_sub(self.nodes.len())?;
            let (begin, end) = *self.buckets.get(bucket)?;
            self.patterns.get(begin as usize..end as usize)
        };
        found().unwrap_or_default()
    }

    /// Whether a segment whose ends match a pattern matches it between them.
    fn fits(&self, form: &Form, pattern: &Between, text: &[u8]) -> bool {
        let end = text.len().saturating_sub(form.suffix);
        whole(text, end) && between(&pattern.middles, text, form.prefix..end, self.words.case())
    }
}
