//! What is said of a word that stands where a limit should.

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::parse::schema_fields::{LIMIT, NUMBERS};

/// The error; whether it is an item of a list.
pub(super) fn finding(text: &str, place: Place, in_list: bool) -> Diagnostic {
    if in_list && text == "none" {
        let finding = Diagnostic::error("type", place, "`none` must stand alone, not in a list");
        return finding.help("take the other limits out, or `none`");
    }
    let message = format!("`{}` is not a limit", tollgate_http::text::shown(text));
    let field = text.split_once(':').filter(|(_, value)| !value.starts_with(' ')).map(|(name, _)| name);
    if field.is_some_and(|name| NUMBERS.iter().chain(LIMIT).any(|field| field.name == name)) {
        let help = "write a space behind each colon, between a name and its value";
        return Diagnostic::error("type", place, message).help(help);
    }
    let map = "a limit such as `{ algorithm: gcra, capacity: 5, refill_rate: 1 }`";
    Diagnostic::error("type", place, message).help(if in_list {
        format!("write {map}")
    } else {
        format!("write `none` to switch limits off, or {map}")
    })
}
