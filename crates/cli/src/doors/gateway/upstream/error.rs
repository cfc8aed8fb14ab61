//! Errors of the upstream, for the log. `error_response` decides what the client sees.

use std::fmt;
use std::io;

/// Why the upstream sent no usable response.
#[derive(Debug)]
pub(crate) enum UpstreamError {
    /// Connecting failed.
    Connect(io::Error),
    /// The TLS handshake failed, or the certificate is not trusted.
    Tls(io::Error),
    /// The connection broke.
    Broken(String),
    /// The response is not valid HTTP.
    Garbled(String),
    /// The framing of the response is ambiguous.
    Ambiguous(&'static str),
    /// The header of the response is too large.
    TooLarge(&'static str),
    /// The upstream switched protocols without being asked to.
    Switched,
    /// The upstream sent too many interim responses.
    Interim,
    /// The client's request body failed.
    Client,
    /// The upstream closed the connection.
    Ended,
}

impl UpstreamError {
    /// Converts an error from hyper.
    pub(crate) fn broken(error: &hyper::Error) -> Self {
        if error.is_user() {
            return Self::Client;
        }
        Self::Broken(said(error))
    }

    /// Converts an I/O error on the connection.
    pub(crate) fn io(error: &io::Error) -> Self {
        let why = if error.kind() == io::ErrorKind::UnexpectedEof {
            "it closed the connection".to_owned()
        } else {
            error.to_string()
        };
        Self::Broken(why)
    }
}

/// An error with its causes, which hyper's own message leaves out.
fn said(error: &hyper::Error) -> String {
    let mut said = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        said.push_str(": ");
        said.push_str(&inner.to_string());
        cause = inner.source();
    }
    said
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "cannot connect to the upstream: {error}"),
            Self::Tls(error) => write!(f, "the TLS connection to the upstream failed: {error}"),
            Self::Broken(why) => write!(f, "the connection to the upstream failed: {why}"),
            Self::Garbled(why) => write!(f, "the upstream's response is not HTTP: {why}"),
            Self::Ambiguous(why) => write!(f, "the framing of the upstream's response is ambiguous: {why}"),
            Self::TooLarge(why) => write!(f, "the header of the upstream's response is too large: {why}"),
            Self::Switched => f.write_str("the upstream switched protocols without being asked to"),
            Self::Interim => f.write_str("the upstream sent too many interim responses (1xx)"),
            Self::Client => f.write_str("the client's request body failed"),
            Self::Ended => f.write_str("the upstream closed the connection"),
        }
    }
}
