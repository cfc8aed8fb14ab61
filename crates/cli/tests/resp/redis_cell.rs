//! `CL.THROTTLE` as in redis-cell: its own table of cases, what was observed on it, and the exceptions that docs/RESP.md lists.

use tollgate::Micros;

use super::support::{Served, packed, shown};

#[test]
fn the_examples_of_redis_cell_have_the_same_replies() {
    let served = Served::new();
    let mut client = served.client();
    assert_eq!(client.said("CL.THROTTLE user123 15 30 60"), "0 16 15 -1 2");
    assert_eq!(client.said("cl.throttle user123 15 30 60 1"), "0 16 14 -1 4");
    // Observed on redis-cell: a peek, and a quantity that can never fit.
    assert_eq!(client.said("CL.THROTTLE peeked 5 30 60 0"), "0 6 6 -1 0");
    assert_eq!(client.said("CL.THROTTLE never 4 30 60 6"), "1 5 5 -1 0");
}

/// The table of redis-cell's own unit test: milliseconds, quantity, remaining, reset, retry, limited. Its times are exact; replies round up.
#[test]
fn the_table_of_redis_cell_holds() {
    let served = Served::new();
    let mut client = served.client();
    let start = served.limiter.now();
    let mut now = Micros::ZERO;
    for (case, (millis, quantity, expected)) in [
        (0, 6, "1 5 5 -1 0"),
        (0, 1, "0 5 4 -1 1"),
        (0, 1, "0 5 3 -1 2"),
        (0, 1, "0 5 2 -1 3"),
        (0, 1, "0 5 1 -1 4"),
        (0, 1, "0 5 0 -1 5"),
        (0, 1, "1 5 0 1 5"),
        (3_000, 1, "0 5 2 -1 3"),
        (3_100, 1, "0 5 1 -1 4"),
        (4_000, 1, "0 5 1 -1 4"),
        (8_000, 1, "0 5 4 -1 1"),
        (9_500, 1, "0 5 4 -1 1"),
        (9_500, 0, "0 5 4 -1 1"),
        (9_500, 2, "0 5 2 -1 3"),
        (9_500, 5, "1 5 2 3 3"),
    ]
    .into_iter()
    .enumerate()
    {
        let at = Micros::from_millis(millis);
        served.clock.advance(at.saturating_sub(now).into());
        now = at;
        let said = client.said(&format!("CL.THROTTLE foo 4 1 1 {quantity}"));
        assert_eq!(
            said,
            expected,
            "case {case}, {} after the start",
            served.limiter.now().saturating_sub(start)
        );
    }
}

#[test]
fn errors_have_the_texts_of_redis_cell() {
    let served = Served::new();
    let mut client = served.client();
    let usage = "-Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]";
    assert_eq!(client.said("CL.THROTTLE"), usage);
    assert_eq!(client.said("CL.THROTTLE key 1 2"), usage);
    assert_eq!(client.said("CL.THROTTLE key 1 2 3 4 5"), usage);
    for bad in ["x", "1.5", "1e3", "0x10", "1_000", "nan", "inf", "١٠"] {
        let expected =
            format!("-Cell error: Store error: Couldn't parse as integer: {}", bad.as_bytes().escape_ascii());
        assert_eq!(client.said(&format!("CL.THROTTLE key {bad} 30 60")), expected);
        assert_eq!(client.said(&format!("CL.THROTTLE key 15 30 60 {bad}")), expected);
    }
    assert_eq!(
        client.said("CL.THROTTLE key 15 0 60"),
        "-Cell error: Store error: Zero rates are not supported"
    );
    assert_eq!(client.said("CL.THROTTLE key 15 30 60"), "0 16 15 -1 2", "no error has charged anything");
}

/// redis-cell charges a negative quantity backwards on a key that it knows.
#[test]
fn exception_1_a_negative_quantity_is_an_error_and_refunds_nothing() {
    let served = Served::new();
    let mut client = served.client();
    assert_eq!(client.said("CL.THROTTLE key 4 1 60 3"), "0 5 2 -1 180");
    for quantity in ["-2", "-1", "-9223372036854775808"] {
        let said = client.said(&format!("CL.THROTTLE key 4 1 60 {quantity}"));
        assert!(said.starts_with("-ERR quantity must be a whole number from 0 on"), "{said}");
    }
    assert_eq!(client.said("CL.THROTTLE key 4 1 60 0"), "0 5 2 -1 180");
}

/// redis-cell denies forever.
#[test]
fn exception_2_negative_numbers_are_errors() {
    let served = Served::new();
    let mut client = served.client();
    for (numbers, name) in [("-1 30 60", "max_burst"), ("15 -30 60", "count"), ("15 30 -60", "period")] {
        let said = client.said(&format!("CL.THROTTLE key {numbers}"));
        assert!(said.starts_with(&format!("-ERR {name} must be a whole number from 0 on")), "{said}");
    }
}

/// redis-cell overflows: it reports a limit of i64::MIN and denies forever.
#[test]
fn exception_3_numbers_that_are_too_large_are_errors_with_the_nearest_that_fits() {
    let served = Served::new();
    let mut client = served.client();
    for numbers in [
        "9223372036854775807 30 60",
        "18446744073709551615 30 60",
        "15 30 9223372036",
        "15 1000003 9223372036854775807",
        "18446744073709551616 30 60",
    ] {
        let said = client.said(&format!("CL.THROTTLE key {numbers}"));
        assert!(said.starts_with("-ERR "), "{numbers}: {said}");
    }
    let said = client.said("CL.THROTTLE key 9223372036854775806 30 60");
    assert!(said.contains("the nearest quota that fits is"), "{said}");
    // A quantity can be as large as it likes: it never fits.
    assert_eq!(client.said("CL.THROTTLE key 15 30 60 18446744073709551615"), "1 16 16 -1 0");
    let said = client.said("CL.THROTTLE key 15 30 60 18446744073709551616");
    assert!(said.starts_with("-ERR quantity must be"), "{said}");
}

/// redis-cell divides by zero: with `0 0` it stored a time in the past and crashed Redis.
#[test]
fn exception_4_a_period_of_zero_is_an_error() {
    let served = Served::new();
    let mut client = served.client();
    for numbers in ["15 30 0", "15 0 0", "0 0 0"] {
        let said = client.said(&format!("CL.THROTTLE key {numbers}"));
        assert_eq!(said, "-Cell error: Store error: Zero rates are not supported");
    }
}

/// redis-cell truncates the interval to nanoseconds: above 1e9 per second it is zero, and 7 per 3 s drifts.
#[test]
fn exception_5_rates_are_exact_however_fast_or_odd() {
    let served = Served::new();
    let mut client = served.client();
    assert_eq!(client.said("CL.THROTTLE fast 9 2000000000 1"), "0 10 9 -1 1");
    // 7 per 3 s: in 300 s exactly 700 more than the burst.
    let mut granted = 0;
    for _ in 0..=3_000 {
        while client.said("CL.THROTTLE odd 0 7 3").starts_with('0') {
            granted += 1;
        }
        served.clock.advance(Micros::from_millis(100).into());
    }
    // One at a time is never ahead: what is granted is what the rate allows at steps of 100 ms.
    assert!((600..=701).contains(&granted), "{granted}");
}

/// redis-cell ignores what is left below a millisecond, so that a client that waits as told comes too early.
#[test]
fn exception_6_seconds_are_rounded_up_from_any_remainder() {
    let served = Served::new();
    let mut client = served.client();
    assert_eq!(client.said("CL.THROTTLE key 0 1 1"), "0 1 0 -1 1");
    served.clock.advance(Micros::from_secs(1).saturating_sub(Micros::new(1)).into());
    assert_eq!(client.said("CL.THROTTLE key 0 1 1"), "1 1 0 1 1", "one microsecond is left");
    served.clock.advance(Micros::new(1).into());
    assert_eq!(client.said("CL.THROTTLE key 0 1 1"), "0 1 0 -1 1");
}

/// On redis-cell, raising the rate makes the next command wait (redis-cell#54).
#[test]
fn exception_7_a_key_keeps_its_usage_when_the_numbers_change_and_more_is_never_less() {
    let served = Served::new();
    let mut client = served.client();
    for remaining in (5..10).rev() {
        assert_eq!(
            client.said("CL.THROTTLE key 9 1 60"),
            format!("0 10 {remaining} -1 {}", (10 - remaining) * 60)
        );
    }
    // Ten times the rate, twice the burst: what was used stays used.
    assert_eq!(client.said("CL.THROTTLE key 19 10 60 0"), "0 20 15 -1 30");
    // And a lower limit shows none left, not fewer than none.
    assert_eq!(client.said("CL.THROTTLE key 2 1 60 0"), "0 3 0 -1 300");
    assert_eq!(client.said("CL.THROTTLE key 2 1 60"), "1 3 0 180 300");
}

/// redis-cell aborts Redis.
#[test]
fn exception_8_a_key_is_any_bytes() {
    let served = Served::new();
    let mut client = served.client();
    let long = vec![0xff; 65_536];
    for key in [&b"\xff\xfe"[..], b"\0", b"a\r\nFLUSHALL\r\n", b"{x}", b"", &long] {
        client.send(&packed(&[b"CL.THROTTLE", key, b"1", b"1", b"60"]));
        assert_eq!(shown(&client.reply()), "0 2 1 -1 60");
        client.send(&packed(&[b"CL.THROTTLE", key, b"1", b"1", b"60"]));
        assert_eq!(shown(&client.reply()), "0 2 0 -1 120");
    }
}

/// redis-cell takes `+1` and `01`.
#[test]
fn exception_9_there_is_one_way_to_write_a_number() {
    let served = Served::new();
    let mut client = served.client();
    for number in ["+1", "01", "-0", "00"] {
        let said = client.said(&format!("CL.THROTTLE key {number} 30 60"));
        assert!(said.starts_with("-ERR max_burst must be a whole number from 0 on, without sign"), "{said}");
    }
}
