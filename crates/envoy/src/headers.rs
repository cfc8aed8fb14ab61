//! The headers that Envoy adds to the response to the client, in the generations that are enabled.

use std::fmt::Write;

use envoy_types::pb::envoy::config::core::v3::HeaderValue;
use tollgate::Micros;

use crate::options::Headers;
use crate::response::Shown;

/// Most limits that the headers name. Of more, those that are closest to refusing.
const LIMITS_MAX: usize = 8;
/// The largest integer of a structured field.
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// The headers of a response; the limits begin with the one that is closest to refusing.
pub(crate) fn of(shown: &[&Shown<'_>], is_refused: bool, wanted: &Headers, now: Micros) -> Vec<HeaderValue> {
    let Some(binding) = shown.first() else { return Vec::new() };
    let mut headers = Vec::new();
    let mut add = |key: &str, value: String| {
        headers.push(HeaderValue { key: key.into(), value, raw_value: Vec::new() });
    };
    if is_refused {
        let longest = shown.iter().filter(|shown| shown.is_over).map(|shown| shown.reset).max();
        add("retry-after", longest.unwrap_or(binding.reset).max(1).to_string());
    }
    if wanted.draft {
        let (mut policy, mut state) = (String::new(), String::new());
        for shown in shown.iter().take(LIMITS_MAX) {
            let (quota, window) = (shown.numbers.limit.min(INTEGER_MAX), shown.numbers.window.seconds());
            item(&mut policy, shown.name, [("q", quota), ("w", window)]);
            item(&mut state, shown.name, [("r", shown.remaining.min(INTEGER_MAX)), ("t", shown.reset)]);
        }
        add("ratelimit-policy", policy);
        add("ratelimit", state);
    }
    let (limit, remaining) = (binding.numbers.limit.to_string(), binding.remaining.to_string());
    if wanted.x_ratelimit {
        let reset = if wanted.reset_is_epoch {
            now.secs_rounded_up().saturating_add(binding.reset)
        } else {
            binding.reset
        };
        add("x-ratelimit-limit", limit.clone());
        add("x-ratelimit-remaining", remaining.clone());
        add("x-ratelimit-reset", reset.to_string());
    }
    if wanted.triple {
        add("ratelimit-limit", limit);
        add("ratelimit-remaining", remaining);
        add("ratelimit-reset", binding.reset.to_string());
    }
    headers
}

/// Appends a member of a list: a string with parameters (RFC 9651).
fn item(list: &mut String, name: &str, parameters: [(&str, u64); 2]) {
    if !list.is_empty() {
        list.push_str(", ");
    }
    list.push('"');
    for letter in if name.is_empty() { "override" } else { name }.chars() {
        match letter {
            '"' | '\\' => list.extend(['\\', letter]),
            ' '..='~' => list.push(letter),
            _ => list.push('?'),
        }
    }
    list.push('"');
    for (key, value) in parameters {
        write!(list, ";{key}={value}").expect("a string takes what is written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Numbers, Window};
    use crate::unit::Unit;

    const SHOWN: Shown<'_> = Shown {
        name: "per \"ip\" é",
        numbers: Numbers { limit: 10, window: Window::Unit(Unit::Minute) },
        remaining: 0,
        reset: 42,
        is_over: true,
        is_enforced: true,
    };

    fn lines(wanted: Headers, is_refused: bool) -> Vec<String> {
        let headers = of(&[&SHOWN], is_refused, &wanted, Micros::from_secs(1_000));
        headers.into_iter().map(|header| format!("{}: {}", header.key, header.value)).collect()
    }

    #[test]
    fn each_generation_has_its_headers() {
        let none = Headers { draft: false, x_ratelimit: false, triple: false, reset_is_epoch: true };
        assert_eq!(lines(none, false), [""; 0]);
        assert_eq!(lines(none, true), ["retry-after: 42"]);
        let expected =
            [r#"ratelimit-policy: "per \"ip\" ?";q=10;w=60"#, r#"ratelimit: "per \"ip\" ?";r=0;t=42"#];
        assert_eq!(lines(Headers { draft: true, ..none }, false), expected);
        let expected = ["x-ratelimit-limit: 10", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 1042"];
        assert_eq!(lines(Headers { x_ratelimit: true, ..none }, false), expected);
        let delta = lines(Headers { x_ratelimit: true, reset_is_epoch: false, ..none }, false);
        assert_eq!(delta[2], "x-ratelimit-reset: 42");
        let expected = ["ratelimit-limit: 10", "ratelimit-remaining: 0", "ratelimit-reset: 42"];
        assert_eq!(lines(Headers { triple: true, ..none }, false), expected);
    }
}
