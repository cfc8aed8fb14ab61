//! Zones: `limit_req_zone` and `limit_conn_zone`, with their keys and rates.

use super::parser::Directive;

/// A zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Zone {
    pub(super) name: String,
    /// The key as a policy has it.
    pub(super) key: String,
    /// `(10, "second")` or `(10, "minute")`; `None` for connections.
    pub(super) rate: Option<(u64, &'static str)>,
}

impl Zone {
    /// Reads a directive; an error says what has no counterpart.
    pub(super) fn read(directive: &Directive) -> Result<Self, String> {
        let mut arguments = directive.arguments().iter();
        let key = arguments.next().ok_or("the key is missing")?;
        let (mut name, mut rate) = (None, None);
        for argument in arguments {
            match argument.split_once('=') {
                Some(("zone", value)) => name = Some(value.split(':').next().unwrap_or(value).to_owned()),
                Some(("rate", value)) => rate = Some(self::rate(value)?),
                _ => return Err(format!("`{argument}` has no counterpart")),
            }
        }
        let name = name.ok_or("`zone=` is missing")?;
        if directive.name() == "limit_req_zone" && rate.is_none() {
            return Err("`rate=` is missing".into());
        }
        Ok(Self { name, key: self::key(key)?, rate })
    }
}

fn rate(text: &str) -> Result<(u64, &'static str), String> {
    let per = [("r/s", "second"), ("r/m", "minute")];
    let found = per.into_iter().find_map(|(end, unit)| Some((text.strip_suffix(end)?.parse().ok()?, unit)));
    found.filter(|(count, _)| *count > 0).ok_or_else(|| format!("`rate={text}` is no rate such as 10r/s"))
}

/// A variable as a key of a policy.
fn key(variable: &str) -> Result<String, String> {
    let name = variable.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
    if variable.matches('$').count() != 1 || !variable.starts_with('$') {
        return Err(format!(
            "the key `{variable}` is not one variable: write a key such as `[ip, header:X]`"
        ));
    }
    Ok(match name {
        "binary_remote_addr" | "remote_addr" => "ip".into(),
        "server_name" | "host" | "http_host" => "everyone".into(),
        "http_authorization" => "header:Authorization".into(),
        name => match (name.strip_prefix("http_"), name.strip_prefix("arg_"), name.strip_prefix("cookie_")) {
            (Some(header), _, _) => format!("header:{}", header.replace('_', "-")),
            (_, Some(parameter), _) => format!("query:{parameter}"),
            (_, _, Some(cookie)) => format!("cookie:{cookie}"),
            _ => return Err(format!("the key `{variable}` has no counterpart")),
        },
    })
}
