//! Rejects messages whose length is ambiguous (Content-Length and Transfer-Encoding).

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue};

/// Checks a request. Of a `Content-Length` beside a `Transfer-Encoding` nothing is left to see: the parser has dropped it, as
/// RFC 9112 allows, and closes the connection after the response.
///
/// # Errors
/// With a sentence for the client.
pub(crate) fn of_request(headers: &HeaderMap) -> Result<(), &'static str> {
    if is_plainly_coded(headers) {
        Ok(())
    } else {
        Err("Transfer-Encoding must be a single `chunked`: send the body that way, or with a Content-Length")
    }
}

/// Checks a response, and has its length said once.
///
/// # Errors
/// With what is wrong, for the log.
pub(crate) fn of_response(headers: &mut HeaderMap) -> Result<(), &'static str> {
    if !is_plainly_coded(headers) {
        return Err("its Transfer-Encoding is not a single `chunked`");
    }
    if !headers.contains_key(CONTENT_LENGTH) {
        return Ok(());
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        return Err("it has both Transfer-Encoding and Content-Length");
    }
    let (length, once) = length(headers).ok_or("its Content-Length is not a single number")?;
    if !once {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(())
}

/// Whether there is no coding, or `chunked` in one line. Anything else has been read in more ways than one (G4).
fn is_plainly_coded(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// The one number that all lengths say, and whether it is said once and in its shortest form.
fn length(headers: &HeaderMap) -> Option<(u64, bool)> {
    let lines = headers.get_all(CONTENT_LENGTH).iter().map(HeaderValue::as_bytes);
    let mut said = None;
    let mut times = 0_usize;
    for text in lines.flat_map(|line| line.split(|byte| *byte == b',')) {
        let text = text.trim_ascii();
        if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let number: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        if said.is_some_and(|said| said != number) {
            return None;
        }
        said = Some(number);
        times = times.saturating_add(1);
    }
    said.map(|said| (said, times == 1))
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn headers(fields: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_request_is_chunked_in_one_way_or_refused() {
        let table: [(&[&str], bool); 8] = [
            (&[], true),
            (&["chunked"], true),
            (&["Chunked"], true),
            (&["gzip, chunked"], false),
            (&["chunked", "chunked"], false),
            (&["chunked, chunked"], false),
            (&["gzip", "chunked"], false),
            (&["identity"], false),
        ];
        for (codings, fine) in table {
            let mut headers = HeaderMap::new();
            for coding in codings {
                headers.append(TRANSFER_ENCODING, HeaderValue::from_static(coding));
            }
            assert_eq!(of_request(&headers).is_ok(), fine, "{codings:?}");
        }
    }

    #[test]
    fn a_response_says_its_length_once_or_is_refused() {
        let (length, coding) = (CONTENT_LENGTH, TRANSFER_ENCODING);
        let table = [
            (vec![(length.clone(), "5")], Some("5")),
            (vec![(length.clone(), "5"), (length.clone(), "5")], Some("5")),
            (vec![(length.clone(), "5, 5")], Some("5")),
            (vec![(length.clone(), "5"), (length.clone(), "6")], None),
            (vec![(length.clone(), "5, 6")], None),
            (vec![(length.clone(), "5,")], None),
            (vec![(length.clone(), "+5")], None),
            (vec![(length.clone(), "99999999999999999999")], None),
            (vec![(length.clone(), "")], None),
            (vec![(length, "5"), (coding.clone(), "chunked")], None),
            (vec![(coding, "gzip")], None),
        ];
        for (fields, said) in table {
            let mut headers = headers(&fields);
            let fine = of_response(&mut headers).is_ok();
            assert_eq!(fine, said.is_some(), "{fields:?}");
            if let Some(said) = said {
                let lengths: Vec<_> = headers.get_all(CONTENT_LENGTH).iter().collect();
                assert_eq!(lengths, [said], "{fields:?}");
            }
        }
    }
}
