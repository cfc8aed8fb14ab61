//! `tollgate explain`: which limits apply to a request, and why. It checks the policy like the gateway, and charges nobody.

mod args;
mod explanation;
mod human;
mod json;
mod key_trace;
mod limits;
mod preview;
mod reference;
mod refusal;
mod suggest;

use std::io::{self, Write};
use std::net::IpAddr;

use tollgate_algorithms::Micros;
use tollgate_policy::{ConsumerIndex, Policy};

use crate::cli::{ExplainArgs, Format};
use crate::documents::{self, CheckedDocuments};
use crate::{Exit, report_errors};

/// Explains a request. `now` is for the expiry of tokens, and for windows that follow the calendar.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &ExplainArgs, now: Micros, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let asked = match args::parse(args) {
        Ok(asked) => asked,
        Err(why) => return usage(&why, err),
    };
    let checked = match documents::check(&args.file) {
        Ok(checked) => checked,
        Err(why) => return usage(&why, err),
    };
    let Some(policy) = checked.policy.as_ref().filter(|_| checked.usable()) else {
        return unusable(&checked, args.format, out, err);
    };
    if let Err(why) = args::known_tier(args.tier.as_deref(), policy) {
        return usage(&why, err);
    }
    let answer = explanation::answer(&asked, policy, checked.directory.as_ref(), now);
    match args.format {
        Format::Human => human::write(&answer, out)?,
        Format::Json => writeln!(out, "{:#}", json::answer(&answer))?,
    }
    Ok(Exit::Fine)
}

/// A request to explain: a method and a target, headers (`Name: value`), tier and host, and the peer's address.
type Wanted = (String, Vec<String>, (Option<String>, Option<String>), IpAddr);

/// What `explain --format json` prints for a request, for the JSON API.
///
/// # Errors
/// A sentence, if something is wrong with the request.
pub(crate) fn explain(
    (request, headers, (tier, host), from): Wanted,
    policy: &Policy,
    directory: Option<&ConsumerIndex>,
    now: Micros,
) -> Result<serde_json::Value, String> {
    let (file, body, format) = (String::new(), None, Format::Json);
    let args = ExplainArgs { file, request, headers, tier, body, from, host, format };
    let asked = args::parse(&args)?;
    args::known_tier(args.tier.as_deref(), policy)?;
    Ok(json::answer(&explanation::answer(&asked, policy, directory, now)))
}

fn usage(why: &str, err: &mut dyn Write) -> io::Result<Exit> {
    writeln!(err, "tollgate: {why}")?;
    Ok(Exit::Usage)
}

/// Nothing can be explained by a document with errors.
fn unusable(
    checked: &CheckedDocuments,
    format: Format,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    report_errors::tell(&[checked], format.reader(), out, err)?;
    writeln!(err, "tollgate: the document has errors, so nothing can be explained by it")?;
    Ok(Exit::Findings)
}
