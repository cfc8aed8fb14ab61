//! A bounded cache of limits by their numbers, for rules that compute the numbers per request.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use tollgate::NamedLimit;
use tollgate_algorithms::Limit;

/// Maximum number of limits in a cache. When it is full it starts again; then each set of numbers is registered once more, which
/// takes about a microsecond and loses no state.
const LIMITS_MAX: usize = 4_096;

/// The limits that a rule has registered with the limiter, by their numbers.
#[derive(Default)]
pub(crate) struct LimitCache(RwLock<HashMap<Limit, NamedLimit>>);

impl LimitCache {
    /// The limit with these numbers, which `register` makes if it is not cached.
    pub(crate) fn get_or_insert(&self, numbers: Limit, register: impl FnOnce() -> NamedLimit) -> NamedLimit {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&numbers).cloned();
        known.unwrap_or_else(|| {
            let mut limits = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if limits.len() >= LIMITS_MAX {
                limits.clear();
            }
            limits.entry(numbers).or_insert_with(register).clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::Limiter;

    #[test]
    fn a_full_cache_starts_again() {
        let limiter = Limiter::new().expect("there is memory");
        let cache = LimitCache::default();
        let mut registered = 0_usize;
        for number in 0..=LIMITS_MAX {
            for _ in 0..2 {
                let count = u64::try_from(number).expect("few") + 1;
                let numbers = Limit::per_second(count).burst(1).expect("it fits");
                let limit = cache.get_or_insert(numbers, || {
                    registered += 1;
                    limiter.local_limit("a", numbers)
                });
                assert_eq!(limit.limit(), numbers);
            }
        }
        assert_eq!(registered, LIMITS_MAX + 1, "each is registered once");
        assert_eq!(cache.0.read().expect("nobody panicked").len(), 1);
    }
}
