//! Parses commands from bytes that arrive in any pieces. It remembers how far it got, so that every byte is read once.

use std::ops::Range;

use crate::bounds::{Bounds, HEADER_BYTES_MAX};
use crate::error::ProtocolError;
use crate::inline;
use crate::number::decimal;

/// A parser of commands: arrays of bulk strings, as all clients send them, and inline commands, as a person types them.
///
/// It owns no input. Give it everything received since the end of the last command; it says how long the command is, and where its
/// arguments are.
#[derive(Debug)]
pub struct CommandParser {
    bounds: Bounds,
    /// Where the arguments are: in the input, or in `unquoted` if the command is inline.
    arguments: Vec<Range<usize>>,
    unquoted: Vec<u8>,
    state: State,
}

/// How far a command has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// At its first byte.
    Start,
    /// In an inline command of which so many bytes have no line end.
    Inline { seen: usize },
    /// In an array, at this position, with so many arguments to come.
    Array { at: usize, left: usize },
    /// It is complete: what is parsed next is another one.
    Done { inline: bool },
}

/// The outcome of looking for a line that ends with CR LF.
enum Line {
    /// The line is this range, and the next byte is at this position.
    Whole(Range<usize>, usize),
    Incomplete,
    TooLong,
}

impl CommandParser {
    /// Creates a parser.
    #[must_use]
    pub const fn new(bounds: Bounds) -> Self {
        Self { bounds, arguments: Vec::new(), unquoted: Vec::new(), state: State::Start }
    }

    /// Changes the bounds, from the next command on: a client that has not shown who it is may send less.
    pub const fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Parses a command at the start of the input, and returns its length; `None` if more input is needed. An empty command (an empty
    /// line, or an array of no elements) has no arguments, and Redis does not reply to it.
    ///
    /// Between calls that return `None`, input may only be appended.
    ///
    /// # Errors
    /// If the input is not a command or exceeds a bound. Parse nothing more then.
    pub fn parse(&mut self, input: &[u8]) -> Result<Option<usize>, ProtocolError> {
        if matches!(self.state, State::Done { .. }) {
            self.state = State::Start;
        }
        if self.state == State::Start {
            self.arguments.clear();
            self.unquoted.clear();
            match input.first() {
                None => return Ok(None),
                Some(b'*') => match self.array_header(input)? {
                    None => return Ok(None),
                    Some(begun) => self.state = begun,
                },
                Some(_) => self.state = State::Inline { seen: 0 },
            }
        }
        match self.state {
            State::Array { at, left } => self.elements(input, at, left),
            State::Inline { seen } => self.inline(input, seen),
            State::Start | State::Done { .. } => Ok(None),
        }
    }

    /// How many arguments the command has that was parsed last, the command's name included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.arguments.len()
    }

    /// Whether the command that was parsed last has no arguments.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// An argument of the command that was parsed last, from the same input. The first one is the command's name.
    #[must_use]
    #[inline]
    pub fn argument<'a>(&'a self, input: &'a [u8], number: usize) -> Option<&'a [u8]> {
        let range = self.arguments.get(number)?.clone();
        match self.state {
            State::Done { inline: true } => self.unquoted.get(range),
            State::Start | State::Inline { .. } | State::Array { .. } | State::Done { .. } => {
                input.get(range)
            }
        }
    }

    /// Where an argument is in the input; `None` if it is not there as it is, because the command is inline.
    #[must_use]
    pub fn range(&self, number: usize) -> Option<Range<usize>> {
        match self.state {
            State::Done { inline: false } => self.arguments.get(number).cloned(),
            State::Start | State::Inline { .. } | State::Array { .. } | State::Done { .. } => None,
        }
    }

    fn array_header(&self, input: &[u8]) -> Result<Option<State>, ProtocolError> {
        let (range, next) = match header(input, 0) {
            Line::Whole(range, next) => (range, next),
            Line::Incomplete => return Ok(None),
            Line::TooLong => return Err(ProtocolError::ArrayLength),
        };
        let digits = input.get(range).unwrap_or_default();
        // Redis ignores a command that is a null array.
        let left = if digits == b"-1" { Some(0) } else { length(digits, self.bounds.elements) };
        let left = left.ok_or(ProtocolError::ArrayLength)?;
        Ok(Some(State::Array { at: next, left }))
    }

    fn elements(
        &mut self,
        input: &[u8],
        mut at: usize,
        mut left: usize,
    ) -> Result<Option<usize>, ProtocolError> {
        while left > 0 {
            self.state = State::Array { at, left };
            let Some(range) = self.bulk(input, at)? else { return Ok(None) };
            at = range.end.saturating_add(2);
            left = left.saturating_sub(1);
            self.arguments.push(range);
        }
        self.state = State::Done { inline: false };
        Ok(Some(at))
    }

    /// A bulk string, whose bytes and line end have all arrived.
    #[inline]
    fn bulk(&self, input: &[u8], at: usize) -> Result<Option<Range<usize>>, ProtocolError> {
        match input.get(at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(byte) => return Err(ProtocolError::NotBulk(*byte)),
        }
        let (digits, begin) = match header(input, at) {
            Line::Whole(range, next) => (range, next),
            Line::Incomplete => return Ok(None),
            Line::TooLong => return Err(ProtocolError::BulkLength),
        };
        let length = length(input.get(digits).unwrap_or_default(), self.bounds.bulk_bytes);
        let end = begin.saturating_add(length.ok_or(ProtocolError::BulkLength)?);
        // Before its bytes are waited for.
        if end > self.bounds.total_bytes {
            return Err(ProtocolError::TooLong);
        }
        match (input.get(end), input.get(end.saturating_add(1))) {
            (Some(b'\r'), Some(b'\n')) => Ok(Some(begin..end)),
            (Some(b'\r') | None, None) => Ok(None),
            _ => Err(ProtocolError::BulkEnd),
        }
    }

    fn inline(&mut self, input: &[u8], seen: usize) -> Result<Option<usize>, ProtocolError> {
        let fresh = input.get(seen..).unwrap_or_default();
        let Some(found) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.state = State::Inline { seen: input.len() };
            return if input.len() > self.bounds.line_bytes {
                Err(ProtocolError::InlineTooLong)
            } else {
                Ok(None)
            };
        };
        let end = seen.saturating_add(found);
        if end > self.bounds.line_bytes {
            return Err(ProtocolError::InlineTooLong);
        }
        let line = input.get(..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        inline::split(line, self.bounds.elements, (&mut self.unquoted, &mut self.arguments))?;
        self.state = State::Done { inline: true };
        Ok(Some(end.saturating_add(1)))
    }
}

/// The digits of a header line, whose first byte is at `at`.
#[inline]
fn header(input: &[u8], at: usize) -> Line {
    let begin = at.saturating_add(1);
    let rest = input.get(begin..).unwrap_or_default();
    let within = rest.get(..HEADER_BYTES_MAX).unwrap_or(rest);
    match within.iter().position(|byte| *byte == b'\r') {
        Some(length) => {
            let end = begin.saturating_add(length);
            match input.get(end.saturating_add(1)) {
                Some(b'\n') => Line::Whole(begin..end, end.saturating_add(2)),
                Some(_) => Line::TooLong,
                None => Line::Incomplete,
            }
        }
        None if within.len() == HEADER_BYTES_MAX => Line::TooLong,
        None => Line::Incomplete,
    }
}

/// A length of at most so many.
#[inline]
fn length(digits: &[u8], most: usize) -> Option<usize> {
    decimal(digits).and_then(|number| usize::try_from(number).ok()).filter(|number| *number <= most)
}
