//! Patterns of hosts: one host, all below a domain, or any. Matches canonical names.

use std::fmt;
use std::net::Ipv4Addr;

use super::{Host, HostError, canonical};

/// A pattern of hosts.
///
/// `api.example.org` is that host. `*.example.org` is every host below it, at any depth, but not `example.org` itself.
/// `*` is every host. If several match, the most [specific](Self::specificity) one counts: an exact name before any
/// `*.`, and a longer domain before a shorter one.
///
/// ```
/// use tollgate_http::host::HostPattern;
/// let below = HostPattern::parse("*.Example.org")?;
/// assert!(below.matches("api.example.org") && below.matches("a.b.example.org"));
/// assert!(!below.matches("example.org") && !below.matches("badexample.org"));
/// assert!(HostPattern::parse("api.example.org")?.specificity() > below.specificity());
/// # Ok::<(), tollgate_http::host::PatternError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HostPattern(Kind);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Any,
    /// The domain with the dot before it.
    Below(String),
    Exact(String),
}

impl HostPattern {
    /// Parses a pattern, case-insensitively and without a port.
    ///
    /// # Errors
    ///
    /// If it is not a host, or has a `*` anywhere but alone or as the whole first label.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text == "*" {
            return Ok(Self(Kind::Any));
        }
        let domain = text.strip_prefix("*.");
        let rest = domain.unwrap_or(text);
        if rest.contains('*') {
            return Err(PatternError::StarElsewhere);
        }
        let mut buffer = Vec::new();
        let Host { name, port } = canonical(rest.as_bytes(), &mut buffer).map_err(PatternError::Host)?;
        if port.is_some() || rest.ends_with(':') {
            return Err(PatternError::Port);
        }
        if domain.is_none() {
            return Ok(Self(Kind::Exact(name.to_owned())));
        }
        if name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok() {
            return Err(PatternError::BelowAddress);
        }
        Ok(Self(Kind::Below(format!(".{name}"))))
    }

    /// Returns true if the pattern matches this [canonical] host name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Any => true,
            Kind::Below(domain) => name.ends_with(domain),
            Kind::Exact(exact) => name == exact,
        }
    }

    /// Greater for patterns that match fewer hosts. Of two different patterns that match the same host, one is always greater.
    #[must_use]
    pub fn specificity(&self) -> usize {
        match &self.0 {
            Kind::Any => 0,
            Kind::Below(domain) => domain.len(),
            Kind::Exact(_) => usize::MAX,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Any => f.write_str("*"),
            Kind::Below(domain) => write!(f, "*{domain}"),
            Kind::Exact(name) => f.write_str(name),
        }
    }
}

/// Why a host pattern is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PatternError {
    /// What follows `*.`, or the whole, is not a host.
    Host(HostError),
    /// A `*` that is not the whole first label.
    StarElsewhere,
    /// A port.
    Port,
    /// `*.` before an address.
    BelowAddress,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) => error.fmt(f),
            Self::StarElsewhere => f.write_str(
                "a * must stand alone or be the whole first label: write *, *.example.org or api.example.org",
            ),
            Self::Port => f.write_str("hosts are matched without ports: remove the port"),
            Self::BelowAddress => f.write_str("an address has no subdomains: write the address without *."),
        }
    }
}

impl std::error::Error for PatternError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Host(error) => Some(error),
            Self::StarElsewhere | Self::Port | Self::BelowAddress => None,
        }
    }
}
