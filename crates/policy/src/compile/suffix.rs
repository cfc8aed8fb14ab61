//! What a path must end with behind a parameter of several segments: `/history` of `/files/{path*}/history`. The router matches what stands before it.

use std::sync::Arc;

use crate::template::{Case, Segment, Template};

/// The last segments of a template, behind a parameter that takes several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Suffix {
    /// How many segments stand before the parameter.
    before: usize,
    segments: Arc<[Segment]>,
    shape: String,
}

impl Suffix {
    /// What `rest` asks for behind the tail that ends `head`.
    pub(crate) fn new(head: &Template, rest: &Template) -> Self {
        let before = head.segments().len().saturating_sub(1);
        Self { before, segments: Arc::clone(rest.segments()), shape: rest.shape().to_owned() }
    }

    /// What tells it from others: how much stands before it, and itself without the names of its parameters.
    pub(crate) fn identity(&self) -> (usize, String) {
        (self.before, self.shape.clone())
    }

    /// Of two that match one path the one with the higher rank is nearer: more segments, then more text.
    pub(crate) fn rank(&self) -> (usize, usize) {
        let text = self.segments.iter().map(|segment| match segment {
            Segment::Literal(text) => text.len(),
            Segment::Pattern(pattern) => pattern.characters(),
            Segment::Parameter | Segment::Tail => 0,
        });
        (self.segments.len(), text.sum())
    }

    /// Whether some path ends with both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.segments.iter().rev().zip(other.segments.iter().rev()).all(|pair| match pair {
            (Segment::Literal(one), Segment::Literal(other)) => one == other,
            (Segment::Literal(text), Segment::Pattern(pattern))
            | (Segment::Pattern(pattern), Segment::Literal(text)) => {
                pattern.matches(text.as_bytes(), Case::Kept)
            }
            (Segment::Pattern(one), Segment::Pattern(other)) => one.meets(other),
            (Segment::Literal(text), _) | (_, Segment::Literal(text)) => !text.is_empty(),
            (Segment::Parameter | Segment::Tail | Segment::Pattern(_), _) => true,
        })
    }

    /// Whether a normalised path ends with it and has a segment for the parameter besides. Where case is ignored, so are
    /// `;parameters` and empty segments, as in the router.
    pub(crate) fn matches(&self, path: &str, case: Case) -> bool {
        let segments = || {
            let all = path.strip_prefix('/').unwrap_or(path).rsplit('/');
            let cut = all.map(|segment| match case {
                Case::Kept => segment,
                Case::Ignored => segment.split_once(';').map_or(segment, |(text, _)| text),
            });
            cut.filter(move |segment| case == Case::Kept || !segment.is_empty())
        };
        segments().count() > self.before.saturating_add(self.segments.len())
            && self.segments.iter().rev().zip(segments()).all(|(wanted, found)| match wanted {
                Segment::Literal(text) => case.same(text.as_bytes(), found.as_bytes()),
                Segment::Pattern(pattern) => pattern.matches(found.as_bytes(), case),
                Segment::Parameter | Segment::Tail => !found.is_empty(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Tail;

    fn suffix(head: &str, rest: &str) -> Suffix {
        let parse = |text: &str| Template::parse(text, Tail::Allowed).unwrap();
        Suffix::new(&parse(head), &parse(rest))
    }

    #[test]
    fn a_path_ends_with_it_and_leaves_a_segment_for_the_parameter() {
        let suffix = suffix("/files/{path*}", "/history/{page}");
        let table = [
            ("/files/a/history/1", true, true),
            ("/files/a/b/c/history/1", true, true),
            ("/files/history/1", false, false),
            ("/files/a/history", false, false),
            ("/files/a/history/", false, false),
            ("/files/a/history/1/", false, true),
            ("/files/a/HISTORY;x=1/1", false, true),
            ("/files/a/history/1/2", false, false),
        ];
        for (path, strictly, loosely) in table {
            assert_eq!(suffix.matches(path, Case::Kept), strictly, "{path}");
            assert_eq!(suffix.matches(path, Case::Ignored), loosely, "{path}, loosely");
        }
    }

    #[test]
    fn two_of_them_meet_if_some_path_ends_with_both() {
        let of = |rest| suffix("/files/{path*}", rest);
        for (one, other, meets) in
            [("/a", "/b", false), ("/a", "/{x}", true), ("/a/{x}", "/{y}/b", true), ("/x", "/a/x", true)]
        {
            assert_eq!(of(one).meets(&of(other)), meets, "{one} {other}");
        }
        assert!(of("/a/b").rank() > of("/a").rank() && of("/a").rank() > of("/{x}").rank());
    }
}
