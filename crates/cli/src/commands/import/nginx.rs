//! From nginx's `limit_req` and `limit_conn` to limits of a policy.

mod convert;
mod parser;
mod zone;

use super::native::Imported;

/// Converts a configuration.
pub(super) fn import(name: &str, text: &str) -> Result<Imported, Vec<String>> {
    let directives =
        parser::parse(text).map_err(|(line, why)| vec![format!("{name}:{line}: error: {why}")])?;
    Ok(convert::convert(&directives))
}
