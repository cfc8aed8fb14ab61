//! `tollgate diff`: what a change of documents means for clients, and who has to approve it.

mod colour;
mod json;

use std::io::{self, Write};

use tollgate_policy::Policy;
use tollgate_policy::diff::{self, Diff};

use crate::cli::{DiffArgs, DiffFormat, FailOn};
use crate::documents::{self, CheckedDocuments};
use crate::report_errors::{self, Audience};
use crate::{Exit, files};

/// Compares two documents. Consumers are not compared, and their files are not read.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &DiffArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    if args.old == files::DASH && args.new == files::DASH {
        writeln!(err, "tollgate: both documents cannot be standard input: name a file for one of them")?;
        return Ok(Exit::Usage);
    }
    let (old, new) = match (documents::check_policy(&args.old), documents::check_policy(&args.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            for why in [old.err(), new.err()].into_iter().flatten() {
                writeln!(err, "tollgate: {why}")?;
            }
            return Ok(Exit::Usage);
        }
    };
    let (Some(before), Some(after)) = (usable(&old), usable(&new)) else {
        let program = args.format == DiffFormat::Json;
        let reader = if program { Audience::Program } else { Audience::Person };
        report_errors::tell(&[&old, &new], reader, out, err)?;
        writeln!(err, "tollgate: a document with errors cannot be compared")?;
        return Ok(Exit::Findings);
    };
    let diff = diff::diff(before, after);
    let text = match args.format {
        DiffFormat::Human => colour::coloured(&diff.human()),
        DiffFormat::Json => format!("{:#}\n", json::diff(&diff)),
        DiffFormat::Markdown => diff.markdown(),
        DiffFormat::Codeowners => diff.codeowners(),
    };
    out.write_all(text.as_bytes())?;
    Ok(if args.fail_on.iter().any(|what| fails(&diff, *what)) { Exit::Findings } else { Exit::Fine })
}

fn fails(diff: &Diff, what: FailOn) -> bool {
    diff.fails_on(match what {
        FailOn::Looser => diff::FailOn::Looser,
        FailOn::Tighter => diff::FailOn::Tighter,
        FailOn::Removed => diff::FailOn::Removed,
    })
}

/// The policy, if nothing is wrong with it.
fn usable(checked: &CheckedDocuments) -> Option<&Policy> {
    checked.policy.as_ref().filter(|_| checked.usable())
}
