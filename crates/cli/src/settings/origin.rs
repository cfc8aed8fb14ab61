//! Addresses to listen on and places of servers, from texts. Nothing is looked up: a name stays a name.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tollgate_http::host::canonical;
use tollgate_http::text::shown;
use tollgate_policy::quantity::whole;

use super::secret_parts::secrets;

/// How a server is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
    /// HTTP/2 from the first byte on, without TLS.
    H2c,
}

impl Scheme {
    /// Every scheme, by its word.
    const ALL: [(&'static str, Self); 3] = [("http", Self::Http), ("https", Self::Https), ("h2c", Self::H2c)];

    /// The port, where none is written.
    const fn port(self) -> u16 {
        match self {
            Self::Http | Self::H2c => 80,
            Self::Https => 443,
        }
    }
}

/// Where a server is: a scheme, a host and a port, and nothing else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Its name in lower case, or its address; an IPv6 address in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Scheme::ALL.iter().find(|(_, scheme)| *scheme == self.scheme).map_or("", |(word, _)| word);
        write!(f, "{word}://{}:{}", self.host, self.port)
    }
}

/// Reads `http://host:port`, `https://host`, `h2c://host:port`; one `/` may follow.
pub(super) fn origin(text: &str) -> Result<Origin, String> {
    if text.contains('@') {
        // What stands before it may be a password: nothing is repeated.
        return Err("The upstream's URL has a user name before `@`, and none is sent: leave it out".into());
    }
    if !secrets(text).is_empty() {
        // A password whose `@` is missing would stand where the host, its port or a query does.
        return wrong(text);
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(format!("has no scheme: write `http://{}`, or `https://`", shown(text)));
    };
    let Some((word, scheme)) = Scheme::ALL.into_iter().find(|(word, _)| *word == scheme) else {
        return Err(format!(
            "has an unknown scheme `{}`: write `http://`, `https://`, or `h2c://` for HTTP/2 without TLS",
            shown(scheme)
        ));
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    if !matches!(after, "" | "/") {
        let authority = shown(authority);
        return Err(format!("has a path, and requests keep their own: write `{word}://{authority}`"));
    }
    let mut buffer = Vec::new();
    let host =
        canonical(authority.as_bytes(), &mut buffer).map_err(|why| format!("cannot be used: {why}"))?;
    Ok(Origin { scheme, host: host.name.into(), port: host.port.unwrap_or(scheme.port()) })
}

/// What is wrong with a URL that has a part which may be a password: nothing of it is repeated.
fn wrong(text: &str) -> Result<Origin, String> {
    let Some((_, rest)) = text.split_once("://") else {
        return Err(
            "The upstream's URL has no scheme: write `http://host:port`, `https://host` or `h2c://host:port`"
                .into(),
        );
    };
    if rest.contains(['?', '#']) {
        return Err("The upstream's URL has a query, and requests keep their own: leave it out".into());
    }
    let authority = rest.split('/').next().unwrap_or_default();
    Err(match canonical(authority.as_bytes(), &mut Vec::new()) {
        Ok(_) => "The upstream's URL has a path, and requests keep their own: leave it out".into(),
        Err(why) => format!("The upstream's URL cannot be used: {why}"),
    })
}

/// Reads an address and a port: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
///
/// `localhost` is 127.0.0.1. Other names are refused, because what they stand for may change or be several. Port 0 lets the
/// system choose. A port alone is refused: who hears it on every address has to be meant.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let wrong =
        || "is not an address and a port: write them such as `127.0.0.1:8080` or `[::1]:8080`".to_owned();
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let number = whole(port).ok().and_then(|port| u16::try_from(port).ok());
    let Some(number) = number else {
        let address = text.parse::<IpAddr>().ok();
        return Err(address.map_or_else(wrong, |address| {
            format!("has no port: write it such as `{}`", SocketAddr::new(address, 8080))
        }));
    };
    let host = match host {
        "" | "*" => {
            return Err(format!(
                "has no address: write `127.0.0.1:{number}` for this machine, or `0.0.0.0:{number}` for every one that can reach it"
            ));
        }
        "localhost" => return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), number)),
        host => host,
    };
    let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address = match inside {
        Some(inside) => inside.parse().map(IpAddr::V6).ok(),
        None => host.parse().map(IpAddr::V4).ok(),
    };
    if let Some(address) = address {
        return Ok(SocketAddr::new(address, number));
    }
    Err(match text.parse::<IpAddr>() {
        Ok(address) => format!("has no port: write it such as `{}`", SocketAddr::new(address, 8080)),
        Err(_) if host.bytes().any(|byte| byte.is_ascii_alphabetic()) && inside.is_none() => format!(
            "has a name, and names are not looked up here: write an address such as `127.0.0.1:{number}`, or `localhost`"
        ),
        Err(_) => wrong(),
    })
}
