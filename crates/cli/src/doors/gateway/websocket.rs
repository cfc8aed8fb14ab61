//! The WebSocket opening handshake (RFC 6455): checks what both sides send and sets the hop-by-hop fields. Moves no tunnel data.

use http::header::{
    CONNECTION, CONTENT_LENGTH, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, request};

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
const UPGRADES: HeaderValue = HeaderValue::from_static("Upgrade");

/// Whether the client asks to switch to WebSocket. HTTP/1.0 requests cannot upgrade (RFC 9110 7.8).
pub(super) fn is_requested(parts: &request::Parts) -> bool {
    parts.version == Version::HTTP_11 && lists(&parts.headers, &UPGRADE, b"websocket")
}

/// Checks an opening handshake. A request that fails here would be read by some upstreams as an ordinary request, and
/// what the client sends next as another one.
///
/// # Errors
/// If it is not a valid handshake: a sentence for the client.
pub(super) fn check_request(parts: &request::Parts, has_body: bool) -> Result<(), &'static str> {
    if parts.method != Method::GET {
        return Err("a WebSocket handshake uses GET");
    }
    if has_body {
        return Err("a WebSocket handshake has no body: remove Content-Length and Transfer-Encoding");
    }
    if !lists(&parts.headers, &CONNECTION, b"upgrade") {
        return Err("a WebSocket handshake needs `Connection: Upgrade`");
    }
    for (name, error) in [
        (SEC_WEBSOCKET_KEY, "a WebSocket handshake needs exactly one Sec-WebSocket-Key"),
        (SEC_WEBSOCKET_VERSION, "a WebSocket handshake needs exactly one Sec-WebSocket-Version"),
    ] {
        if parts.headers.get_all(name).iter().count() != 1 {
            return Err(error);
        }
    }
    Ok(())
}

/// Asks the upstream to switch. The client's own hop-by-hop fields were removed before.
pub(super) fn set_request_fields(headers: &mut HeaderMap) {
    headers.remove(TE);
    set_fields(headers);
}

/// Checks an upstream's 101.
///
/// # Errors
/// If it does not switch to WebSocket: what is wrong, for the log.
pub(super) fn check_response(headers: &HeaderMap) -> Result<(), &'static str> {
    if headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING) {
        return Err("a 101 has no body, but it has a Content-Length or a Transfer-Encoding");
    }
    let mut protocols = headers.get_all(UPGRADE).iter();
    let only_websocket = matches!(
        (protocols.next(), protocols.next()),
        (Some(protocol), None) if protocol.as_bytes().eq_ignore_ascii_case(b"websocket")
    );
    if !only_websocket || !lists(headers, &CONNECTION, b"upgrade") {
        return Err("it switched protocols, but not to WebSocket");
    }
    if headers.get_all(SEC_WEBSOCKET_ACCEPT).iter().count() != 1 {
        return Err("its 101 does not have exactly one Sec-WebSocket-Accept");
    }
    Ok(())
}

/// Tells the client that the connection switches. The upstream's own hop-by-hop fields were removed before.
pub(super) fn set_response_fields(headers: &mut HeaderMap) {
    set_fields(headers);
}

fn set_fields(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, UPGRADES);
    headers.insert(UPGRADE, WEBSOCKET);
}

/// Whether a comma-separated field lists a token, in any case.
fn lists(headers: &HeaderMap, name: &HeaderName, token: &[u8]) -> bool {
    let mut tokens =
        headers.get_all(name).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    tokens.any(|found| found.trim_ascii().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: Method, fields: &[(&'static str, &'static str)]) -> request::Parts {
        let mut request = http::Request::new(());
        *request.method_mut() = method;
        for (name, value) in fields {
            request.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        request.into_parts().0
    }

    const GOOD: [(&str, &str); 4] = [
        ("connection", "keep-alive, UPGRADE"),
        ("upgrade", "h2c, WebSocket"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-version", "13"),
    ];

    #[test]
    fn only_a_whole_handshake_passes() {
        let good = parts(Method::GET, &GOOD);
        assert!(is_requested(&good));
        assert_eq!(check_request(&good, false), Ok(()));
        check_request(&good, true).expect_err("it has a body");
        check_request(&parts(Method::POST, &GOOD), false).expect_err("it is a POST");
        for without in ["connection", "sec-websocket-key", "sec-websocket-version"] {
            let fields: Vec<_> = GOOD.into_iter().filter(|(name, _)| *name != without).collect();
            check_request(&parts(Method::GET, &fields), false).expect_err(without);
        }
        let twice: Vec<_> = GOOD.into_iter().chain([("sec-websocket-key", "x")]).collect();
        check_request(&parts(Method::GET, &twice), false).expect_err("it has two keys");
    }

    #[test]
    fn http_1_0_cannot_upgrade() {
        let mut old = parts(Method::GET, &GOOD);
        old.version = Version::HTTP_10;
        assert!(!is_requested(&old));
    }

    #[test]
    fn a_101_has_to_switch_to_websocket_and_to_nothing_else() {
        let good = [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-accept", "x")];
        let headers = |fields: &[(&'static str, &'static str)]| parts(Method::GET, fields).headers;
        assert_eq!(check_response(&headers(&good)), Ok(()));
        for without in ["connection", "upgrade", "sec-websocket-accept"] {
            let fields: Vec<_> = good.into_iter().filter(|(name, _)| *name != without).collect();
            check_response(&headers(&fields)).expect_err(without);
        }
        for more in [("upgrade", "h2c"), ("content-length", "5"), ("transfer-encoding", "chunked")] {
            let fields: Vec<_> = good.into_iter().chain([more]).collect();
            check_response(&headers(&fields)).expect_err(more.0);
        }
    }
}
