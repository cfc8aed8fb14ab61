//! Merges findings with the same cause at many limits into one.

use std::collections::HashMap;
use std::hash::Hash;

use crate::document::diagnostic::{Diagnostic, DiagnosticParts};
use crate::document::sources::Place;
use crate::model::PolicyLimit;

use super::named;

/// A warning or a note with this code: [`Diagnostic::warning`] or [`Diagnostic::note`].
pub(super) type FindingKind = fn(&'static str, Place, String) -> Diagnostic;

/// One finding of all these limits; `None` if there is none of them. The first word of `one` or of `many` follows who it is
/// about: `is counted …` or `are counted …`.
pub(super) fn finding(
    kind: FindingKind,
    code: &'static str,
    limits: &[&PolicyLimit],
    (one, many): (&str, &str),
) -> Option<Diagnostic> {
    let first = limits.first()?;
    let each = limits.iter().map(|limit| (limit.place, named(&limit.name))).collect();
    let parts = DiagnosticParts { each, one: one.into(), many: many.into() };
    kind(code, first.place, String::new()).of_parts(parts)
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
