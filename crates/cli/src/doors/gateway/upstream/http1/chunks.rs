//! Parses chunked bodies (RFC 9112 7.1) strictly: anything that other parsers read differently ends the connection.

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Bytes of a chunk's size with its extensions: more end the connection.
const SIZE_LINE_MAX: usize = 4 << 10;
/// Bytes of all trailers: more end the connection.
const TRAILERS_MAX: usize = 16 << 10;
/// Fields among the trailers: more end the connection.
const FIELDS_MAX: usize = 64;

/// Where the reader stands.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum ChunkReader {
    /// Before a chunk's size.
    #[default]
    Size,
    /// In a chunk, with so much of it left.
    Data(u64),
    /// Behind a chunk's data.
    AfterData,
    /// Behind the last chunk.
    Trailers,
    /// At the end.
    Done,
}

/// What was read.
#[derive(Debug)]
pub(super) enum ChunkPiece {
    /// A part of the body.
    Data(Bytes),
    /// The trailers, and the end.
    Trailers(HeaderMap),
    /// The end.
    End,
    /// Nothing: more bytes are needed.
    More,
}

impl ChunkReader {
    /// Reads the next piece out of the buffer.
    ///
    /// # Errors
    /// With what is wrong.
    pub(super) fn next(&mut self, buffer: &mut BytesMut) -> Result<ChunkPiece, &'static str> {
        loop {
            match *self {
                Self::Size => match size(buffer)? {
                    None => return Ok(ChunkPiece::More),
                    Some(0) => *self = Self::Trailers,
                    Some(length) => *self = Self::Data(length),
                },
                Self::Data(left) => {
                    if buffer.is_empty() {
                        return Ok(ChunkPiece::More);
                    }
                    let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                    let left = left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
                    *self = if left == 0 { Self::AfterData } else { Self::Data(left) };
                    return Ok(ChunkPiece::Data(buffer.split_to(length).freeze()));
                }
                Self::AfterData => match buffer.get(..2) {
                    None => return Ok(ChunkPiece::More),
                    Some(b"\r\n") => {
                        buffer.advance(2);
                        *self = Self::Size;
                    }
                    Some(_) => return Err("a chunk is longer than its size"),
                },
                Self::Trailers => return self.trailers(buffer),
                Self::Done => return Ok(ChunkPiece::End),
            }
        }
    }

    fn trailers(&mut self, buffer: &mut BytesMut) -> Result<ChunkPiece, &'static str> {
        if buffer.starts_with(b"\r\n") {
            buffer.advance(2);
            *self = Self::Done;
            return Ok(ChunkPiece::End);
        }
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        match httparse::parse_headers(buffer, &mut fields) {
            Ok(httparse::Status::Partial) if buffer.len() > TRAILERS_MAX => Err("its trailers are too long"),
            Ok(httparse::Status::Partial) => Ok(ChunkPiece::More),
            Err(_) => Err("its trailers are malformed"),
            Ok(httparse::Status::Complete((length, fields))) => {
                let mut trailers = HeaderMap::with_capacity(fields.len());
                for field in fields {
                    let name =
                        HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| "a trailer has no name")?;
                    let value = HeaderValue::from_bytes(field.value).map_err(|_| "a trailer is malformed")?;
                    trailers.append(name, value);
                }
                buffer.advance(length);
                *self = Self::Done;
                Ok(ChunkPiece::Trailers(trailers))
            }
        }
    }
}

/// A chunk's size, if its whole line is there. Extensions are dropped; a line end that is not CR LF is refused.
fn size(buffer: &mut BytesMut) -> Result<Option<u64>, &'static str> {
    let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
        return if buffer.len() > SIZE_LINE_MAX { Err("a chunk's size is too long") } else { Ok(None) };
    };
    let line = buffer.get(..end).and_then(|line| line.strip_suffix(b"\r"));
    let line = line.ok_or("a chunk's size ends with a bare line feed")?;
    if line.len() > SIZE_LINE_MAX || line.contains(&b'\r') {
        return Err("a chunk's size has no line end");
    }
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (number, rest) = line.split_at(digits);
    let extended = rest.trim_ascii_start();
    if !(1..=16).contains(&digits) || !(extended.is_empty() || extended.starts_with(b";")) {
        return Err("a chunk's size is not a number");
    }
    let number = std::str::from_utf8(number).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
    let number = number.ok_or("a chunk's size is not a number")?;
    buffer.advance(end.saturating_add(1));
    Ok(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a text, given whole or byte by byte.
    fn read(text: &[u8], step: usize) -> Result<(Vec<u8>, usize, usize), &'static str> {
        let (mut chunks, mut buffer, mut body, mut trailers) =
            (ChunkReader::default(), BytesMut::new(), Vec::new(), 0);
        let mut rest = text;
        loop {
            match chunks.next(&mut buffer)? {
                ChunkPiece::Data(data) => body.extend_from_slice(&data),
                ChunkPiece::Trailers(fields) => trailers = fields.len(),
                ChunkPiece::End => return Ok((body, trailers, buffer.len() + rest.len())),
                ChunkPiece::More if rest.is_empty() => return Err("cut off"),
                ChunkPiece::More => {
                    let (piece, after) = rest.split_at(step.min(rest.len()));
                    buffer.extend_from_slice(piece);
                    rest = after;
                }
            }
        }
    }

    #[test]
    fn a_body_is_the_same_however_its_bytes_come() {
        let text = b"5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nx-sum: 1\r\nx-b: 2\r\n\r\nNEXT";
        for step in 1..=text.len() {
            assert_eq!(read(text, step), Ok((b"hello world".to_vec(), 2, 4)), "{step} at a time");
        }
        assert_eq!(read(b"0\r\n\r\n", 1), Ok((Vec::new(), 0, 0)));
    }

    #[test]
    fn what_could_be_read_otherwise_is_refused() {
        let table: [&[u8]; 14] = [
            b"5\nhello\r\n0\r\n\r\n",
            b"+5\r\nhello\r\n0\r\n\r\n",
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b"-5\r\nhello\r\n0\r\n\r\n",
            b" 5\r\nhello\r\n0\r\n\r\n",
            b"5 x\r\nhello\r\n0\r\n\r\n",
            b"\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhelloX\r\n0\r\n\r\n",
            b"5\r\nhello0\r\n\r\n",
            b"5;a\rb\r\nhello\r\n0\r\n\r\n",
            b"5;a\nb\r\nhello\r\n0\r\n\r\n",
            b"00000000000000005\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhello\r\n0\r\nbad name: 1\r\n\r\n",
            b"5\r\nhel",
        ];
        for text in table {
            assert!(read(text, 1).is_err(), "{:?}", String::from_utf8_lossy(text));
            assert!(read(text, text.len()).is_err(), "{:?}", String::from_utf8_lossy(text));
        }
        let long = [b"5;".as_slice(), &[b'a'; SIZE_LINE_MAX], b"\r\nhello\r\n0\r\n\r\n"].concat();
        assert!(read(&long, 100).is_err());
        let trailers = [b"0\r\nx: ".as_slice(), &[b'a'; TRAILERS_MAX + 100]].concat();
        assert_eq!(read(&trailers, 1000), Err("its trailers are too long"));
    }
}
