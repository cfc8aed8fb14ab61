//! `GET /v1/explain`: which limits apply to a request, and why, as `tollgate explain --format json` tells it. It charges nobody.

use std::net::IpAddr;

use http::StatusCode;
use tollgate_http::text::shown;

use super::decision::json;
use super::problem::{Answer, Problem};
use crate::active_policy::ActivePolicy;
use crate::commands::explain::explain;
use crate::files;

/// Parameters of the query; more are an error.
const PARAMETERS_MAX: usize = 64;

/// Explains a request that the query describes: `method`, `target`, `address`, `host`, `tier` and `header` (`Name: value`).
pub(super) fn answer(live: &ActivePolicy, query: &str) -> Result<Answer, Problem> {
    let wrong = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
    let (mut method, mut target, mut host, mut tier, mut headers) = (None, None, None, None, Vec::new());
    let mut address = IpAddr::from([127, 0, 0, 1]);
    let parameters: Vec<_> = query.split('&').filter(|parameter| !parameter.is_empty()).collect();
    if parameters.len() > PARAMETERS_MAX {
        return Err(wrong(format!("there are more than {PARAMETERS_MAX} parameters")));
    }
    for parameter in parameters {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value =
            decoded(value).ok_or_else(|| wrong(format!("`{}` is not UTF-8 in %-encoding", shown(name))))?;
        let once = |slot: &mut Option<String>| match slot.replace(value.clone()) {
            None => Ok(()),
            Some(_) => Err(wrong(format!("`{name}` is there twice"))),
        };
        match name {
            "method" => once(&mut method)?,
            "target" => once(&mut target)?,
            "host" => once(&mut host)?,
            "tier" => once(&mut tier)?,
            "address" => address = value.parse().map_err(|_| wrong("`address` is no IP address".into()))?,
            "header" => headers.push(value),
            _ => return Err(wrong(format!("the parameter `{}` is not known", shown(name)))),
        }
    }
    let is_method = |method: &str| !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    if method.as_deref().is_some_and(|method| !is_method(method)) {
        return Err(wrong("`method` is no method in upper-case letters, such as `GET`".into()));
    }
    let target = target.filter(|target| target.starts_with('/'));
    let target =
        target.ok_or_else(|| wrong("give `target`, such as `target=/reports?page=2`, %-encoded".into()))?;
    let request = format!("{} {target}", method.as_deref().unwrap_or("GET"));
    let (policy, directory) = (live.limits.policy(), live.limits.directory());
    let asked = (request, headers, (tier, host), address);
    let explained = explain(asked, policy, directory, files::wall_clock()).map_err(wrong)?;
    Ok(json(explained.to_string()))
}

/// A value of a query, decoded; `None` if it is none.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let text = str::from_utf8(&digits).ok().filter(|text| !text.starts_with('+'))?;
                u8::from_str_radix(text, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}
