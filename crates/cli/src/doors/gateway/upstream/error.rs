//! Why an upstream gave no answer. What a client is told of it is decided in `exchange`.

use std::fmt;
use std::io;

/// Why an upstream gave no answer.
#[derive(Debug)]
pub(crate) enum UpstreamError {
    /// No connection.
    Connect(io::Error),
    /// A TLS handshake that failed, or a certificate that is not trusted.
    Tls(io::Error),
    /// The connection broke.
    Broken(String),
    /// What came is not HTTP.
    Garbled(String),
    /// What came could be read in two ways.
    Ambiguous(&'static str),
    /// The head of the response is larger than this gateway takes.
    TooLarge(&'static str),
    /// It switched to another protocol, which was not asked for.
    Switched,
    /// It sent interim responses without end.
    Interim,
    /// The client's own body failed.
    Client,
    /// It ended.
    Ended,
}

impl UpstreamError {
    /// What hyper says, in our words.
    pub(crate) fn broken(error: &hyper::Error) -> Self {
        if error.is_user() {
            return Self::Client;
        }
        Self::Broken(said(error))
    }

    /// What the system says, in our words.
    pub(crate) fn io(error: &io::Error) -> Self {
        let why = if error.kind() == io::ErrorKind::UnexpectedEof {
            "it closed the connection".to_owned()
        } else {
            error.to_string()
        };
        Self::Broken(why)
    }
}

/// An error and its causes: hyper's own words leave them out.
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
            Self::Connect(error) => write!(f, "no connection to the upstream: {error}"),
            Self::Tls(error) => write!(f, "no TLS with the upstream: {error}"),
            Self::Broken(why) => write!(f, "the upstream broke off: {why}"),
            Self::Garbled(why) => write!(f, "the upstream's response is not HTTP: {why}"),
            Self::Ambiguous(why) => write!(f, "the upstream's response could be read in two ways: {why}"),
            Self::TooLarge(why) => write!(f, "the upstream's response is not passed on: {why}"),
            Self::Switched => {
                f.write_str("the upstream switched to another protocol, which was not asked for")
            }
            Self::Interim => f.write_str("the upstream sent too many interim responses (1xx)"),
            Self::Client => f.write_str("the client's body failed"),
            Self::Ended => f.write_str("the upstream closed the connection"),
        }
    }
}
