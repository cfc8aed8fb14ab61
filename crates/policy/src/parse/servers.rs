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
                Ok(base) => {
                    if base.is_relative && !bases.contains(&base.path) {
                        context.findings.push(relative(url, &base));
                    }
                    if !bases.contains(&base.path) {
                        bases.push(base.path);
                    }
                }
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

/// Where the path of a URL begins, which may have variables in it; its length if it has none.
fn path_start(url: &str) -> usize {
    let after_scheme = url.find("://").map(|at| at.saturating_add(3));
    let Some(host) = after_scheme.or_else(|| url.starts_with("//").then_some(2)) else { return 0 };
    let mut depth = 0_u32;
    let found = url.char_indices().skip_while(|(at, _)| *at < host).find(|(_, character)| {
        match character {
            '{' => depth = depth.saturating_add(1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *character == '/'
    });
    found.map_or(url.len(), |(at, _)| at)
}

/// A URL with every value that its variables can have: put in once, from left to right, and never looked at again. A variable of
/// the host is left alone, unless one of its values has a path in it: hosts are not matched.
fn spelled_out<'t>(url: &str, server: Value<'t>, context: &mut Context<'t>) -> Vec<String> {
    let mut done = vec![String::new()];
    let mut rest = url;
    let path = path_start(url);
    while let Some((before, after)) = rest.split_once('{') {
        let in_host = url.len().saturating_sub(rest.len()).saturating_add(before.len()) < path;
        let Some((name, after)) = after.split_once('}') else { break };
        let variable = server.get("variables").and_then(|variables| variables.get(name));
        let listed = variable.and_then(|variable| variable.get("enum")).into_iter().flat_map(Value::items);
        let default = variable.and_then(|variable| variable.get("default"));
        let mut values: Vec<_> = listed.chain(default).filter_map(Value::text).collect();
        values.sort_unstable();
        values.dedup();
        if in_host && !values.iter().any(|value| value.contains('/')) {
            values = vec!["host"];
        }
        let wrong = wrong_values(name, &values, done.len());
        if let Some((message, help)) = wrong {
            context.findings.push(Diagnostic::error("server-variable", server.place(), message).help(help));
            return Vec::new();
        }
        let joined = |text: &String, value: &str| {
            let start = format!("{text}{before}");
            // `/{base}` with the value `/v1` is `/v1`.
            let value = if start.ends_with('/') { value.trim_start_matches('/') } else { value };
            format!("{start}{value}")
        };
        done = done.iter().flat_map(|text| values.iter().map(move |value| joined(text, value))).collect();
        rest = after;
    }
    done.iter().map(|text| format!("{text}{rest}")).collect()
}

/// Whether the value of a variable is its own name in braces: then any segment can stand there.
fn stands_for_itself(value: &str, name: &str) -> bool {
    value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name)
}

/// What is wrong with the values of a variable, and what to do.
fn wrong_values(name: &str, values: &[&str], so_far: usize) -> Option<(String, &'static str)> {
    let shown = tollgate_http::text::shown(name);
    if values.is_empty() {
        let message = format!("the variable `{shown}` of this server has no value");
        Some((message, "give it a `default` under `variables`"))
    } else if so_far.saturating_mul(values.len()) > BASES_MAX {
        let message = format!("the variables of this server give more than {BASES_MAX} base paths");
        Some((message, "list fewer values in `enum`"))
    } else if values.iter().any(|value| value.contains(['{', '}']) && !stands_for_itself(value, name)) {
        let message = format!("the variable `{shown}` has a value with braces in it");
        Some((message, "a value is text, without variables"))
    } else {
        None
    }
}

/// The path of a server.
#[derive(PartialEq, Eq, Debug)]
struct Base {
    /// Without a slash at the end.
    path: String,
    /// Whether it is written relative to where the document is served.
    is_relative: bool,
}

/// The path of a URL, which may be relative to the host or to the document.
fn base_of(url: &str) -> Result<Base, String> {
    let path = url.get(path_start(url)..).unwrap_or("");
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let path = path.get(..end).unwrap_or("").trim_end_matches('/');
    if path.is_empty() || path == "." {
        return Ok(Base { path: String::new(), is_relative: false });
    }
    let is_relative = !path.starts_with('/');
    let path = if is_relative { from_root(path)? } else { path.to_owned() };
    Template::parse(&path, Tail::Refused).map_err(|error| format!("this is no base path: {error}"))?;
    Ok(Base { path, is_relative })
}

/// A relative URL, if the document is served from the root of its host. What is no such URL is an error.
fn from_root(path: &str) -> Result<String, String> {
    let shown = tollgate_http::text::shown(path);
    let path = path.strip_prefix("./").unwrap_or(path);
    let first = path.split('/').next().unwrap_or("");
    let is_word =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~' | b'%');
    let has_word = path.bytes().any(|byte| byte.is_ascii_alphanumeric());
    if !path.bytes().all(is_word) || !has_word || first == ".." {
        return Err(format!(
            "`{shown}` is no address of a server: write one such as `https://api.example.org/v1`, or a path such as `/v1`"
        ));
    }
    // `v1.0` is a path, and `api.example.org` a host.
    if first.contains('.') && !first.ends_with(|last: char| last.is_ascii_digit()) {
        return Err(format!(
            "`{shown}` has no scheme, so that its host would be a path: write `https://{shown}`"
        ));
    }
    Ok(format!("/{path}"))
}

fn relative(url: Value<'_>, base: &Base) -> Diagnostic {
    let shown = tollgate_http::text::shown(url.text().unwrap_or(""));
    let message = format!("`{shown}` is relative to where the document is served, which is not known here");
    let help = format!(
        "if operations stand under `{}`, write that; otherwise write the server's address",
        tollgate_http::text::shown(&base.path)
    );
    Diagnostic::warning("relative-server", url.place(), message).help(help)
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
        ("https://{region}.x/{stage", None),
        ("", Some("")),
        (".", Some("")),
        ("v1.0", Some("/v1.0")),
        ("./v1", Some("/v1")),
        ("none/face/v1.0", Some("/none/face/v1.0")),
        ("api.example.org", None),
        ("../v1", None),
        ("Your API URL", None),
        (",", None),
        ("/a//b", None),
        ("/{x", None),
    ];
    for (url, path) in table {
        assert_eq!(base_of(url).ok().map(|base| base.path).as_deref(), path, "{url}");
    }
}
