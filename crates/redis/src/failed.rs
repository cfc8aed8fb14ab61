//! Why a connection failed or ended: a cause, and the message of the system or the server.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use rustls::{AlertDescription, InvalidMessage};

use crate::{Cause, LinkError};

/// Why there is no connection, or none any more.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionFailure {
    pub(crate) cause: Cause,
    pub(crate) message: String,
}

/// What a server says of a certificate of ours that it does not accept.
const NOT_ACCEPTED: [AlertDescription; 8] = [
    AlertDescription::BadCertificate,
    AlertDescription::UnsupportedCertificate,
    AlertDescription::CertificateRevoked,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateUnknown,
    AlertDescription::UnknownCA,
    AlertDescription::AccessDenied,
    AlertDescription::DecryptError,
];

impl ConnectionFailure {
    pub(crate) fn new(cause: Cause, message: &str) -> Self {
        Self { cause, message: message.to_owned() }
    }

    /// The server said this error.
    pub(crate) fn said(line: String) -> Self {
        Self { cause: Cause::of_line(&line), message: line }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the system has more kinds of errors than we have names"
    )]
    pub(crate) fn of(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        // Also after the handshake: that is when a server says that it wants a certificate of ours.
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Self::by_tls(error);
        }
        // A socket's file that is not there is a server that is not there.
        let cause = match error.kind() {
            Kind::ConnectionRefused | Kind::NotFound => Cause::Refused,
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof
            | Kind::WriteZero => Cause::Closed,
            Kind::TimedOut | Kind::HostUnreachable | Kind::NetworkUnreachable => Cause::ConnectTimeout,
            _ => Cause::Io,
        };
        Self::new(cause, &error.to_string())
    }

    pub(crate) fn late(limit: Duration) -> Self {
        Self::new(Cause::ConnectTimeout, &format!("the server sent nothing for {limit:?}"))
    }

    /// The server takes connections, and does not answer the handshake.
    pub(crate) fn without_tls_answer(limit: Duration) -> Self {
        let message = format!(
            "the server did not answer the TLS handshake within {limit:?}: it may not speak TLS on this port"
        );
        Self::new(Cause::ConnectTimeout, &message)
    }

    fn by_tls(error: &rustls::Error) -> Self {
        // An alert that came is about us: what we think of the server's own certificate is another error.
        let alert = if let rustls::Error::AlertReceived(alert) = error { Some(*alert) } else { None };
        if alert == Some(AlertDescription::CertificateRequired) {
            return Self::new(
                Cause::Certificate,
                "the server requires a client certificate: set the files with a certificate and its key",
            );
        }
        if alert.is_some_and(|alert| NOT_ACCEPTED.contains(&alert)) {
            return Self::new(
                Cause::Certificate,
                &format!("the server rejected the client certificate: {error}"),
            );
        }
        if matches!(error, rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) {
            return Self::new(Cause::Tls, "the server does not speak TLS on this port");
        }
        Self::new(Cause::Tls, &error.to_string())
    }

    pub(crate) const fn is_by_tls(&self) -> bool {
        matches!(self.cause, Cause::Tls | Cause::Certificate)
    }

    /// Whether no server said anything.
    pub(crate) const fn is_silent(&self) -> bool {
        matches!(self.cause, Cause::Refused | Cause::Closed | Cause::ConnectTimeout | Cause::Io)
    }

    pub(crate) fn unreachable(&self) -> LinkError {
        LinkError::unreachable(self.cause, &self.message)
    }
}

impl fmt::Display for ConnectionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ConnectionFailure {}
