//! `servers`: under which paths a document's operations stand. Hosts are not matched: a gateway stands in front of them.

use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;
use crate::parse::context::Context;
use crate::template::{Tail, Template};

/// Under so many base paths may an operation stand, and so many values may a server's variables give. More are refused.
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
        for full in spelled_out(text, server, context) {
            match base_of(&full) {
                Ok(base) if bases.contains(&base) => {}
                Ok(base) => bases.push(base),
                Err(why) => context.error("server", url.place(), why),
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

/// A URL with every value that its variables can have: put in once, from left to right, and never looked at again.
fn spelled_out<'t>(url: &str, server: Value<'t>, context: &mut Context<'t>) -> Vec<String> {
    let mut done = vec![String::new()];
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        let variable = server.get("variables").and_then(|variables| variables.get(name));
        let listed = variable.and_then(|variable| variable.get("enum")).into_iter().flat_map(Value::items);
        let default = variable.and_then(|variable| variable.get("default"));
        let mut values: Vec<_> = listed.chain(default).filter_map(Value::text).collect();
        values.sort_unstable();
        values.dedup();
        let shown = tollgate_http::text::shown(name);
        let wrong = if values.is_empty() {
            Some((
                format!("the variable `{shown}` of this server has no value"),
                "give it a `default` under `variables`",
            ))
        } else if done.len().saturating_mul(values.len()) > BASES_MAX {
            let message = format!("the variables of this server give more than {BASES_MAX} base paths");
            Some((message, "list fewer values in `enum`"))
        } else if values.iter().any(|value| value.contains(['{', '}'])) {
            Some((
                format!("the variable `{shown}` has a value with braces in it"),
                "a value is text, without variables",
            ))
        } else {
            None
        };
        if let Some((message, help)) = wrong {
            context.findings.push(Diagnostic::error("server-variable", server.place(), message).help(help));
            return Vec::new();
        }
        let grown =
            done.iter().flat_map(|text| values.iter().map(move |value| format!("{text}{before}{value}")));
        done = grown.collect();
        rest = after;
    }
    done.iter().map(|text| format!("{text}{rest}")).collect()
}

/// The path of a URL, which may be relative to the host; without a slash at the end.
fn base_of(url: &str) -> Result<String, String> {
    let after_scheme = url.split_once("://").map_or_else(|| url.strip_prefix("//"), |(_, rest)| Some(rest));
    let path = match after_scheme {
        Some(rest) => rest.find('/').map_or("", |at| rest.get(at..).unwrap_or("")),
        None => url,
    };
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let path = path.get(..end).unwrap_or("").trim_end_matches('/');
    if path.is_empty() {
        return Ok(String::new());
    }
    if !path.starts_with('/') {
        let shown = tollgate_http::text::shown(path);
        return Err(format!(
            "`{shown}` is relative to a place that is not known here: begin it with a slash"
        ));
    }
    Template::parse(path, Tail::Refused).map_err(|error| format!("this is no base path: {error}"))?;
    Ok(path.to_owned())
}

#[test]
fn the_path_of_a_url() {
    let table = [
        ("https://api.example.org/v1", Some("/v1")),
        ("https://api.example.org", Some("")),
        ("//api.example.org/v1/", Some("/v1")),
        ("/v2/", Some("/v2")),
        ("/", Some("")),
        ("https://x/a/b?c#d", Some("/a/b")),
        ("", Some("")),
        ("v1", None),
        ("/a//b", None),
        ("/{x", None),
    ];
    for (url, path) in table {
        assert_eq!(base_of(url).ok().as_deref(), path, "{url}");
    }
}
