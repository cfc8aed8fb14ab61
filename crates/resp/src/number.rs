//! Decimal numbers in one strict form: `0|-?[1-9][0-9]*`. No sign `+`, no leading zeros, no spaces, no other digits.

/// Parses `0|[1-9][0-9]*`, below 2^64.
#[must_use]
pub fn decimal(text: &[u8]) -> Option<u64> {
    let (first, rest) = text.split_first()?;
    if *first == b'0' {
        return rest.is_empty().then_some(0);
    }
    text.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The same with a sign: `0|-?[1-9][0-9]*`, in the range of `i64`.
#[must_use]
pub fn decimal_i64(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        None => i64::try_from(decimal(text)?).ok(),
        Some(digits) => {
            let number = decimal(digits).filter(|number| *number > 0)?;
            0_i64.checked_sub_unsigned(number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{decimal, decimal_i64};

    #[test]
    fn there_is_one_way_to_write_a_number() {
        for (text, number) in [
            ("0", 0),
            ("7", 7),
            ("10", 10),
            ("18446744073709551615", u64::MAX),
            ("9007199254740993", (1 << 53) + 1),
        ] {
            assert_eq!(decimal(text.as_bytes()), Some(number), "{text}");
        }
        for text in [
            "",
            "+1",
            "-1",
            "-0",
            "00",
            "01",
            " 1",
            "1 ",
            "1e3",
            "0x10",
            "1_000",
            "1.0",
            "nan",
            "inf",
            "١",
            "18446744073709551616",
            "9".repeat(100).as_str(),
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn signed_numbers_have_one_zero() {
        for (text, number) in
            [("0", 0), ("-1", -1), ("-9223372036854775808", i64::MIN), ("9223372036854775807", i64::MAX)]
        {
            assert_eq!(decimal_i64(text.as_bytes()), Some(number), "{text}");
        }
        for text in ["-0", "--1", "+1", "-", "", "9223372036854775808", "-9223372036854775809"] {
            assert_eq!(decimal_i64(text.as_bytes()), None, "{text}");
        }
    }
}
