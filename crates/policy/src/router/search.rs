//! The search: down the nearest branch first, back when it does not fit. Not the table it goes through.

use super::prefix::CommonPrefix;
use super::segments::Segments;
use super::table::{Form, MiddleText, Node, Table};
use super::trie::NONE;
use crate::template::{between, whole};
use tollgate_http::path::SEGMENTS_MAX;

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

impl Table {
    /// Calls `accept` with the templates that match, nearest first, until it returns something.
    #[inline]
    pub(super) fn search<R>(&self, path: &str, accept: &mut impl FnMut(u32) -> Option<R>) -> Option<R> {
        let CommonPrefix { text, place, segments: taken } = &self.stem;
        let (place, taken, from) = if path.as_bytes().starts_with(text) {
            (*place, *taken, text.len())
        } else if path.starts_with('/') {
            (0, 0, 1)
        } else {
            return None;
        };
        let mut segments = Segments::none(path);
        segments.cut(self.words.case(), from)?;
        if taken + segments.count() > SEGMENTS_MAX {
            return None;
        }
        self.descend(place, &segments, 0, accept)
    }

    /// Goes on below a node, whose parents took the segments before `at`. It calls itself at most once for each segment
    /// deeper, so [`SEGMENTS_MAX`] deep; and where there is one way on, it goes that way itself.
    fn descend<R>(
        &self,
        mut place: u32,
        path: &Segments<'_>,
        mut at: usize,
        accept: &mut impl FnMut(u32) -> Option<R>,
    ) -> Option<R> {
        loop {
            let node = self.nodes.get(place as usize)?;
            count_step();
            if !node.reaches(path.count() - at) {
                return None;
            }
            let Some(text) = path.text(at) else {
                return if node.here == NONE { None } else { accept(node.here) };
            };
            at += 1;
            if node.literals {
                let child = self.edges.find(place, text, &self.words);
                if node.literals_only && child != NONE {
                    place = child;
                    continue;
                }
                if child != NONE
                    && let Some(found) = self.descend(child, path, at, accept)
                {
                    return Some(found);
                }
            }
            if node.literals_only || text.is_empty() {
                return None;
            }
            if node.has_forms()
                && let Some(found) = self.patterns(node, path, at, accept)
            {
                return Some(found);
            }
            if node.tail != NONE {
                let further = if node.parameter == NONE {
                    None
                } else {
                    self.descend(node.parameter, path, at, accept)
                };
                return further.or_else(|| accept(node.tail));
            }
            place = node.parameter;
        }
    }

    /// Goes on below the patterns of a node that match the segment before `at`. Most nodes have none, so it stands apart.
    #[inline(never)]
    fn patterns<R>(
        &self,
        node: &Node,
        path: &Segments<'_>,
        at: usize,
        accept: &mut impl FnMut(u32) -> Option<R>,
    ) -> Option<R> {
        let text = path.text(at.checked_sub(1)?)?;
        for form in self.forms_of(node) {
            count_step();
            for pattern in self.bucket(form, text) {
                count_step();
                if self.fits(form, pattern, text)
                    && let Some(found) = self.descend(pattern.child, path, at, accept)
                {
                    return Some(found);
                }
            }
        }
        None
    }

    fn forms_of(&self, node: &Node) -> &[Form] {
        let (begin, end) = node.forms;
        self.forms.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// The patterns of a form whose texts before and after are those of the segment.
    fn bucket(&self, form: &Form, text: &[u8]) -> &[MiddleText] {
        let found = || {
            let end = text.len().checked_sub(form.suffix).filter(|end| *end > form.prefix)?;
            let mut place = form.place;
            for part in [text.get(..form.prefix)?, text.get(end..)?] {
                if !part.is_empty() {
                    place = self.edges.find(place, part, &self.words);
                }
            }
            let bucket = (place as usize).checked_sub(self.nodes.len())?;
            let (begin, end) = *self.buckets.get(bucket)?;
            self.patterns.get(begin as usize..end as usize)
        };
        found().unwrap_or_default()
    }

    /// Whether a segment whose ends match a pattern matches it between them.
    fn fits(&self, form: &Form, pattern: &MiddleText, text: &[u8]) -> bool {
        let end = text.len().saturating_sub(form.suffix);
        whole(text, end) && between(&pattern.middles, text, form.prefix..end, self.words.case())
    }
}
