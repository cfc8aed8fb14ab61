//! The client's deadline, as far as the request states it. A request never waits for a limit beyond it.

use std::time::Duration;

use http::HeaderMap;

/// What is left of the gateway's own time for an exchange, and of the time that a gRPC client has told.
pub(super) fn of(total: Option<Duration>, passed: Duration, call: Option<&HeaderMap>) -> Option<Duration> {
    let told = call.and_then(|headers| grpc_timeout(headers.get("grpc-timeout")?.as_bytes()));
    let least = [total, told].into_iter().flatten().min()?;
    Some(least.saturating_sub(passed))
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
        assert_eq!(of(None, second, None), None);
        assert_eq!(of(Some(minute), second, None), Some(Duration::from_secs(59)));
        assert_eq!(of(Some(minute), second, Some(&call("5S"))), Some(Duration::from_secs(4)));
        assert_eq!(of(None, second, Some(&call("100m"))), Some(Duration::ZERO));
        for wrong in ["", "S", "5", "123456789S", "-1S", "5s"] {
            assert_eq!(of(None, second, Some(&call(wrong))), None, "{wrong:?}");
        }
    }
}
