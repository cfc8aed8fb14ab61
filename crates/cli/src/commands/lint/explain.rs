//! `tollgate lint --explain CODE`: the page of a code. The pages are in `lint-codes.md` beside the crate's manifest.

use std::io::{self, Write};

use tollgate_http::text::shown;

use crate::{Exit, lint_codes};

/// Prints the page, or says which codes there are.
pub(super) fn run(code: &str, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let Some(page) = lint_codes::page(code) else {
        let near =
            lint_codes::nearest(code).map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
        writeln!(err, "tollgate: there is no code `{}`{near}", shown(code))?;
        writeln!(err, "The codes are {}", lint_codes::all().collect::<Vec<_>>().join(", "))?;
        return Ok(Exit::Usage);
    };
    writeln!(out, "{page}")?;
    Ok(Exit::Fine)
}
