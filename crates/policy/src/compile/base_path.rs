//! `base_path`: the part of the servers' paths that a proxy in front takes away, so that requests arrive without it.

use std::collections::BTreeSet;

use crate::document::diagnostic::{Diagnostic, Findings};
use crate::parse::parsed_document::ParsedDocument;
use crate::parse::settings::Settings;

/// The base paths under which requests arrive. One that does not begin with what the proxy takes away stays as it is.
pub(crate) fn behind_the_proxy(bases: &[String], settings: &Settings) -> Vec<String> {
    let Some((taken, _)) = &settings.base_path else { return bases.to_vec() };
    let mut left: Vec<String> = Vec::with_capacity(bases.len());
    for base in bases {
        let rest = without(base, taken).unwrap_or(base);
        if !left.iter().any(|known| known == rest) {
            left.push(rest.to_owned());
        }
    }
    left
}

fn without<'a>(base: &'a str, taken: &str) -> Option<&'a str> {
    base.strip_prefix(taken).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Points at a base path that no server has: nothing would be taken away.
pub(crate) fn check(drafts: &[ParsedDocument], settings: &Settings, findings: &mut Findings) {
    let Some((taken, place)) = &settings.base_path else { return };
    let operations =
        || drafts.iter().flat_map(|draft| &draft.operations).filter(|operation| !operation.native);
    let bases: BTreeSet<&str> =
        operations().flat_map(|operation| operation.bases.iter().map(String::as_str)).collect();
    if bases.is_empty() || bases.iter().any(|base| without(base, taken).is_some()) {
        return;
    }
    let shown = tollgate_http::text::shown(taken);
    let message = format!("no server of the documents has the base path `{shown}`");
    let known: Vec<_> = bases.iter().filter(|base| !base.is_empty()).take(NAMED_MAX).copied().collect();
    let help = if known.is_empty() {
        "the servers have no base path: leave `base_path` out".to_owned()
    } else {
        format!("their base paths are {}", tollgate_http::text::shown(&known.join(", ")))
    };
    findings.push(Diagnostic::error("base-path", *place, message).help(help));
}

/// So many base paths are named.
const NAMED_MAX: usize = 5;
