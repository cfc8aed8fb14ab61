//! `tollgate diff`: what a change of documents means for clients, and who has to agree. How it compares is not decided here.

mod json;

use std::io::{self, Write};

use tollgate_policy::Policy;
use tollgate_policy::diff::{self, Diff};

use crate::cli::{DiffArgs, DiffFormat, FailOn};
use crate::documents::{self, Checked};
use crate::{Exit, draw, files};

/// Compares two documents.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &DiffArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    if args.old == files::DASH && args.new == files::DASH {
        writeln!(err, "tollgate: both documents cannot be standard input: name a file for one of them")?;
        return Ok(Exit::Usage);
    }
    let (old, new) = match (documents::check(&args.old), documents::check(&args.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            for why in [old.err(), new.err()].into_iter().flatten() {
                writeln!(err, "tollgate: {why}")?;
            }
            return Ok(Exit::Usage);
        }
    };
    let (Some(before), Some(after)) = (usable(&old, err)?, usable(&new, err)?) else {
        writeln!(err, "tollgate: a document with errors cannot be compared")?;
        return Ok(Exit::Findings);
    };
    let diff = diff::diff(before, after);
    let text = match args.format {
        DiffFormat::Human => diff.human(),
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

/// The policy; or else its errors are drawn.
fn usable<'a>(checked: &'a Checked, err: &mut dyn Write) -> io::Result<Option<&'a Policy>> {
    if let Some(policy) = checked.policy.as_ref().filter(|_| checked.usable()) {
        return Ok(Some(policy));
    }
    for finding in &checked.findings {
        writeln!(err, "{}\n", draw::draw(finding, &checked.sources))?;
    }
    for finding in &checked.in_consumers {
        writeln!(err, "{}", finding.line())?;
    }
    Ok(None)
}
