//! Splits the target of a request into its parts, without normalising them.

#[cfg(test)]
mod tests;

use std::fmt;

/// The longest target that is taken; a longer one is refused. RFC 9112 asks for 8000 at least.
pub const TARGET_MAX: usize = 8_192;

/// The parts of a request's target, borrowed from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target<'a> {
    /// Which of the four forms it has.
    pub form: Form,
    /// In absolute form only.
    pub scheme: Option<Scheme>,
    /// In absolute and authority form: the host with its port, as it was sent, for
    /// [`host::canonical`](crate::host::canonical).
    pub host: Option<&'a str>,
    /// Begins with `/`; but `*` for the server as a whole, and empty in authority form.
    pub path: &'a str,
    /// What follows the first `?`; it may be empty.
    pub query: Option<&'a str>,
}

/// The forms of RFC 9112, section 3.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `/path?query`
    Origin,
    /// `http://host/path?query`
    Absolute,
    /// `host:port`, for CONNECT
    Authority,
    /// `*`, for OPTIONS
    Asterisk,
}

/// Which protocol an absolute target names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// `http`, in any case.
    Http,
    /// `https`, in any case.
    Https,
}

impl Scheme {
    /// The port that goes without saying.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Cuts a target into its parts. The method says which forms there may be.
///
/// An absolute target without a path has the path `/` (for OPTIONS and without a query `*`, RFC 9112, 3.2.4). A CONNECT
/// with a path is taken in origin form: that is how WebSockets over HTTP/2 begin (RFC 8441).
///
/// ```
/// use tollgate_http::target::{Form, parse};
/// let target = parse("GET", b"http://api.example.org/users?page=2")?;
/// assert_eq!((target.form, target.host), (Form::Absolute, Some("api.example.org")));
/// assert_eq!((target.path, target.query), ("/users", Some("page=2")));
/// # Ok::<(), tollgate_http::target::TargetError>(())
/// ```
///
/// # Errors
///
/// If it has none of the forms, or a fragment, or a byte that must be escaped in one.
pub fn parse<'a>(method: &str, raw: &'a [u8]) -> Result<Target<'a>, TargetError> {
    if raw.len() > TARGET_MAX {
        return Err(TargetError::TooLong(raw.len()));
    }
    if let Some(bad) = raw.iter().find(|byte| !byte.is_ascii_graphic()) {
        return Err(TargetError::BadByte(*bad));
    }
    let text = str::from_utf8(raw).map_err(|_| TargetError::BadByte(0x80))?;
    if text.contains('#') {
        return Err(TargetError::Fragment);
    }
    match text {
        "" => Err(TargetError::Empty),
        "*" if method == "OPTIONS" => {
            Ok(Target { form: Form::Asterisk, scheme: None, host: None, path: text, query: None })
        }
        "*" => Err(TargetError::AsteriskNotOptions),
        _ if text.starts_with('/') => {
            let (path, query) = split_query(text);
            Ok(Target { form: Form::Origin, scheme: None, host: None, path, query })
        }
        _ if method == "CONNECT" => authority(text),
        _ => absolute(method, text),
    }
}

fn split_query(text: &str) -> (&str, Option<&str>) {
    match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    }
}

fn authority(text: &str) -> Result<Target<'_>, TargetError> {
    if text.contains(['/', '?', '@', '\\']) {
        return Err(TargetError::NotAuthority);
    }
    // The last colon may be within an IPv6 address: then what follows it is not a port.
    let port = text.rsplit_once(':').map(|(_, port)| port);
    if !port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(TargetError::NotAuthority);
    }
    Ok(Target { form: Form::Authority, scheme: None, host: Some(text), path: "", query: None })
}

fn absolute<'a>(method: &str, text: &'a str) -> Result<Target<'a>, TargetError> {
    let (scheme, rest) = text.split_once("://").ok_or(TargetError::NotATarget)?;
    let scheme = match scheme {
        _ if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
        _ if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
        _ => return Err(TargetError::OtherScheme),
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, rest) = rest.split_at_checked(end).ok_or(TargetError::NotATarget)?;
    if host.contains(['@', '\\']) {
        return Err(TargetError::UserInfo);
    }
    if host.is_empty() {
        return Err(TargetError::NoHost);
    }
    let (path, query) = split_query(rest);
    let path = match path {
        "" if query.is_none() && method == "OPTIONS" => "*",
        "" => "/",
        _ => path,
    };
    Ok(Target { form: Form::Absolute, scheme: Some(scheme), host: Some(host), path, query })
}

/// Why something is not a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TargetError {
    /// Nothing.
    Empty,
    /// So many bytes, more than [`TARGET_MAX`].
    TooLong(usize),
    /// A blank, a control byte or one that is not ASCII.
    BadByte(u8),
    /// A `#`.
    Fragment,
    /// None of the four forms.
    NotATarget,
    /// `*` with a method other than OPTIONS.
    AsteriskNotOptions,
    /// CONNECT without a host and a port.
    NotAuthority,
    /// Neither http nor https.
    OtherScheme,
    /// A name or password, or what may be taken for one, before the host.
    UserInfo,
    /// A scheme and no host.
    NoHost,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(length) => {
                return write!(f, "a target of {length} bytes is too long: send at most {TARGET_MAX}");
            }
            Self::BadByte(byte) => {
                return write!(f, "the target has the byte 0x{byte:02x}: send it as %{byte:02X}");
            }
            Self::Empty => "the target is empty: send / for the root",
            Self::Fragment => "the target has a #: fragments are not sent; send a literal # as %23",
            Self::NotATarget => {
                "the target is not in a form that HTTP defines: send /path or http://host/path"
            }
            Self::AsteriskNotOptions => "the target * is for OPTIONS only: send /path",
            Self::NotAuthority => "the target of CONNECT is a host and a port: send host:443",
            Self::OtherScheme => {
                "the scheme of the target is neither http nor https: send /path or http://host/path"
            }
            Self::UserInfo => {
                "the target has @ or \\ before its path: send the host alone, and credentials in a header"
            }
            Self::NoHost => "the target has a scheme and no host: send /path or http://host/path",
        }
        .fmt(f)
    }
}

impl std::error::Error for TargetError {}
