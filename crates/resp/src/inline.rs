//! Inline commands: words between spaces, some of them in quotes. The rules are those of Redis.

use std::ops::Range;

use crate::error::ProtocolError;

/// Splits a line into words, without their quotes. More words than `most` are an error.
pub(crate) fn split(
    line: &[u8],
    most: usize,
    (text, words): (&mut Vec<u8>, &mut Vec<Range<usize>>),
) -> Result<(), ProtocolError> {
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Ok(());
        }
        if words.len() >= most {
            return Err(ProtocolError::ArrayLength);
        }
        let begin = text.len();
        rest = word(rest, text)?;
        words.push(begin..text.len());
    }
}

/// Appends a word, and returns what follows it. Quotes may begin inside of a word, and end it.
fn word<'a>(mut rest: &'a [u8], text: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    while let Some((byte, after)) = rest.split_first() {
        match byte {
            b'"' => return end_of_word(double_quoted(after, text)?),
            b'\'' => return end_of_word(single_quoted(after, text)?),
            byte if byte.is_ascii_whitespace() || *byte == 0 => return Ok(after),
            byte => text.push(*byte),
        }
        rest = after;
    }
    Ok(rest)
}

/// A closing quote must be followed by a space or nothing at all.
fn end_of_word(rest: &[u8]) -> Result<&[u8], ProtocolError> {
    match rest.first() {
        None => Ok(rest),
        Some(byte) if byte.is_ascii_whitespace() => Ok(rest),
        Some(_) => Err(ProtocolError::Quotes),
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], text: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    loop {
        match rest {
            [b'\\', b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit =
                    |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (high, low) = (digit(high).unwrap_or(0), digit(low).unwrap_or(0));
                text.push(high << 4 | low);
                rest = after;
            }
            [b'\\', escaped, after @ ..] => {
                text.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                rest = after;
            }
            [b'"', after @ ..] => return Ok(after),
            [byte, after @ ..] => {
                text.push(*byte);
                rest = after;
            }
            [] => return Err(ProtocolError::Quotes),
        }
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], text: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    loop {
        match rest {
            [b'\\', b'\'', after @ ..] => {
                text.push(b'\'');
                rest = after;
            }
            [b'\'', after @ ..] => return Ok(after),
            [byte, after @ ..] => {
                text.push(*byte);
                rest = after;
            }
            [] => return Err(ProtocolError::Quotes),
        }
    }
}
