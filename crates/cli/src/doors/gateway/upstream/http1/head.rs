//! Parses the head of a response, and determines where its body ends.

use std::mem::MaybeUninit;

use bytes::BytesMut;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Version};

use super::receive::BodyLeft;
use crate::doors::gateway::framing;
use crate::doors::gateway::upstream::UpstreamError;

/// Bytes of a response's head: more are a bad gateway.
pub(super) const HEAD_MAX: usize = 64 << 10;
/// Fields of a response's head: more are a bad gateway.
const FIELDS_MAX: usize = 128;

/// A response's head, and what follows from it.
pub(super) struct ParsedHead {
    pub(super) parts: Parts,
    pub(super) left: BodyLeft,
    /// Whether the connection may be used again after it.
    pub(super) keeps: bool,
}

/// Reads a head, if all of it is there. It is taken out of the buffer.
///
/// # Errors
/// When it is not HTTP, is too large, or could be read in two ways.
pub(super) fn read(buffer: &mut BytesMut, of_head: bool) -> Result<Option<ParsedHead>, UpstreamError> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let length = match parser.parse_response_with_uninit_headers(&mut response, buffer, &mut fields) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if buffer.len() > HEAD_MAX => {
            return Err(UpstreamError::TooLarge("its head has more than 64 KiB"));
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(UpstreamError::TooLarge("it has more than 128 header fields"));
        }
        Err(error) => return Err(UpstreamError::Garbled(error.to_string())),
    };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or_else(|| UpstreamError::Garbled("it has no valid status".into()))?;
    let version = if response.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    let start = buffer.as_ptr().addr();
    // The places of names and values, so that they can be cut out of the buffer without a copy.
    let place = |piece: &[u8]| {
        let from = piece.as_ptr().addr().saturating_sub(start);
        from..from.saturating_add(piece.len())
    };
    let places: smallvec::SmallVec<[_; 16]> =
        response.headers.iter().map(|field| (place(field.name.as_bytes()), place(field.value))).collect();
    let head = buffer.split_to(length).freeze();
    let mut parts = Response::new(()).into_parts().0;
    parts.status = status;
    parts.version = version;
    parts.headers.reserve(places.len().saturating_add(8));
    for (name, value) in &places {
        let unfit = |_| UpstreamError::Garbled("a header field contains an invalid byte".into());
        let name = HeaderName::from_bytes(head.get(name.clone()).unwrap_or_default());
        let name = name.map_err(|_| UpstreamError::Garbled("a header field has an invalid name".into()))?;
        let value = HeaderValue::from_maybe_shared(head.slice(value.clone())).map_err(unfit)?;
        parts.headers.append(name, value);
    }
    let left = match only_a_length(&parts, of_head) {
        Some(length) => BodyLeft::Bytes(length),
        None => left(&mut parts, of_head)?,
    };
    let keeps = keeps(&parts.headers, version) && left != BodyLeft::UntilClose;
    Ok(Some(ParsedHead { parts, left, keeps }))
}

/// The length of a response as most are: one field says it, in plain digits, and none says otherwise. What is not so plain is looked at
/// from all sides. The fields are gone through once, which is less than to look for four of them.
fn only_a_length(parts: &Parts, of_head: bool) -> Option<u64> {
    if of_head || !(parts.status.is_success() && parts.status != StatusCode::NO_CONTENT) {
        return None;
    }
    let mut length = None;
    for (name, value) in &parts.headers {
        if *name == TRANSFER_ENCODING || (*name == CONTENT_LENGTH && length.is_some()) {
            return None;
        }
        if *name == CONTENT_LENGTH {
            let digits = value.as_bytes();
            let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            length = std::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok();
            length?;
        }
    }
    length
}

/// Where the body ends (RFC 9112 6.3).
fn left(parts: &mut Parts, of_head: bool) -> Result<BodyLeft, UpstreamError> {
    framing::of_response(&mut parts.headers).map_err(UpstreamError::Ambiguous)?;
    let status = parts.status;
    if of_head
        || status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
    {
        return Ok(BodyLeft::Bytes(0));
    }
    if parts.headers.contains_key(TRANSFER_ENCODING) {
        if parts.version == Version::HTTP_10 {
            return Err(UpstreamError::Ambiguous("it is HTTP/1.0 and has a Transfer-Encoding"));
        }
        return Ok(BodyLeft::Chunks(super::chunks::ChunkReader::default()));
    }
    // That it is one number was checked.
    let length =
        parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.trim().parse().ok());
    Ok(length.map_or(BodyLeft::UntilClose, BodyLeft::Bytes))
}

fn keeps(headers: &HeaderMap, version: Version) -> bool {
    let says = |word: &[u8]| {
        let mut words =
            headers.get_all(CONNECTION).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        words.any(|said| said.trim_ascii().eq_ignore_ascii_case(word))
    };
    if version == Version::HTTP_10 { says(b"keep-alive") } else { !says(b"close") }
}
