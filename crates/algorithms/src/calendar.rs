//! Days, months and years of the Gregorian calendar, as numbers; day 0 is 1 January 1970. It knows no clock and no zone.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "days of instants are bounded: the largest product here is 2^52 x 4800"
)]

/// Days from 1 March of the year 0 to 1 January 1970: years that begin in March end with the leap day.
const DAYS_FROM_MARCH_0_TO_1970: i64 = 719_468;
const DAYS_IN_400_YEARS: i64 = 146_097;

/// The first day of a month that is counted from January of the year 0.
pub(crate) fn first_day_of_month(month: i64) -> i64 {
    let from_march = month.saturating_sub(2);
    let year = from_march.div_euclid(12);
    // Months from March have 31, 30, 31, 30, 31 days, again and again: 153 in each five.
    let days_before_month = (153 * from_march.rem_euclid(12) + 2) / 5;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year.saturating_mul(365)
        .saturating_add(leap_days)
        .saturating_add(days_before_month)
        .saturating_sub(DAYS_FROM_MARCH_0_TO_1970)
}

/// The month, counted from January of the year 0, in which a day falls.
pub(crate) fn month_of_day(day: i64) -> i64 {
    // A month has 30.436875 days on average, so this is off by one at the most.
    let guess = day
        .saturating_add(DAYS_FROM_MARCH_0_TO_1970)
        .saturating_mul(4_800)
        .div_euclid(DAYS_IN_400_YEARS)
        .saturating_add(2);
    if first_day_of_month(guess) > day {
        guess.saturating_sub(1)
    } else if first_day_of_month(guess.saturating_add(1)) <= day {
        guess.saturating_add(1)
    } else {
        guess
    }
}
