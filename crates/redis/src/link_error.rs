//! Errors of a call without a reply, as messages and names. Never a refusal or a grant.

use std::fmt;

use crate::Cause;

/// Maximum length of a server's message in bytes; longer ones are truncated.
pub const MESSAGE_BYTES_MAX: usize = 200;

/// Why a call has no reply, or an error reply.
///
/// If `sent` is false, the call certainly had no effect.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// The circuit breaker is open. Nothing was sent.
    Open,
    /// [`Settings::in_flight_max`](crate::Settings::in_flight_max) calls are in flight. Nothing was sent.
    TooManyInFlight,
    /// The time budget is exceeded.
    Timeout {
        /// Whether the call may have taken effect.
        sent: bool,
    },
    /// There is no connection. Nothing was sent.
    Unreachable {
        /// The cause.
        cause: Cause,
        /// The message of the system or the server, truncated at [`MESSAGE_BYTES_MAX`].
        message: Box<str>,
    },
    /// The connection ended while the call was in flight.
    Lost {
        /// The cause.
        cause: Cause,
        /// Whether the call may have taken effect.
        sent: bool,
    },
    /// The server returned an error.
    Server {
        /// The cause.
        cause: Cause,
        /// The server's message, truncated at [`MESSAGE_BYTES_MAX`].
        message: Box<str>,
    },
}

impl LinkError {
    /// The cause, from a fixed set.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        match self {
            Self::Open => Cause::Open,
            Self::TooManyInFlight => Cause::TooManyInFlight,
            Self::Timeout { sent: true } => Cause::Timeout,
            Self::Timeout { sent: false } => Cause::TimeoutUnsent,
            Self::Unreachable { cause, .. } | Self::Lost { cause, .. } | Self::Server { cause, .. } => *cause,
        }
    }

    /// The name of the cause, for metrics and logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.cause().name()
    }

    /// Returns false only if the call certainly had no effect. A failed script may have written before it failed.
    #[must_use]
    pub const fn may_have_run(&self) -> bool {
        match self {
            Self::Open | Self::TooManyInFlight | Self::Unreachable { .. } => false,
            Self::Timeout { sent } | Self::Lost { sent, .. } => *sent,
            Self::Server { .. } => true,
        }
    }

    pub(crate) fn server(line: &str) -> Self {
        Self::Server { cause: Cause::of_line(line), message: cut(line, MESSAGE_BYTES_MAX) }
    }

    pub(crate) fn unreachable(cause: Cause, message: &str) -> Self {
        Self::Unreachable { cause, message: cut(message, MESSAGE_BYTES_MAX) }
    }
}

/// Truncates a message at a character boundary and removes control characters, for logs.
pub(crate) fn cut(message: &str, bytes_max: usize) -> Box<str> {
    let mut kept = String::with_capacity(message.len().min(bytes_max));
    for char in message.chars().map(|char| if char.is_control() { ' ' } else { char }) {
        if kept.len() + char.len_utf8() > bytes_max {
            break;
        }
        kept.push(char);
    }
    kept.into_boxed_str()
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("the circuit breaker is open because the store failed recently"),
            Self::TooManyInFlight => f.write_str("too many calls to the store are in flight"),
            Self::Timeout { sent: true } => {
                f.write_str("the store did not reply in time; the call may have taken effect")
            }
            Self::Timeout { sent: false } => {
                f.write_str("the call to the store timed out before it was sent")
            }
            Self::Unreachable { cause, message } => {
                write!(f, "no connection to the store ({}): {message}", cause.name())
            }
            Self::Lost { cause, sent: true } => write!(
                f,
                "the connection to the store was lost ({}) before it replied; the call may have taken effect",
                cause.name()
            ),
            Self::Lost { cause, sent: false } => {
                write!(f, "the connection to the store was lost ({}) before the call was sent", cause.name())
            }
            Self::Server { message, .. } => write!(f, "the store returned an error: {message}"),
        }
    }
}

impl std::error::Error for LinkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_two_characters_and_loses_its_control_characters() {
        let LinkError::Server { message, .. } = LinkError::server(&format!("ERR \u{1b}{}", "é".repeat(300)))
        else {
            panic!("a server's error");
        };
        assert!(message.len() <= MESSAGE_BYTES_MAX && message.starts_with("ERR  é"), "{message}");
    }

    #[test]
    fn only_what_was_certainly_not_sent_says_so() {
        let unsent = [
            LinkError::Open,
            LinkError::TooManyInFlight,
            LinkError::Timeout { sent: false },
            LinkError::unreachable(Cause::Refused, "refused"),
            LinkError::Lost { cause: Cause::Closed, sent: false },
        ];
        assert!(unsent.iter().all(|error| !error.may_have_run()));
        let sent = [
            LinkError::Timeout { sent: true },
            LinkError::Lost { cause: Cause::Closed, sent: true },
            LinkError::server("ERR no"),
        ];
        assert!(sent.iter().all(LinkError::may_have_run));
    }
}
