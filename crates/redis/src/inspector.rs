//! A separate connection for queries about the server itself, for `doctor`.

use std::fmt;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::connect::{Connector, Stream};
use crate::failed::ConnectionFailure;
use crate::resp::{self, Frame};
use crate::{Address, Cause, LinkError, OpenError, Settings, Value};

/// How long one question may take. A server that does not answer an operator within so long is as good as frozen: the question ends
/// in [`LinkError::Timeout`], and so does every later one, at once.
pub const QUESTION_TIME_MAX: Duration = Duration::from_secs(1);

/// Queries one Redis or Valkey server about itself: configuration, memory, clock.
///
/// It connects like a [`Link`](crate::Link), with the same address, credentials, database and TLS, but only once: after the connection
/// has ended, or a query timed out, every later query returns the same error at once. A server that freezes therefore
/// costs [`QUESTION_TIME_MAX`] once.
///
/// An error of the server, [`LinkError::Server`], is a reply: the connection stays open.
pub struct Inspector {
    stream: Stream,
    /// What was read, and belongs to no answer yet.
    input: Vec<u8>,
    /// Why nothing can be asked any more.
    ended: Option<LinkError>,
}

/// The reply to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueryReply {
    /// A simple or bulk string. Bytes that are not UTF-8 are replaced.
    Text(String),
    /// An integer.
    Number(i64),
    /// An array.
    List(Vec<Self>),
    /// Null.
    Nothing,
}

/// Why an inspector could not connect.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InspectError {
    /// The settings are invalid. No connection was attempted.
    Settings(OpenError),
    /// The server is unreachable or denied access.
    Unreachable(LinkError),
}

impl Inspector {
    /// Connects within [`Settings::connect_timeout`]: DNS, socket, TLS, password, database, handshake.
    ///
    /// # Errors
    /// See [`InspectError`].
    pub async fn connect(address: &Address, settings: &Settings) -> Result<Self, InspectError> {
        let checked = settings.check().map_err(OpenError::Setting);
        checked.map_err(InspectError::Settings)?;
        let connector = Connector::new(address.clone(), settings).map_err(InspectError::Settings)?;
        let stream =
            connector.connect().await.map_err(|failed| InspectError::Unreachable(failed.unreachable()))?;
        Ok(Self { stream, input: Vec::new(), ended: None })
    }

    /// Sends one command with its arguments, and waits at most [`QUESTION_TIME_MAX`] for the reply.
    ///
    /// # Errors
    /// If the server returns an error, or does not reply.
    pub async fn ask(&mut self, words: &[&str]) -> Result<QueryReply, LinkError> {
        if let Some(error) = &self.ended {
            return Err(error.clone());
        }
        let answered = timeout(QUESTION_TIME_MAX, self.exchange(words)).await;
        let ended = match answered {
            Ok(Ok(Frame::Value(value))) => return Ok(told(value)),
            Ok(Ok(Frame::Error(line))) => return Err(LinkError::server(&line)),
            Ok(Err(failed)) => LinkError::Lost { cause: failed.cause, sent: true },
            Err(_) => LinkError::Timeout { sent: true },
        };
        self.ended = Some(ended.clone());
        Err(ended)
    }

    async fn exchange(&mut self, words: &[&str]) -> Result<Frame, ConnectionFailure> {
        let io = |error| ConnectionFailure::of(&error);
        self.stream.write_all(&resp::command(words)).await.map_err(io)?;
        self.stream.flush().await.map_err(io)?;
        loop {
            match resp::frame(&self.input) {
                Ok(Some((frame, length))) => {
                    self.input.drain(..length);
                    return Ok(frame);
                }
                Ok(None) => {}
                Err(garbled) => return Err(ConnectionFailure::new(Cause::Garbled, garbled.0)),
            }
            if self.stream.read_buf(&mut self.input).await.map_err(io)? == 0 {
                return Err(ConnectionFailure::new(Cause::Closed, "the server closed the connection"));
            }
        }
    }
}

/// An answer without the client library's types, of which most never come over our protocol.
fn told(value: Value) -> QueryReply {
    match value {
        Value::Nil => QueryReply::Nothing,
        Value::Int(number) => QueryReply::Number(number),
        Value::BulkString(bytes) => QueryReply::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Value::SimpleString(text) | Value::Error(text) => QueryReply::Text(text),
        Value::Array(values) => QueryReply::List(values.into_iter().map(told).collect()),
    }
}

impl QueryReply {
    /// The text, if this is a string.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::List(_) | Self::Nothing => None,
        }
    }

    /// The number, if this is an integer or a string that parses as one.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::List(_) | Self::Nothing => None,
        }
    }

    /// The elements; empty if this is not an array.
    #[must_use]
    pub fn list(&self) -> &[Self] {
        match self {
            Self::List(parts) => parts,
            Self::Text(_) | Self::Number(_) | Self::Nothing => &[],
        }
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl fmt::Display for InspectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(error) => write!(f, "{error}"),
            Self::Unreachable(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for InspectError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_tells_is_text_numbers_and_lists() {
        let list = Value::Array(vec![
            Value::SimpleString("OK".into()),
            Value::Int(-7),
            Value::Nil,
            Value::BulkString(b"12\xff".to_vec()),
        ]);
        let told = told(list);
        let parts: Vec<_> = told.list().iter().map(|part| (part.text(), part.number())).collect();
        let expected = [(Some("OK"), None), (None, Some(-7)), (None, None), (Some("12\u{fffd}"), None)];
        assert_eq!(parts, expected);
        assert_eq!(QueryReply::Text("12".into()).number(), Some(12), "numbers are often sent as text");
        assert_eq!((told.text(), told.number(), QueryReply::Nothing.list()), (None, None, &[][..]));
    }
}
