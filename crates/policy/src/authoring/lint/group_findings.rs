//! Many limits of which the same is to be said, as one finding: whoever fixes one knows how to fix the others.

use std::collections::HashMap;
use std::hash::Hash;

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::model::PolicyLimit;

use super::named;

/// So many limits are shown beside the first one. Further ones are only counted, in the message.
pub(super) const ALSO_MAX: usize = 10;

/// A warning or a note with this code: [`Diagnostic::warning`] or [`Diagnostic::note`].
pub(super) type Kind = fn(&'static str, Place, String) -> Diagnostic;

/// One finding of all these limits; `None` if there is none of them. The first word of `one` or of `many` follows who it is
/// about: `is counted …` or `are counted …`.
pub(super) fn finding(
    kind: Kind,
    code: &'static str,
    limits: &[&PolicyLimit],
    (one, many): (&str, &str),
) -> Option<Diagnostic> {
    let (first, others) = limits.split_first()?;
    let name = named(&first.name);
    if others.is_empty() {
        return Some(kind(code, first.place, format!("{name} {one}")));
    }
    let more = match others.len().saturating_sub(ALSO_MAX) {
        0 => String::new(),
        more => format!("; and {more} more than are shown"),
    };
    let message = format!("{} limits, {name} and others, {many}{more}", limits.len());
    let mut finding = kind(code, first.place, message);
    for other in others.iter().take(ALSO_MAX) {
        finding = finding.also(other.place, format!("{} too", named(&other.name)));
    }
    Some(finding)
}

/// Limits by what is to be said of them, in the order of the first of each.
pub(super) fn by_cause<'a, C: Copy + Eq + Hash>(
    each: impl Iterator<Item = (C, &'a PolicyLimit)>,
) -> Vec<(C, Vec<&'a PolicyLimit>)> {
    let mut causes: Vec<(C, Vec<&'a PolicyLimit>)> = Vec::new();
    let mut places: HashMap<C, usize> = HashMap::new();
    for (cause, limit) in each {
        let next = causes.len();
        match causes.get_mut(*places.entry(cause).or_insert(next)) {
            Some((_, limits)) => limits.push(limit),
            None => causes.push((cause, vec![limit])),
        }
    }
    causes
}
