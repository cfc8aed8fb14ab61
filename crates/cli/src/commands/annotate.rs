//! `tollgate annotate`: adds the 429 response to an OpenAPI document, and prints it or writes it back.

use std::io::{self, Write};

use serde_json::{Value, json};
use tollgate_policy::{Annotated, Findings, Policy, RejectedPolicy, Sources, annotate_file};

use crate::cli::{AnnotateArgs, Format};
use crate::documents;
use crate::finding::{counted, printable};
use crate::{Exit, files, report_errors};

/// Annotates a document.
///
/// # Errors
/// When the output cannot be written. A document that cannot be is told on `err`.
pub fn run(args: &AnnotateArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    if args.write && args.file == files::DASH {
        writeln!(err, "tollgate: cannot write back to standard input: omit --write, or name a file")?;
        return Ok(Exit::Usage);
    }
    let checked = match documents::check(&args.file) {
        Ok(checked) => checked,
        Err(why) => {
            writeln!(err, "tollgate: {why}")?;
            return Ok(Exit::Usage);
        }
    };
    // Consumers have no say in what operations answer, so that what is wrong with them is no reason to stop.
    let Some(policy) = &checked.policy else {
        report_errors::tell(&[&checked], args.format.reader(), out, err)?;
        return Ok(Exit::Findings);
    };
    let annotated = match annotated(policy) {
        Ok(annotated) => annotated,
        Err(refused) => {
            let (findings, sources) = (refused.findings.all(), &refused.sources);
            report_errors::tell_findings(findings, sources, args.format.reader(), (out, err))?;
            return Ok(Exit::Findings);
        }
    };
    for skipped in &annotated.skipped {
        let at = checked.sources.locate(skipped.place);
        let (operation, why) = (printable(&skipped.operation), printable(&skipped.why));
        writeln!(err, "{}: warning: {operation} gets no 429: {why}", printable(&at))?;
    }
    let write = args.write && !annotated.inserted.is_empty();
    if let Some(why) = write.then(|| files::write(&args.file, annotated.text.as_bytes()).err()).flatten() {
        writeln!(err, "tollgate: {why}")?;
        return Ok(Exit::Usage);
    }
    match (args.format, args.write) {
        (Format::Json, _) => writeln!(out, "{:#}", data(&annotated, &checked.sources))?,
        (Format::Human, false) => out.write_all(annotated.text.as_bytes())?,
        (Format::Human, true) => {
            let count = counted(annotated.operations.len(), "operation");
            let what = if annotated.inserted.is_empty() {
                "nothing to add".into()
            } else {
                format!("429 added to {count}")
            };
            writeln!(out, "{}: {what}", printable(&args.file))?;
        }
    }
    Ok(Exit::Fine)
}

/// The document itself, not those that it leads to: it is a policy's first file.
fn annotated(policy: &Policy) -> Result<Annotated, RejectedPolicy> {
    let nothing =
        || RejectedPolicy { sources: Sources::default(), findings: Findings::default(), consumers: None };
    let (file, _) = policy.sources().iter().next().ok_or_else(nothing)?;
    annotate_file(policy, file)
}

fn data(annotated: &Annotated, sources: &Sources) -> Value {
    let skipped = annotated.skipped.iter().map(|skipped| {
        json!({ "operation": skipped.operation, "at": sources.locate(skipped.place), "why": skipped.why })
    });
    let skipped: Vec<_> = skipped.collect();
    json!({
        "changed": !annotated.inserted.is_empty(),
        "operations": annotated.operations,
        "skipped": skipped,
        "text": annotated.text,
    })
}
