//! From limits on descriptors to limits on requests. What a descriptor's key stands for is in Envoy's routes, and not in the file: names
//! that are customary are assumed, and said.

use tollgate_envoy::{Limits, Numbers, Outline, Wanted};

use super::native::{Imported, NativeLimit, NativeRoute, quoted};

/// Converts a file of envoyproxy/ratelimit or Limitador.
pub(super) fn import(name: &str, text: &str) -> Result<Imported, Vec<String>> {
    let (limits, _) =
        Limits::load(&[(name, text)]).map_err(|rejected| rejected.lines().collect::<Vec<_>>())?;
    let mut imported = Imported::default();
    let outlines = limits.outline();
    let mut domains: Vec<_> = outlines.iter().map(|outline| outline.domain).collect();
    domains.dedup();
    if domains.len() > 1 {
        let kept = domains.join(", ");
        imported.assumed.push(format!("limits of several domains ({kept}) are in one policy, and all apply"));
    }
    for outline in &outlines {
        if let Err(why) = convert(outline, &mut imported) {
            imported.lost.push(format!("{}: {why}", outline.rule.path));
        }
    }
    imported.assumed.sort();
    imported.assumed.dedup();
    Ok(imported)
}

/// What the keys of a limit become.
#[derive(Default)]
struct Parts {
    path: Option<String>,
    methods: Vec<String>,
    headers: Vec<(String, String)>,
    keys: Vec<String>,
}

fn convert(outline: &Outline<'_>, imported: &mut Imported) -> Result<(), String> {
    if outline.is_partial {
        return Err("conditions other than `==` and `startsWith` have no counterpart".into());
    }
    let mut parts = Parts::default();
    for (key, wanted) in &outline.entries {
        part(key, wanted, &mut parts, &mut imported.assumed)?;
    }
    let Some(numbers) = outline.rule.numbers else {
        return Err("a limit without an end is left out: nothing but its absence says that".into());
    };
    for field in &outline.fields {
        imported.lost.push(format!("{}: {field} has no counterpart, and is left out", outline.rule.path));
    }
    let limit = limit(outline, numbers, &parts);
    let Parts { path, methods, .. } = parts;
    if path.is_none() && methods.is_empty() {
        imported.root.push(limit);
        return Ok(());
    }
    let path = path.unwrap_or_else(|| "/{rest*}".into());
    imported.add(NativeRoute { path, methods, host: None, inherits: true, limits: vec![limit] });
    Ok(())
}

fn part(key: &str, wanted: &Wanted<'_>, parts: &mut Parts, assumed: &mut Vec<String>) -> Result<(), String> {
    let name = key.to_ascii_lowercase().replace('-', "_");
    match (name.as_str(), wanted) {
        ("remote_address" | "client_ip" | "source_ip", Wanted::Any) => parts.keys.push("ip".into()),
        ("remote_address" | "client_ip" | "source_ip", _) => {
            return Err(format!("limits of single addresses (`{key}` with a value) are not in policies"));
        }
        ("path" | "req_path" | ":path", Wanted::Exact(path)) => parts.path = Some(template(path)?),
        // Of the paths of one template, a limit has one counter: that is what is shared in the file.
        ("path" | "req_path" | ":path", Wanted::Shared(pattern)) => parts.path = Some(template(pattern)?),
        ("path" | "req_path" | ":path", Wanted::Pattern(pattern)) => {
            parts.path = Some(template(pattern)?);
            assumed.push(format!("all paths of `{pattern}` share a counter, and did not before"));
        }
        ("method" | "req_method" | ":method", Wanted::Exact(method)) => parts.methods.push((*method).into()),
        ("path" | "req_path" | ":path" | "method" | "req_method" | ":method", _) => {
            return Err(format!("a counter for each value of `{key}` has no counterpart: write routes"));
        }
        ("generic_key" | "header_match" | "source_cluster" | "destination_cluster", _) => {
            return Err(format!("`{key}` stands for one of Envoy's routes: write a route with this limit"));
        }
        (_, Wanted::Any) => {
            assumed.push(format!("`{key}` is taken for a request header of that name"));
            parts.keys.push(format!("header:{key}"));
        }
        (_, Wanted::Exact(value)) => {
            assumed.push(format!("`{key}` is taken for a request header of that name"));
            parts.headers.push((key.into(), (*value).into()));
        }
        (_, Wanted::Pattern(_) | Wanted::Shared(_)) => {
            return Err(format!("a wildcard in the value of `{key}` has no counterpart"));
        }
    }
    Ok(())
}

/// A path as a template: a wildcard at the end becomes the rest.
fn template(path: &str) -> Result<String, String> {
    let (start, rest) = match path.strip_suffix('*') {
        Some(start) => (start, "{rest*}"),
        None => (path, ""),
    };
    if start.contains('*') || start.contains(['{', '}']) || !start.starts_with('/') {
        return Err(format!("the path `{path}` has no template"));
    }
    let start = if rest.is_empty() { start.into() } else { format!("{}/", start.trim_end_matches('/')) };
    Ok(format!("{start}{rest}"))
}

fn limit(outline: &Outline<'_>, numbers: Numbers, parts: &Parts) -> NativeLimit {
    let rule = outline.rule;
    let name = if rule.name.is_empty() { &rule.path } else { &rule.name };
    let key = if parts.keys.is_empty() { "everyone".into() } else { parts.keys.join(" + ") };
    let mut fields = vec![
        ("algorithm", "fixed_window".into()),
        ("limit", numbers.limit.to_string()),
        ("window_seconds", numbers.window.seconds().to_string()),
        ("consumer_key", quoted(&key)),
    ];
    if rule.is_shadow {
        fields.push(("mode", "shadow".into()));
    }
    let name = quoted(&name.replace(|letter: char| !(' '..='~').contains(&letter), "?"));
    NativeLimit { name, fields, when: parts.headers.clone() }
}
