//! The client's deadline, as far as the request states it. A request never waits for a limit beyond it.

use std::time::Duration;

use http::HeaderMap;

/// What is left of the gateway's own time for an exchange, and of the time that the client has told: in `Request-Timeout`, or for a call of
/// gRPC in `grpc-timeout`. A field that cannot be read says nothing.
pub(super) fn of(
    total: Option<Duration>,
    passed: Duration,
    headers: &HeaderMap,
    is_grpc: bool,
) -> Option<Duration> {
    let grpc = || grpc_timeout(one(headers, "grpc-timeout")?);
    let told = if is_grpc { grpc() } else { None };
    let request = one(headers, "request-timeout").and_then(request_timeout);
    let least = [total, told, request].into_iter().flatten().min()?;
    Some(least.saturating_sub(passed))
}

/// A field that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none()).map(http::HeaderValue::as_bytes)
}

/// `Request-Timeout`: seconds, with up to nine decimals. There is no standard; others write it so.
fn request_timeout(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !digits(whole, 9) || !digits(decimals, 9) {
        return None;
    }
    Some(Duration::new(whole.parse().ok()?, format!("{decimals:0<9}").parse().ok()?))
}

/// `grpc-timeout`: at most eight digits and a unit.
fn grpc_timeout(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(number.saturating_mul(3_600))),
        b'M' => Some(Duration::from_secs(number.saturating_mul(60))),
        b'S' => Some(Duration::from_secs(number)),
        b'm' => Some(Duration::from_millis(number)),
        b'u' => Some(Duration::from_micros(number)),
        b'n' => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_time_counts() {
        let call = |timeout: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", http::HeaderValue::from_static(timeout));
            headers
        };
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let none = HeaderMap::new();
        assert_eq!(of(None, second, &none, true), None);
        assert_eq!(of(Some(minute), second, &none, true), Some(Duration::from_secs(59)));
        assert_eq!(of(Some(minute), second, &call("5S"), true), Some(Duration::from_secs(4)));
        assert_eq!(of(Some(minute), second, &call("5S"), false), Some(Duration::from_secs(59)));
        assert_eq!(of(None, second, &call("100m"), true), Some(Duration::ZERO));
        for wrong in ["", "S", "5", "123456789S", "-1S", "5s"] {
            assert_eq!(of(None, second, &call(wrong), true), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_client_of_http_says_how_long_it_waits() {
        let asks = |timeouts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for timeout in timeouts {
                headers.append("request-timeout", http::HeaderValue::from_static(timeout));
            }
            of(None, Duration::ZERO, &headers, false)
        };
        assert_eq!(asks(&["5"]), Some(Duration::from_secs(5)));
        assert_eq!(asks(&["0.25"]), Some(Duration::from_millis(250)));
        assert_eq!(asks(&["0"]), Some(Duration::ZERO));
        for wrong in ["", "-1", "1e3", "5s", ".5", "5.", "1234567890", "0.1234567890", "five"] {
            assert_eq!(asks(&[wrong]), None, "{wrong:?}");
        }
        assert_eq!(asks(&["5", "1"]), None, "there are two");
    }
}
