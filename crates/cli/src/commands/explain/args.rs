//! Parses a request from command-line arguments.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_http::text::shown;
use tollgate_policy::Policy;
use tollgate_policy::scenario::unknown_tier;

use crate::cli::ExplainArgs;

/// What is asked about.
#[derive(Debug)]
pub(super) struct ExplainRequest {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) host: Option<String>,
    pub(super) from: IpAddr,
    pub(super) tier: Option<String>,
    pub(super) body: Option<String>,
}

/// Reads the arguments.
///
/// # Errors
/// A sentence that says which of them is wrong, and what would be right.
pub(super) fn parse(args: &ExplainArgs) -> Result<ExplainRequest, String> {
    let request = args.request.trim();
    let (method, target) = request.split_once(' ').ok_or_else(|| {
        let path = if request.starts_with('/') { request } else { "/users" };
        format!(
            "`{}` is no request: write a method and a target, such as 'GET {}'",
            shown(request),
            shown(path)
        )
    })?;
    let mut headers = HeaderMap::new();
    for line in &args.headers {
        let (name, value) = header(line)?;
        headers.append(name, value);
    }
    Ok(ExplainRequest {
        method: method.into(),
        target: target.trim_start().into(),
        headers,
        host: args.host.clone(),
        from: args.from,
        tier: args.tier.clone(),
        body: args.body.clone(),
    })
}

fn header(line: &str) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = |what: &str| format!("`{}` {what}: write 'Name: value'", shown(line));
    let (name, value) = line.split_once(':').ok_or_else(|| wrong("is no header"))?;
    let name = name.trim().parse().map_err(|_| wrong("has no name that a header can have"))?;
    let value = value.trim().parse().map_err(|_| wrong("has no value that a header can have"))?;
    Ok((name, value))
}

/// A tier that the policy does not know would be explained by numbers that nobody gets.
///
/// # Errors
/// A sentence that says which tier was meant, or which there are.
pub(super) fn known_tier(tier: Option<&str>, policy: &Policy) -> Result<(), String> {
    match tier.and_then(|tier| unknown_tier(tier, policy)) {
        Some((message, help)) => Err(format!("{message}; {help}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(request: &str, headers: &[&str]) -> ExplainArgs {
        ExplainArgs {
            file: "openapi.yaml".into(),
            request: request.into(),
            headers: headers.iter().map(|header| (*header).into()).collect(),
            tier: None,
            body: None,
            from: IpAddr::from([127, 0, 0, 1]),
            host: None,
            format: crate::cli::Format::Human,
        }
    }

    #[test]
    fn a_request_is_a_method_and_a_target() {
        for (text, method, target) in [("GET /", "GET", "/"), ("  POST   /a?b=c d ", "POST", "/a?b=c d")] {
            let asked = parse(&args(text, &[])).expect("it is one");
            assert_eq!((asked.method.as_str(), asked.target.as_str()), (method, target));
        }
    }

    #[test]
    fn what_is_no_request_is_told_in_a_sentence() {
        let table = [
            (
                args("/reports", &[]),
                "`/reports` is no request: write a method and a target, such as 'GET /reports'",
            ),
            (args("GET", &[]), "`GET` is no request: write a method and a target, such as 'GET /users'"),
            (args("GET /", &["X-API-Key"]), "`X-API-Key` is no header: write 'Name: value'"),
            (args("GET /", &["a b: c"]), "`a b: c` has no name that a header can have: write 'Name: value'"),
            (
                args("GET /", &["a: \u{7}"]),
                "`a: \\u{7}` has no value that a header can have: write 'Name: value'",
            ),
        ];
        for (args, why) in table {
            assert_eq!(parse(&args).expect_err("it is wrong"), why);
        }
    }

    #[test]
    fn a_header_may_be_sent_twice() {
        let asked = parse(&args("GET /", &["x-a: 1", "X-A: 2"])).expect("it is a request");
        let values: Vec<_> = asked.headers.get_all("x-a").iter().collect();
        assert_eq!(values, ["1", "2"]);
    }
}
