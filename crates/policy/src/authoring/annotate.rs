//! Adds the 429 response to an OpenAPI document. It only inserts text and reformats nothing.

mod check;
mod contents;
mod insert;
mod layout;
mod piece;
mod plan;
#[cfg(test)]
mod tests;

use crate::compile::load::RejectedPolicy;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::read;
use crate::document::sources::{FileId, Place, Source, Sources};
use crate::document::tree::Tree;
use crate::parse::openapi;
use crate::policy::Policy;
pub use contents::{PROBLEM, RESPONSE};

/// Text inserted into a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inserted {
    /// The byte offset in the original before which the text was inserted.
    pub at: u32,
    /// The inserted text.
    pub text: String,
}

/// An operation that can return 429 but could not be annotated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The operation, such as `POST /reports/generate`.
    pub operation: String,
    /// Its place in the original.
    pub place: Place,
    /// The reason and the remedy, in a sentence without a full stop.
    pub why: String,
}

/// A document annotated with 429 responses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotated {
    /// The document.
    pub text: String,
    /// The insertions, sorted by offset; those at the same offset are in document order. Without them, the text is the original.
    pub inserted: Vec<Inserted>,
    /// The annotated operations, in document order.
    pub operations: Vec<String>,
    /// The operations that could not be annotated here.
    pub skipped: Vec<Skipped>,
}

/// Adds the 429 response, its headers and its problem schema to an OpenAPI document that references no other document.
///
/// - Every operation with an enforced limit and no `429` under `responses` gets a `$ref` to
///   `#/components/responses/TollgateRateLimited`. `default` and `4XX` do not count, because they do not describe the headers.
/// - The response and its schema, `#/components/schemas/TollgateProblem`, are added under `components`. Existing entries
///   with these names are kept.
/// - Nothing else changes. Insertions follow the style of the surrounding text.
/// - The function is idempotent: annotating twice gives the same text as annotating once.
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
/// # Ok::<(), tollgate_policy::RejectedPolicy>(())
/// ```
///
/// # Errors
/// If [`Policy::parse`] rejects the document, if it is not an OpenAPI document, or if its `components` cannot be
/// extended by insertions.
pub fn annotate(name: &str, text: &str) -> Result<Annotated, RejectedPolicy> {
    let policy = Policy::parse(name, text)?;
    // The root document of a policy is its first file.
    annotate_file(&policy, FileId(0))
}

/// Annotates one file of a policy that was loaded from several files.
///
/// Operations defined in another file, to which this one has a `$ref`, are [skipped](Annotated::skipped).
///
/// # Errors
/// If the file is not an OpenAPI document of the policy, or its `components` cannot be extended by insertions.
pub fn annotate_file(policy: &Policy, file: FileId) -> Result<Annotated, RejectedPolicy> {
    let refuse = |code, place: Place, message: String, help: &str| {
        let mut findings = Findings::default();
        findings.push(Diagnostic::error(code, place, message).help(help));
        RejectedPolicy { sources: policy.sources().clone(), findings, consumers: None }
    };
    let start = Place { file, start: 0, end: 0 };
    let nothing = || {
        refuse(
            "no-file",
            start,
            "this file is not part of the policy".into(),
            "pass one of the policy's files",
        )
    };
    let source = policy.sources().shared(file).ok_or_else(nothing)?;
    let tree = read::read(file, source, &mut Findings::default()).ok_or_else(nothing)?;
    let root = tree.value();
    if root.get("tollgate").is_some() || !openapi::is_openapi(root) {
        let message = "this is not an OpenAPI document, so it has no responses".to_owned();
        return Err(refuse("not-openapi", start, message, "annotate the OpenAPI documents instead"));
    }
    let planned = plan::plan(policy, &tree).map_err(|stop| {
        refuse("components", stop.place, stop.why, "write it out as a map in this document")
    })?;
    let text = applied(source.text(), &planned.inserted);
    if !planned.inserted.is_empty() && !is_right(&tree, source.name(), &text) {
        let message = "the response cannot be added without reformatting this document".to_owned();
        return Err(refuse("annotate", start, message, "add the 429 responses by hand"));
    }
    Ok(Annotated {
        text,
        inserted: planned.inserted,
        operations: planned.operations,
        skipped: planned.skipped,
    })
}

/// Applies the insertions.
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

/// Returns true if the new text has everything that the old text had, and only the intended additions.
fn is_right(old: &Tree, name: &str, text: &str) -> bool {
    let mut sources = Sources::default();
    let id = sources.add(Source::new(name, text));
    let mut findings = Findings::default();
    let new = sources.shared(id).and_then(|source| read::read(id, source, &mut findings));
    new.is_some_and(|new| !findings.has_errors() && check::only_added(old.value(), new.value()))
}
