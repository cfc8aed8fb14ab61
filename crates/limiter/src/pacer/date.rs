//! Dates as in HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since 1970; `None` if it is not a date of this form, from 1970 on.
pub(super) fn seconds_of(text: &str) -> Option<u64> {
    let (_, date) = text.split_once(", ")?;
    let parts: Vec<_> = date.split([' ', ':']).collect();
    let [day, month, year, hour, minute, second, "GMT"] = parts[..] else { return None };
    let number = |text: &str, digits: usize| -> Option<u64> {
        let good = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| good)
    };
    let month = MONTHS.iter().position(|name| *name == month)? as u64;
    let (day, year) = (number(day, 2)?, number(year, 4)?);
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    let good = (1..=31).contains(&day) && year >= 1970 && hour < 24 && minute < 60 && second <= 60;
    if !good {
        return None;
    }
    // Years begin in March, so that the leap day is the last.
    let (year, month) = if month < 2 {
        (year.checked_sub(1)?, month.checked_add(10)?)
    } else {
        (year, month.checked_sub(2)?)
    };
    let leaps = (year / 4).checked_sub(year / 100)?.checked_add(year / 400)?;
    let in_year = (month.checked_mul(153)?.checked_add(2)? / 5).checked_add(day)?.checked_sub(1)?;
    let days = year.checked_mul(365)?.checked_add(leaps)?.checked_add(in_year)?.checked_sub(719_468)?;
    let minutes = days.checked_mul(24)?.checked_add(hour)?.checked_mul(60)?.checked_add(minute)?;
    minutes.checked_mul(60)?.checked_add(second)
}

#[cfg(test)]
mod tests {
    use super::seconds_of;

    #[test]
    fn dates_of_http() {
        assert_eq!(seconds_of("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds_of("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(seconds_of("Tue, 29 Feb 2000 12:00:00 GMT"), Some(951_825_600));
        assert_eq!(seconds_of("Thu, 19 Nov 2026 22:00:00 GMT"), Some(1_795_125_600));
        for wrong in [
            "",
            "Sun, 06 Nov 1994 08:49:37",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(seconds_of(wrong), None, "{wrong}");
        }
    }
}
