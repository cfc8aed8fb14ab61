//! A template as a lenient server reads it: without case, `;parameters` and empty segments. Not the path, which is
//! folded as it is split.

use crate::template::{Pattern, Segment};

/// Folds every segment; those that are empty then are left out.
pub(super) fn fold(segments: &[Segment]) -> Vec<Segment> {
    segments.iter().filter_map(fold_one).collect()
}

fn fold_one(segment: &Segment) -> Option<Segment> {
    match segment {
        Segment::Literal(text) => literal(cut(text).0),
        Segment::Pattern(pattern) => fold_pattern(pattern),
        Segment::Parameter => Some(Segment::Parameter),
        Segment::Tail => Some(Segment::Tail),
    }
}

fn literal(text: &str) -> Option<Segment> {
    (!text.is_empty()).then(|| Segment::Literal(text.to_ascii_lowercase().into()))
}

fn fold_pattern(pattern: &Pattern) -> Option<Segment> {
    let (prefix, ends) = cut(&pattern.prefix);
    if ends {
        return literal(prefix);
    }
    let mut middles = Vec::new();
    let mut suffix = cut(&pattern.suffix).0;
    for middle in &pattern.middles {
        let (text, ends) = cut(middle);
        if ends {
            suffix = text;
            break;
        }
        middles.push(text.to_ascii_lowercase().into());
    }
    if prefix.is_empty() && suffix.is_empty() && middles.is_empty() {
        return Some(Segment::Parameter);
    }
    Some(Segment::Pattern(Pattern {
        prefix: prefix.to_ascii_lowercase().into(),
        suffix: suffix.to_ascii_lowercase().into(),
        middles: middles.into(),
    }))
}

/// The text before a semicolon, and whether there is one.
fn cut(text: &str) -> (&str, bool) {
    text.split_once(';').map_or((text, false), |(before, _)| (before, true))
}
