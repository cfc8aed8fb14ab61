//! Serializes a request: its head, and its body to come.

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{Method, Request};
use http_body::Body;

use super::send::UnsentBody;
use crate::doors::gateway::body::RequestBody;
use crate::doors::gateway::upstream::is_idempotent;

/// What a head takes, as a rule.
const HEAD_USUAL: usize = 1 << 10;

/// How the end of a body is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyFraming {
    /// There is none.
    None,
    /// After so many bytes.
    Length(u64),
    /// In chunks.
    Chunked,
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    pub(super) head: Vec<u8>,
    pub(super) body: RequestBody,
    pub(super) coding: BodyFraming,
    /// What was taken of the body for a connection on which nothing could be sent.
    pub(super) taken: Option<Box<UnsentBody>>,
    method: Method,
    /// Whether it asks to switch to another protocol.
    switches: bool,
}

impl PreparedRequest {
    /// Writes a request's head. Its fields were made ready for the upstream; where its body ends is said here, once.
    pub(crate) fn new(request: Request<RequestBody>) -> Self {
        let (parts, body) = request.into_parts();
        let coding = match body.size_hint().exact() {
            _ if body.is_empty() => BodyFraming::None,
            Some(length) => BodyFraming::Length(length),
            None => BodyFraming::Chunked,
        };
        let mut head = Vec::with_capacity(HEAD_USUAL);
        head.extend_from_slice(parts.method.as_str().as_bytes());
        head.push(b' ');
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        head.extend_from_slice(if target.is_empty() { b"/" } else { target.as_bytes() });
        head.extend_from_slice(b" HTTP/1.1\r\n");
        for (name, value) in &parts.headers {
            if *name != CONTENT_LENGTH && *name != TRANSFER_ENCODING {
                line(&mut head, name.as_str(), value.as_bytes());
            }
        }
        match coding {
            BodyFraming::Length(length) => line(&mut head, "content-length", length.to_string().as_bytes()),
            BodyFraming::Chunked => line(&mut head, "transfer-encoding", b"chunked"),
            // Whose method asks for a body says that there is none (RFC 9110 8.6).
            BodyFraming::None if [Method::POST, Method::PUT, Method::PATCH].contains(&parts.method) => {
                line(&mut head, "content-length", b"0");
            }
            BodyFraming::None => {}
        }
        head.extend_from_slice(b"\r\n");
        Self { head, body, coding, taken: None, method: parts.method, switches: false }
    }

    /// As [`new`](Self::new), for a request that asks to switch to another protocol.
    pub(crate) fn switching(request: Request<RequestBody>) -> Self {
        Self { switches: true, ..Self::new(request) }
    }

    /// Whether it asks to switch to another protocol.
    pub(super) const fn switches(&self) -> bool {
        self.switches
    }

    /// Whether its response has no body, whatever it says.
    pub(super) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// Whether it may be sent twice: its method is idempotent, and it has no body.
    pub(super) fn is_repeatable(&self) -> bool {
        self.coding == BodyFraming::None && is_idempotent(&self.method)
    }
}

fn line(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    // Once, so that the four pieces need not look for room.
    head.reserve(name.len().saturating_add(value.len()).saturating_add(4));
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderValue;

    use super::*;

    fn head(method: Method, body: RequestBody) -> String {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = "/a?b=c".parse().expect("it is a target");
        request.headers_mut().insert("host", HeaderValue::from_static("h"));
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("99"));
        request.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("gzip"));
        String::from_utf8(PreparedRequest::new(request).head).expect("it is ASCII")
    }

    #[test]
    fn where_a_body_ends_is_said_once_and_by_the_body_itself() {
        let none = RequestBody::empty;
        assert_eq!(head(Method::GET, none()), "GET /a?b=c HTTP/1.1\r\nhost: h\r\n\r\n");
        let zero = "POST /a?b=c HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(head(Method::POST, none()), zero);
        let held = RequestBody::whole(Bytes::from_static(b"12345"));
        let five = "PUT /a?b=c HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\n";
        assert_eq!(head(Method::PUT, held), five);
    }
}
