//! A fraction of a limit, for a process that counts alone. Rounded down, so that all fractions together never exceed the limit.

use tollgate_algorithms::{Limit, Micros, Quota};

/// The share of a limit; what is less than one is none.
pub(crate) fn share(limit: &Limit, share: u32, of: u32) -> Limit {
    // More than all of it is all of it.
    let share = share.min(of);
    let part = |whole: u64| {
        let part = u128::from(whole) * u128::from(share) / u128::from(of.max(1));
        u64::try_from(part).unwrap_or(whole).min(whole)
    };
    let bucket = |quota: &Quota| {
        let burst = part(quota.burst());
        // The rate exactly, by a longer period, or else rounded down.
        let period = quota.period().checked_mul(u64::from(of)).map(Micros::new);
        let exactly = quota.count().checked_mul(u64::from(share)).zip(period);
        let exactly = exactly.and_then(|(count, period)| Quota::new(burst, count, period).ok());
        exactly.or_else(|| Quota::new(burst, part(quota.count()), Micros::new(quota.period())).ok())
    };
    // Smaller numbers than those of a limit that is there are in range; if they are not, nothing is granted.
    let none = Limit::fixed_window(0, tollgate_algorithms::Window::Every(Micros::SECOND)).unwrap_or(*limit);
    let shared = match limit {
        Limit::Unlimited => Some(Limit::Unlimited),
        Limit::TokenBucket(quota) => bucket(quota).map(Limit::TokenBucket),
        Limit::LeakyBucket(quota) => bucket(quota).map(Limit::LeakyBucket),
        Limit::Gcra(quota) => bucket(quota).map(Limit::Gcra),
        Limit::FixedWindow(rule) => Limit::fixed_window(part(rule.limit()), rule.window()).ok(),
        Limit::SlidingWindow(rule) => Limit::sliding_window(part(rule.limit()), rule.window()).ok(),
        Limit::SlidingWindowBuckets(rule) => {
            Limit::sliding_window_buckets(part(rule.limit()), rule.window(), rule.buckets()).ok()
        }
        Limit::SlidingWindowLog(rule) => Limit::sliding_window_log(part(rule.limit()), rule.window()).ok(),
    };
    shared.unwrap_or(none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_algorithms::Window;

    #[test]
    fn shares_add_up_to_no_more_than_the_limit() {
        let limits = [
            Limit::token_bucket(10, 3, Micros::SECOND).unwrap(),
            Limit::leaky_bucket(1, 1, Micros::DAY).unwrap(),
            Limit::gcra(7, 7, Micros::from_secs(3)).unwrap(),
            Limit::fixed_window(100, Window::Every(Micros::MINUTE)).unwrap(),
            Limit::sliding_window(99, Micros::MINUTE).unwrap(),
            Limit::sliding_window_buckets(5, Micros::MINUTE, 6).unwrap(),
            Limit::sliding_window_log(3, Micros::MINUTE).unwrap(),
        ];
        for limit in limits {
            assert_eq!(share(&limit, 1, 1).capacity(), limit.capacity(), "{limit}");
            for of in [2, 3, 4, 7, 1_000] {
                let one = share(&limit, 1, of);
                assert!(one.capacity() * u64::from(of) <= limit.capacity(), "{limit}, a {of}th: {one}");
                if let (Limit::TokenBucket(whole), Limit::TokenBucket(part)) = (&limit, &one) {
                    let (all, parts) = (whole.count() * part.period(), part.count() * whole.period());
                    assert!(u64::from(of) * parts <= all, "{limit}, a {of}th: {one}");
                }
            }
        }
    }

    #[test]
    fn a_share_of_less_than_one_grants_nothing() {
        let limit = Limit::token_bucket(1, 1, Micros::SECOND).unwrap();
        assert_eq!(share(&limit, 1, 2).capacity(), 0);
        assert_eq!(share(&Limit::Unlimited, 1, 2), Limit::Unlimited);
    }
}
