//! `cors`: which scripts in browsers may read an answer that is not the upstream's.

use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;
use crate::model::{Cors, Origins};
use crate::parse::context::Context;
use crate::parse::schema_fields::CORS;

/// Reads `cors`.
pub(crate) fn read<'t>(value: Value<'t>, context: &mut Context<'t>) -> Option<Cors> {
    let map = context.map(value, "`cors`")?;
    context.unknown_fields(map, &[CORS], "`cors`");
    let credentials = map.get("credentials").map(|value| {
        context.parsed(value, "credentials", |text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("is neither `true` nor `false`".into()),
        })
    });
    let Some(listed) = map.get("origins") else {
        let finding = Diagnostic::error("missing-field", map.place(), "`cors` has no `origins`");
        let help = "list those whose scripts may read a refusal, such as `origins: https://app.example.org`";
        context.findings.push(finding.help(help));
        return None;
    };
    let list: Vec<_> = if listed.is_list() { listed.items().collect() } else { vec![listed] };
    if list.is_empty() {
        let finding =
            Diagnostic::error("empty", listed.place(), "no origin is listed: `cors` would do nothing");
        context.findings.push(finding.help("list an origin, or leave `cors` out"));
        return None;
    }
    let count = list.len();
    let origins: Vec<_> =
        list.into_iter().filter_map(|item| context.parsed(item, "origins", origin)).collect();
    let credentials = credentials.unwrap_or(Some(false))?;
    if origins.len() != count {
        return None;
    }
    let any = origins.iter().any(|origin| origin == "*");
    if any && credentials {
        let message = "browsers refuse `*` for requests with credentials";
        let finding = Diagnostic::error("cors", listed.place(), message);
        context.findings.push(finding.help("list the origins, or write `credentials: false`"));
        return None;
    }
    Some(Cors { origins: if any { Origins::Any } else { Origins::These(origins) }, credentials })
}

/// An origin as browsers send it: in lower case, without the port that its scheme has by itself.
pub(crate) fn origin(text: &str) -> Result<String, String> {
    const WRONG: &str = "is not an origin as browsers send it: write it in lower case and without a path, such as \
                         `https://app.example.org`, or `*`";
    if text == "*" {
        return Ok(text.to_owned());
    }
    let (scheme, rest) = text.split_once("://").ok_or(WRONG)?;
    let is_scheme = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+.-".contains(&byte);
    let begins = scheme.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b':' | b'.');
    let host_is_fine = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => !address.is_empty() && address.bytes().all(is_digit),
        None => !host.is_empty() && host.bytes().all(is_name),
    };
    let port_is_fine = port
        .is_none_or(|port| (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit()));
    if !(begins && scheme.bytes().all(is_scheme) && host_is_fine && port_is_fine) {
        return Err(WRONG.into());
    }
    let usual = matches!((scheme, port), ("https", Some("443")) | ("http", Some("80")));
    Ok(if usual { format!("{scheme}://{host}") } else { text.to_owned() })
}

#[test]
fn origins_are_kept_as_browsers_send_them() {
    for (text, kept) in [
        ("*", Some("*")),
        ("https://app.example.org", Some("https://app.example.org")),
        ("https://app.example.org:443", Some("https://app.example.org")),
        ("http://localhost:80", Some("http://localhost")),
        ("http://localhost:3000", Some("http://localhost:3000")),
        ("http://[::1]:3000", Some("http://[::1]:3000")),
        ("http://[::1]", Some("http://[::1]")),
        ("capacitor://localhost", Some("capacitor://localhost")),
        ("https://App.example.org", None),
        ("https://app.example.org/", None),
        ("https://*.example.org", None),
        ("https://a@b", None),
        ("https://", None),
        ("://a", None),
        ("null", None),
        ("https://a:", None),
        ("https://a:123456", None),
    ] {
        assert_eq!(origin(text).ok().as_deref(), kept, "{text}");
    }
}
