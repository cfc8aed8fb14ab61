//! The server's protocol, RESP2: encodes calls and parses frames. No I/O.
//!
//! The parser bounds what it waits for, because a frame that never ends must not take memory; and it is fast, because it
//! reads millions of frames a minute.

use crate::{Call, Value};

/// The longest frame that is waited for. A server that says more than that in one answer is not talking to us: the
/// connection is closed.
pub(crate) const FRAME_BYTES_MAX: usize = 1 << 20;

/// How deep arrays may be nested. A frame that is deeper closes the connection.
const DEPTH_MAX: u32 = 8;

/// How the script is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScriptForm {
    /// By its digest: `EVALSHA`. Others may go in the same call.
    Together,
    /// By its digest, and alone.
    Digest,
    /// By its whole text: `EVAL`, which also makes the digest known. Alone.
    Text,
    /// As `Digest`, after an `ASKING`: to the node that a slot moves to.
    AskingDigest,
    /// As `Text`, after an `ASKING`.
    AskingText,
}

impl ScriptForm {
    /// Whether `ASKING` comes first, which has a reply of its own.
    pub(crate) const fn is_asking(self) -> bool {
        match self {
            Self::AskingDigest | Self::AskingText => true,
            Self::Together | Self::Digest | Self::Text => false,
        }
    }
}

/// What a server says at a time.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Frame {
    /// An answer.
    Value(Value),
    /// An error, without its `-`.
    Error(String),
}

/// The bytes are not the protocol, or beyond a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProtocolError(pub(crate) &'static str);

/// Adds the bytes of a call.
pub(crate) fn pack(bytes: &mut Vec<u8>, call: &Call, form: ScriptForm) {
    let (verb, script) = match form {
        ScriptForm::Together | ScriptForm::Digest | ScriptForm::AskingDigest => {
            ("EVALSHA", &call.script.digest)
        }
        ScriptForm::Text | ScriptForm::AskingText => ("EVAL", &call.script.text),
    };
    if form.is_asking() {
        bytes.extend_from_slice(&command(&["ASKING"]));
    }
    head(bytes, b'*', 3 + call.names.len() + call.arguments.len());
    bulk(bytes, verb.as_bytes());
    bulk(bytes, script.as_bytes());
    bulk(bytes, call.names.len().to_string().as_bytes());
    call.names.iter().for_each(|name| bulk(bytes, name.as_bytes()));
    call.arguments.iter().for_each(|argument| bulk(bytes, argument));
}

/// The bytes of any command.
pub(crate) fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    head(&mut bytes, b'*', words.len());
    words.iter().for_each(|word| bulk(&mut bytes, word.as_bytes()));
    bytes
}

fn bulk(bytes: &mut Vec<u8>, word: &[u8]) {
    head(bytes, b'$', word.len());
    bytes.extend_from_slice(word);
    bytes.extend_from_slice(b"\r\n");
}

/// A sign, a number in decimal digits, and the end of the line.
fn head(bytes: &mut Vec<u8>, sign: u8, number: usize) {
    // Nearly all of them have two digits.
    if let 10..100 = number {
        bytes.extend_from_slice(&[sign, digit(number / 10), digit(number), b'\r', b'\n']);
        return;
    }
    let mut digits = [0; 20];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        if let Some(place) = digits.get_mut(at) {
            *place = digit(rest);
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    bytes.push(sign);
    bytes.extend_from_slice(digits.get(at..).unwrap_or_default());
    bytes.extend_from_slice(b"\r\n");
}

/// The last digit of a number.
const fn digit(number: usize) -> u8 {
    b"0123456789"[number % 10]
}

/// The first frame of the bytes and how many bytes it has; none if it is not all there yet.
pub(crate) fn frame(bytes: &[u8]) -> Result<Option<(Frame, usize)>, ProtocolError> {
    let mut reader = Reader { bytes, at: 0 };
    match reader.frame(0) {
        Ok(frame) => Ok(Some((frame, reader.at))),
        Err(ParseStop::Incomplete) if bytes.len() > FRAME_BYTES_MAX => {
            Err(ProtocolError("a reply of more than 1 MiB"))
        }
        Err(ParseStop::Incomplete) => Ok(None),
        Err(ParseStop::Garbled(garbled)) => Err(garbled),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

enum ParseStop {
    Incomplete,
    Garbled(ProtocolError),
}

impl From<ProtocolError> for ParseStop {
    fn from(garbled: ProtocolError) -> Self {
        Self::Garbled(garbled)
    }
}

impl<'a> Reader<'a> {
    fn frame(&mut self, depth: u32) -> Result<Frame, ParseStop> {
        let line = self.line()?;
        let (sign, rest) = line.split_first().ok_or(ProtocolError("an empty line"))?;
        let value = match sign {
            b'+' => Value::SimpleString(text(rest)),
            b':' => Value::Int(number(rest)?),
            b'$' => self.bulk(number(rest)?)?,
            b'*' => self.array(number(rest)?, depth)?,
            b'-' if depth == 0 => return Ok(Frame::Error(text(rest))),
            b'-' => Value::Error(text(rest)),
            _ => return Err(ProtocolError("an unknown type byte").into()),
        };
        Ok(Frame::Value(value))
    }

    /// The line that begins here, without its end.
    fn line(&mut self) -> Result<&'a [u8], ParseStop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n').ok_or(ParseStop::Incomplete)?;
        self.at += length + 1;
        let line = rest.get(..length).unwrap_or_default();
        Ok(line.strip_suffix(b"\r").ok_or(ProtocolError("an unterminated line"))?)
    }

    fn bulk(&mut self, length: i64) -> Result<Value, ParseStop> {
        if length == -1 {
            return Ok(Value::Nil);
        }
        let length = usize::try_from(length).map_err(|_| ProtocolError("a negative length"))?;
        if length > FRAME_BYTES_MAX {
            return Err(ProtocolError("a string of more than 1 MiB").into());
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (string, rest) = rest.split_at_checked(length).ok_or(ParseStop::Incomplete)?;
        let end = rest.get(..2).ok_or(ParseStop::Incomplete)?;
        if end != b"\r\n" {
            return Err(ProtocolError("a string longer than its declared length").into());
        }
        self.at += length + 2;
        Ok(Value::BulkString(string.to_vec()))
    }

    fn array(&mut self, length: i64, depth: u32) -> Result<Value, ParseStop> {
        if length == -1 {
            return Ok(Value::Nil);
        }
        let length = usize::try_from(length).map_err(|_| ProtocolError("a negative length"))?;
        if length > FRAME_BYTES_MAX || depth >= DEPTH_MAX {
            return Err(ProtocolError("an array that is too long or too deep").into());
        }
        // What is announced is not believed: room is made for what can be there. The shortest value has four bytes.
        let room = self.bytes.len().saturating_sub(self.at) / 4;
        let mut values = Vec::with_capacity(length.min(room));
        for _ in 0..length {
            match self.frame(depth + 1)? {
                Frame::Value(value) => values.push(value),
                Frame::Error(_) => return Err(ProtocolError("an error inside a reply").into()),
            }
        }
        Ok(Value::Array(values))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(bytes: &[u8]) -> Result<i64, ProtocolError> {
    // Nearly all of them have two digits.
    if let [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = bytes {
        return Ok(i64::from(tens - b'0') * 10 + i64::from(ones - b'0'));
    }
    let digits = str::from_utf8(bytes).map_err(|_| ProtocolError("an invalid number"))?;
    digits.parse().map_err(|_| ProtocolError("an invalid number"))
}

#[cfg(test)]
mod tests;
