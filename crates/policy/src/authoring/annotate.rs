//! Writes the 429 response into an OpenAPI document, by insertions only. It decides no limit, and reformats nothing.

mod check;
mod contents;
mod insert;
mod layout;
mod piece;
mod plan;
#[cfg(test)]
mod tests;

use crate::compile::load::Refused;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::read;
use crate::document::sources::{FileId, Place, Source, Sources};
use crate::document::tree::Tree;
use crate::parse::openapi;
use crate::policy::Policy;
pub use contents::{PROBLEM, RESPONSE};

/// A text that was put into a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inserted {
    /// Before this byte of the original it stands.
    pub at: u32,
    /// What was put there.
    pub text: String,
}

/// An operation that answers 429 and could not be given the response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Which one: `POST /reports/generate`.
    pub operation: String,
    /// Where it is written, in the original.
    pub place: Place,
    /// Why, and what to do, in a sentence without a full stop.
    pub why: String,
}

/// A document in which operations that answer 429 say so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotated {
    /// The document.
    pub text: String,
    /// What was inserted, by place; of two at one place the first stands first. Without them the text is the original.
    pub inserted: Vec<Inserted>,
    /// The operations that got the response, in the order of the document.
    pub operations: Vec<String>,
    /// The operations that should have it and could not get it here.
    pub skipped: Vec<Skipped>,
}

/// Writes the 429 response, its headers and its problem schema into an OpenAPI document that leads to no other.
///
/// - Every operation that meets an enforced limit and has no `429` of its own under `responses` gets a `$ref` to
///   `#/components/responses/TollgateRateLimited`. `default` and `4XX` do not count: they say nothing of the headers.
/// - The response and its schema, `#/components/schemas/TollgateProblem`, are added under `components`. What stands
///   there under these names is left alone.
/// - Nothing else changes: the text is the original with insertions, in the style of what surrounds them.
/// - A document that says it all already is not changed: annotating twice is annotating once.
///
/// ```
/// use tollgate_policy::annotate;
/// let text = "\
/// openapi: 3.1.0
/// info: { title: Reports, version: '1' }
/// x-rate-limit: { algorithm: gcra, capacity: 5, refill_rate: 1 } # all of them
/// paths:
///   /reports:
///     get:
///       responses:
///         '200': { description: A list. }
/// ";
/// let done = annotate("openapi.yaml", text)?;
/// assert_eq!(done.operations, ["GET /reports"]);
/// assert!(done.text.contains("
///         '200': { description: A list. }
///         '429': { $ref: '#/components/responses/TollgateRateLimited' }
/// components:
///   responses:
///     TollgateRateLimited:
/// "));
/// assert_eq!(annotate("openapi.yaml", &done.text)?.text, done.text);
/// # Ok::<(), tollgate_policy::Refused>(())
/// ```
///
/// # Errors
/// When [`Policy::parse`] refuses the document, when it is not an OpenAPI document, and when `components` is written in
/// a way that cannot be added to.
pub fn annotate(name: &str, text: &str) -> Result<Annotated, Refused> {
    let policy = Policy::parse(name, text)?;
    // The document that a policy begins with is its first file.
    annotate_file(&policy, FileId(0))
}

/// Does the same as [`annotate`] to one file of a policy that was read from several, whose limits may need them all.
///
/// Operations that the file only leads to, by a `$ref` to another file, are [skipped](Annotated::skipped).
///
/// # Errors
/// When the file is not an OpenAPI document of the policy, or its `components` cannot be added to.
pub fn annotate_file(policy: &Policy, file: FileId) -> Result<Annotated, Refused> {
    let refuse = |code, place: Place, message: String, help: &str| {
        let mut findings = Findings::default();
        findings.push(Diagnostic::error(code, place, message).help(help));
        Refused { sources: policy.sources().clone(), findings, consumers: None }
    };
    let start = Place { file, start: 0, end: 0 };
    let nothing = || {
        refuse("no-file", start, "this file does not belong to the policy".into(), "take one of its sources")
    };
    let source = policy.sources().shared(file).ok_or_else(nothing)?;
    let tree = read::read(file, source, &mut Findings::default()).ok_or_else(nothing)?;
    let root = tree.value();
    if root.get("tollgate").is_some() || !openapi::is_openapi(root) {
        let message = "this is not an OpenAPI document, and has no responses".to_owned();
        return Err(refuse(
            "not-openapi",
            start,
            message,
            "annotate the OpenAPI documents that belong to it",
        ));
    }
    let planned = plan::plan(policy, &tree).map_err(|stop| {
        refuse("components", stop.place, stop.why, "write it as a map of its own, in this document")
    })?;
    let text = applied(source.text(), &planned.inserted);
    if !planned.inserted.is_empty() && !is_right(&tree, source.name(), &text) {
        let message =
            "this document is written in a way that cannot be added to without changing it".to_owned();
        return Err(refuse("annotate", start, message, "add the 429 responses by hand"));
    }
    Ok(Annotated {
        text,
        inserted: planned.inserted,
        operations: planned.operations,
        skipped: planned.skipped,
    })
}

/// The text with the insertions.
fn applied(original: &str, inserted: &[Inserted]) -> String {
    let mut text = String::with_capacity(original.len());
    let mut from = 0_usize;
    for piece in inserted {
        let at = piece.at as usize;
        text.push_str(original.get(from..at).unwrap_or(""));
        text.push_str(&piece.text);
        from = at;
    }
    text.push_str(original.get(from..).unwrap_or(""));
    text
}

/// Whether the new text says all that the old one said, and nothing more than was to be added.
fn is_right(old: &Tree, name: &str, text: &str) -> bool {
    let mut sources = Sources::default();
    let id = sources.add(Source::new(name, text));
    let mut findings = Findings::default();
    let new = sources.shared(id).and_then(|source| read::read(id, source, &mut findings));
    new.is_some_and(|new| !findings.has_errors() && check::only_added(old.value(), new.value()))
}
