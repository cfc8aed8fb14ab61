//! Any value of RESP2 and RESP3, and a parser for replies: for clients, tests and comparisons.

use crate::bounds::Bounds;
use crate::error::ProtocolError;
use crate::number::decimal_i64;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// `+`
    Simple(Vec<u8>),
    /// `-`, or `!` in RESP3.
    Error(Vec<u8>),
    /// `:`
    Integer(i64),
    /// `$`, or `=` in RESP3: then with its format, such as `txt:`.
    Bulk(Vec<u8>),
    /// `$-1`, `*-1`, or `_` in RESP3.
    Null,
    /// `*`, `~` or `>`.
    Array(Vec<Self>),
    /// `%`, or `|`.
    Map(Vec<(Self, Self)>),
    /// `#`
    Boolean(bool),
    /// `,` or `(`: a number as text.
    Number(Vec<u8>),
}

/// Parses a value at the start of the input, and returns it with its length; `None` if more input is needed.
///
/// # Errors
/// If the input is no value or exceeds a bound.
pub fn parse_value(input: &[u8], bounds: &Bounds) -> Result<Option<(Value, usize)>, ProtocolError> {
    let mut reader = Reader { input, at: 0, bounds, elements: 0 };
    let value = reader.value(0)?;
    if reader.at > bounds.total_bytes || (value.is_none() && input.len() > bounds.total_bytes) {
        return Err(ProtocolError::TooLong);
    }
    Ok(value.map(|value| (value, reader.at)))
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    bounds: &'a Bounds,
    /// Elements of all arrays so far: nested ones share the bound.
    elements: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Option<Value>, ProtocolError> {
        if depth > self.bounds.depth {
            return Err(ProtocolError::Depth);
        }
        let Some(kind) = self.input.get(self.at).copied() else { return Ok(None) };
        if !b"+-:$*_#,(!=%~>|".contains(&kind) {
            return Err(ProtocolError::Type(kind));
        }
        let Some(line) = self.line()? else { return Ok(None) };
        let malformed = ProtocolError::Malformed;
        Ok(Some(match kind {
            b'+' => Value::Simple(line.to_vec()),
            b'-' => Value::Error(line.to_vec()),
            b':' => Value::Integer(decimal_i64(line).ok_or(malformed)?),
            b'_' if line.is_empty() => Value::Null,
            b'#' => Value::Boolean(match line {
                b"t" => true,
                b"f" => false,
                _ => return Err(malformed),
            }),
            b',' | b'(' if !line.is_empty() => Value::Number(line.to_vec()),
            b'$' | b'!' | b'=' => return self.bulk(kind, line),
            b'*' | b'~' | b'>' => return self.array((kind, line), depth),
            b'%' | b'|' => return self.map(line, depth),
            _ => return Err(malformed),
        }))
    }

    fn bulk(&mut self, kind: u8, line: &[u8]) -> Result<Option<Value>, ProtocolError> {
        if kind == b'$' && line == b"-1" {
            return Ok(Some(Value::Null));
        }
        let length = self.length(line, self.bounds.bulk_bytes).ok_or(ProtocolError::BulkLength)?;
        let end = self.at.saturating_add(length);
        let Some(bytes) = self.input.get(self.at..end) else { return Ok(None) };
        match self.input.get(end..end.saturating_add(2)) {
            Some(b"\r\n") => {}
            Some(_) => return Err(ProtocolError::BulkEnd),
            None => return Ok(None),
        }
        self.at = end.saturating_add(2);
        let bytes = bytes.to_vec();
        Ok(Some(if kind == b'!' { Value::Error(bytes) } else { Value::Bulk(bytes) }))
    }

    fn array(&mut self, (kind, line): (u8, &[u8]), depth: usize) -> Result<Option<Value>, ProtocolError> {
        if kind == b'*' && line == b"-1" {
            return Ok(Some(Value::Null));
        }
        let length = self.elements(line, 1)?;
        let mut values = Vec::new();
        for _ in 0..length {
            let Some(value) = self.value(depth.saturating_add(1))? else { return Ok(None) };
            values.push(value);
        }
        Ok(Some(Value::Array(values)))
    }

    fn map(&mut self, line: &[u8], depth: usize) -> Result<Option<Value>, ProtocolError> {
        let length = self.elements(line, 2)?;
        let mut pairs = Vec::new();
        for _ in 0..length {
            let Some(key) = self.value(depth.saturating_add(1))? else { return Ok(None) };
            let Some(value) = self.value(depth.saturating_add(1))? else { return Ok(None) };
            pairs.push((key, value));
        }
        Ok(Some(Value::Map(pairs)))
    }

    fn elements(&mut self, line: &[u8], each: usize) -> Result<usize, ProtocolError> {
        let length = self.length(line, self.bounds.elements).ok_or(ProtocolError::ArrayLength)?;
        self.elements = self.elements.saturating_add(length.saturating_mul(each));
        if self.elements > self.bounds.elements {
            return Err(ProtocolError::ArrayLength);
        }
        Ok(length)
    }

    fn length(&self, line: &[u8], most: usize) -> Option<usize> {
        let number = decimal_i64(line).and_then(|number| usize::try_from(number).ok())?;
        (number <= most).then_some(number)
    }

    /// What follows the first byte of a line, which is read.
    fn line(&mut self) -> Result<Option<&'a [u8]>, ProtocolError> {
        let begin = self.at.saturating_add(1);
        let rest = self.input.get(begin..).unwrap_or_default();
        let within = rest.get(..self.bounds.line_bytes.saturating_add(2)).unwrap_or(rest);
        let Some(length) = within.iter().position(|byte| *byte == b'\n') else {
            return if rest.len() > self.bounds.line_bytes { Err(ProtocolError::Line) } else { Ok(None) };
        };
        let line = within.get(..length).unwrap_or_default();
        let line =
            line.strip_suffix(b"\r").filter(|line| !line.contains(&b'\r')).ok_or(ProtocolError::Line)?;
        self.at = begin.saturating_add(length).saturating_add(1);
        Ok(Some(line))
    }
}
