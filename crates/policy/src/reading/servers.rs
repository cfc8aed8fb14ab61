//! `servers`: under which paths a document's operations stand. Hosts are not matched: a gateway stands in front of them.

use crate::context::Context;
use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;

/// Under so many base paths may an operation stand. More are refused.
const BASES_MAX: usize = 32;

/// The base paths, without a slash at the end; at least one. `None` if nothing is said here.
pub(crate) fn base_paths<'t>(map: Value<'t>, context: &mut Context<'t>) -> Option<Vec<String>> {
    let servers = map.get("servers")?;
    if !servers.is_list() {
        let message = format!("`servers` has to be a list, and this is {}", servers.what());
        context.error("type", servers.place(), message);
        return None;
    }
    let mut bases: Vec<String> = Vec::new();
    for server in servers.items() {
        let Some(url) = server.get("url") else {
            context.error("missing-field", server.place(), "this server has no `url`");
            continue;
        };
        let Some(text) = context.text(url, "url", 2_000) else { continue };
        for base in spelled_out(text, server, context) {
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
    }
    if bases.len() > BASES_MAX {
        let message =
            format!("these servers have {} base paths, and at most {BASES_MAX} are read", bases.len());
        context.error("too-many", servers.place(), message);
        bases.truncate(BASES_MAX);
    }
    if bases.is_empty() {
        bases.push(String::new());
    }
    Some(bases)
}

/// The path of a URL, with every value that its variables can have.
fn spelled_out<'t>(url: &str, server: Value<'t>, context: &mut Context<'t>) -> Vec<String> {
    let path = path_of(url);
    let mut done = vec![path.trim_end_matches('/').to_owned()];
    // Each round puts in one variable; a name that is not known ends it.
    while let Some((name, _)) = done.first().and_then(|first| first.split_once('{')?.1.split_once('}')) {
        let name = name.to_owned();
        let variable = server.get("variables").and_then(|variables| variables.get(&name));
        let listed: Vec<_> =
            variable.and_then(|variable| variable.get("enum")).into_iter().flat_map(Value::items).collect();
        let default = variable.and_then(|variable| variable.get("default"));
        let mut values: Vec<_> = listed.into_iter().chain(default).filter_map(Value::text).collect();
        values.dedup();
        if values.is_empty() || done.len().saturating_mul(values.len()) > BASES_MAX.saturating_mul(2) {
            let message = format!("the variable `{}` of this server has no value", crate::text::shown(&name));
            let finding = Diagnostic::error("server-variable", server.place(), message);
            context
                .findings
                .push(finding.help("give it a `default` under `variables`, and few enough in `enum`"));
            return Vec::new();
        }
        let hole = format!("{{{name}}}");
        done = done.iter().flat_map(|text| values.iter().map(|value| text.replace(&hole, value))).collect();
        if done.iter().any(|text| text.len() > 4_000) {
            return Vec::new();
        }
    }
    done.iter().map(|text| text.trim_end_matches('/').to_owned()).collect()
}

/// The path of a URL that may be relative.
fn path_of(url: &str) -> &str {
    let after_scheme = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| rest.get(at..).unwrap_or("")),
        None => url,
    };
    let end = after_scheme.find(['?', '#']).unwrap_or(after_scheme.len());
    let path = after_scheme.get(..end).unwrap_or("");
    if path.starts_with('/') { path } else { "" }
}

#[test]
fn the_path_of_a_url() {
    for (url, path) in [
        ("https://api.example.org/v1", "/v1"),
        ("https://api.example.org", ""),
        ("/v2/", "/v2/"),
        ("https://{host}/a/{b}?c#d", "/a/{b}"),
        ("", ""),
        ("v1", ""),
    ] {
        assert_eq!(path_of(url), path, "{url}");
    }
}
