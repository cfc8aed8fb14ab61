//! The documents that an argument of `lint` names: itself, or those in a folder.

use crate::documents::{self, DocumentKind};
use crate::files;

/// A document to check.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) name: String,
    /// Whether it was found in a folder, and not named.
    pub(super) is_found: bool,
}

/// The documents of an argument. In a folder, Tollgate files come first: they may name the others.
///
/// # Errors
/// A sentence, when the folder cannot be read or has no document in it.
pub(super) fn of(argument: &str) -> Result<Vec<Input>, String> {
    if !files::is_folder(argument) {
        return Ok(vec![Input { name: argument.to_owned(), is_found: false }]);
    }
    let all = documents::in_folder(argument)?;
    let of_kind = |wanted: DocumentKind| {
        let names = all.iter().filter(move |(_, kind)| *kind == wanted).map(|(name, _)| name.clone());
        names.map(|name| Input { name, is_found: true })
    };
    let found: Vec<_> = of_kind(DocumentKind::Tollgate).chain(of_kind(DocumentKind::OpenApi)).collect();
    if found.is_empty() {
        return Err(format!(
            "{} has no OpenAPI document and no Tollgate file: they end in .yaml, .yml or .json, and have `openapi` or \
             `tollgate` at the root",
            tollgate_http::text::shown(argument)
        ));
    }
    Ok(found)
}
