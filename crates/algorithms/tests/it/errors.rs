//! Every sentence of every error, and every limit in words, with numbers in it, as people read it.

use tollgate_algorithms::{Limit, LimitError, Micros, Quota, UtcOffset, Window};

fn says(result: Result<impl std::fmt::Debug, LimitError>, sentence: &str) {
    assert_eq!(result.unwrap_err().to_string(), sentence);
}

#[test]
fn quotas() {
    says(
        Quota::new(5, 0, Micros::SECOND),
        "a rate of 0 never gives anything back: set the burst or limit to 0 to deny everything, or give a count of \
         at least 1",
    );
    says(Quota::new(5, 1, Micros::ZERO), "a period of 0 is no rate: give a period of at least 1 us");
    says(
        Quota::new(1_000_003, 1_000_003, Micros::DAY),
        "a burst of 1000003 at 1000003 per 86400 s cannot be counted exactly: burst x period, reduced and in \
         microseconds, plus count must stay below 2^52; the nearest quota that fits is 1000003 per day, burst \
         52124",
    );
    says(
        Quota::new(1, 1, Micros::from_secs(10_000_000_000)),
        "a burst of 1 at 1 per 10000000000 s cannot be counted exactly: burst x period, reduced and in microseconds, \
         plus count must stay below 2^52; the nearest quota that fits is 1 per 4503599627370494 us, burst 1",
    );
    says(
        Quota::new(u64::MAX, u64::MAX, Micros::SECOND),
        "a burst of 18446744073709551615 at 18446744073709551615 per 1 s cannot be counted exactly: burst x period, \
         reduced and in microseconds, plus count must stay below 2^52; the nearest quota that fits is \
         2250502776992565 per 122 us, burst 10631448300",
    );
}

#[test]
fn windows() {
    says(
        Limit::fixed_window(1, Window::Every(Micros::ZERO)),
        "a window of 0 s is out of range: the nearest that fits is 1 us",
    );
    says(
        Limit::sliding_window_log(1, Micros::from_secs(3_000_000_000)),
        "a window of 3000000000 s is out of range: the nearest that fits is 2251799813685247 us",
    );
    says(
        Limit::sliding_window_log(70_000, Micros::MINUTE),
        "a limit of 70000 is too large for sliding_window_log: the largest that fits is 65536",
    );
    says(
        Limit::sliding_window(5_000_000_000, Micros::MINUTE),
        "a limit of 5000000000 is too large for sliding_window: the largest that fits is 4294967295",
    );
    says(
        Limit::fixed_window(u64::MAX, Window::Month(UtcOffset::UTC)),
        "a limit of 18446744073709551615 is too large for fixed_window: the largest that fits is 4503599627370495",
    );
}

#[test]
fn buckets_and_offsets() {
    let buckets = |window, buckets| Limit::sliding_window_buckets(10, Micros::new(window), buckets);
    says(buckets(60, 0), "0 buckets are out of range for this window: the nearest that fits is 1");
    says(buckets(60, 61), "61 buckets are out of range for this window: the nearest that fits is 60");
    says(buckets(60, 5_000), "5000 buckets are out of range for this window: the nearest that fits is 60");
    says(
        buckets(6_000, 5_000),
        "5000 buckets are out of range for this window: the nearest that fits is 1024",
    );
    says(
        UtcOffset::from_minutes(1_200),
        "a UTC offset of 1200 minutes is out of range: the nearest that fits is 1080 minutes",
    );
    says(
        UtcOffset::from_minutes(-1_200),
        "a UTC offset of -1200 minutes is out of range: the nearest that fits is -1080 minutes",
    );
}

/// What an error proposes can be built, and one more cannot.
#[test]
fn the_nearest_fits_and_nothing_nearer_does() {
    let nearest = |burst, count, period| match Quota::new(burst, count, Micros::new(period)) {
        Err(LimitError::QuotaTooLarge { nearest, .. }) => nearest,
        other => panic!("{other:?}"),
    };
    for (count, period) in
        [(1, 315_576_000_000_000), (1_000_003, 86_400_000_000), (7, 3_000_000), (1 << 40, 3)]
    {
        let fits = nearest(u64::MAX, count, period);
        assert_eq!((fits.count(), fits.period()), (count, period), "the rate is kept");
        assert!(Quota::new(fits.burst(), count, Micros::new(period)).is_ok());
        assert!(Quota::new(fits.burst() + 1, count, Micros::new(period)).is_err());
    }
    // Where not even a burst of one fits, the nearest rate: as fast as can be, and no faster than asked.
    let asked =
        [(u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX - 1), (3, 1 << 60), (1 << 53, (1 << 53) + 1)];
    for (count, period) in asked {
        let fits = nearest(u64::MAX, count, period);
        assert_eq!(Quota::new(fits.burst(), fits.count(), Micros::new(fits.period())), Ok(fits));
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let faster = product(fits.count(), period) > product(count, fits.period());
        let slowest = fits.count() == 1 && fits.period() == (1 << 52) - 2;
        assert!(!faster || slowest, "{count} per {period}: {fits}");
    }
    assert_eq!(nearest(1, (1 << 52) + 1, 1).count(), (1 << 52) - 2);
    assert_eq!(nearest(1, 3, 1 << 53).period(), (1_u64 << 53).div_ceil(3));
}

#[test]
fn limits_in_words() {
    let offset = |minutes| UtcOffset::from_minutes(minutes).unwrap();
    let ten_seconds = Micros::from_secs(10);
    let limits = [
        (Ok(Limit::Unlimited), "unlimited"),
        (Limit::token_bucket(5, 30, Micros::MINUTE), "token_bucket: 30 per minute, burst 5"),
        (Limit::leaky_bucket(5, 7, Micros::from_secs(3)), "leaky_bucket: 140 per minute, burst 5"),
        (Limit::gcra(1, 2_000_000_000, Micros::SECOND), "gcra: 2000000000 per second, burst 1"),
        (Limit::fixed_window(9, Window::Every(Micros::from_millis(1_500))), "fixed_window: 9 per 1500 ms"),
        (Limit::fixed_window(9, Window::Day(offset(330))), "fixed_window: 9 per calendar day (+05:30)"),
        (Limit::fixed_window(9, Window::Week(offset(-60))), "fixed_window: 9 per calendar week (-01:00)"),
        (Limit::fixed_window(9, Window::Month(offset(0))), "fixed_window: 9 per calendar month (+00:00)"),
        (Limit::fixed_window(9, Window::Year(offset(90))), "fixed_window: 9 per calendar year (+01:30)"),
        (Limit::sliding_window(3_000, Micros::MINUTE), "sliding_window: 3000 per 60 s"),
        (Limit::sliding_window_buckets(8, ten_seconds, 6), "sliding_window_buckets: 8 per 10 s, 6 buckets"),
        (Limit::sliding_window_log(8, ten_seconds), "sliding_window_log: 8 per 10 s"),
    ];
    for (limit, words) in limits {
        let limit = limit.unwrap();
        assert_eq!(limit.to_string(), words);
        assert_eq!(words.parse(), Ok(limit), "{words}");
    }
}

#[test]
fn limits_are_read_in_every_form_that_people_write() {
    let day = Micros::DAY;
    let forms = [
        ("10 per second", Limit::token_bucket(10, 10, Micros::SECOND)),
        (" 10  per second ,  burst 20 ", Limit::token_bucket(20, 10, Micros::SECOND)),
        ("1 per 10 s, burst 5", Limit::token_bucket(5, 1, Micros::from_secs(10))),
        ("gcra: 100 per 5 minutes", Limit::gcra(100, 100, Micros::from_secs(300))),
        ("7 per 250ms, burst 1", Limit::token_bucket(1, 7, Micros::from_millis(250))),
        ("fixed_window: 1000 per 2 days", Limit::fixed_window(1_000, Micros::new(2 * day.get()))),
        ("fixed_window: 5 per calendar day", Limit::fixed_window(5, Window::Day(UtcOffset::UTC))),
        ("sliding_window_buckets: 8 per hour", Limit::sliding_window_buckets(8, Micros::HOUR, 10)),
    ];
    for (text, limit) in forms {
        assert_eq!(text.parse(), Ok(limit.unwrap()), "{text}");
    }
}

#[test]
fn what_is_not_a_limit_is_refused_with_its_place() {
    let refused = [
        ("", "expected a whole number at byte 0"),
        ("-1 per second", "expected a whole number at byte 0"),
        ("10", "expected `per` at byte 2"),
        ("1.5 per second", "expected `per` at byte 1"),
        ("10 perhaps", "expected `per` at byte 3"),
        ("10 per fortnight", "expected a unit of time (us, ms, s, minute, hour, day) at byte 7"),
        ("10 per second burst 3", "expected a comma at byte 14"),
        ("10 per second, bursts 3", "expected `burst` at byte 15"),
        ("10 per second, burst 3, 4", "expected the end at byte 22"),
        ("99999999999999999999 per second", "expected a smaller number at byte 0"),
        ("1 per 99999999999999 days", "expected a shorter period at byte 25"),
        ("bucket: 1 per second", "expected an algorithm before the colon at byte 0"),
        ("fixed_window: 1 per calendar hour", "expected `day`, `week`, `month` or `year` at byte 29"),
        ("fixed_window: 1 per calendar day (5)", "expected an offset such as (+05:30) at byte 33"),
        ("10 per second, burst \u{661}", "expected a whole number at byte 21"),
        ("\u{e9}: 1 per second", "expected an algorithm before the colon at byte 0"),
    ];
    for (text, message) in refused {
        let error = text.parse::<Limit>().unwrap_err();
        assert_eq!(error.to_string(), format!("{message}, as in `10 per second, burst 20`"), "{text}");
    }
    let zero = "0 per second".parse::<Limit>().unwrap_err();
    assert_eq!(zero, LimitError::CountZero.into());
}

/// Whatever can be built is read back as it was.
#[test]
fn a_limit_is_read_back_from_its_own_words() {
    let periods = [1, 7, 999, 1_000, 86_400, 1_500_000, 60_000_000, 86_400_000_000, (1 << 51) - 1];
    for count in [1, 2, 7, 10, 1_000_003, 1 << 40] {
        for period in periods.map(Micros::new) {
            let limits = [
                Limit::token_bucket(3, count, period),
                Limit::gcra(0, count, period),
                Limit::leaky_bucket(count, 1, period),
                Limit::fixed_window(count, period),
                Limit::sliding_window(count, period),
                Limit::sliding_window_log(count, period),
                Limit::sliding_window_buckets(count, period, 5),
            ];
            for limit in limits.into_iter().flatten() {
                assert_eq!(limit.to_string().parse(), Ok(limit), "{limit}");
            }
        }
    }
}
