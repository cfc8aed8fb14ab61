//! Whose budget is asked for next: every key once, or any of them until the time is up. It asks nothing itself.

use std::cell::Cell;
use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::stopwatch::now;

/// Which keys a load asks for. It is shared by all that is in flight.
pub(crate) struct Keys {
    count: u32,
    next: Cell<u64>,
    /// None if each is asked for once.
    until: Option<Instant>,
    which: Which,
}

/// Which of the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    All,
    /// Those with an even number.
    Even,
    /// Those with an odd number.
    Odd,
}

impl Keys {
    /// Each of so many keys, once.
    pub(crate) const fn each(count: u32) -> Self {
        Self { count, next: Cell::new(0), until: None, which: Which::All }
    }

    /// Any of so many keys, each as often as any other, for so long. Another seed gives another order.
    pub(crate) fn any(count: u32, seed: u64, time: Duration) -> Self {
        Self { count, next: Cell::new(seed), until: Some(now() + time), which: Which::All }
    }

    /// Only some of them.
    pub(crate) const fn only(self, which: Which) -> Self {
        Self { which, ..self }
    }

    /// The next; none if it is over.
    pub(crate) fn next(&self) -> Option<u32> {
        let state = self.next.get();
        let Some(until) = self.until else {
            self.next.set(state + 1);
            return u32::try_from(state).ok().filter(|key| *key < self.count);
        };
        if now() >= until {
            return None;
        }
        // SplitMix64: any generator will do.
        self.next.set(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let scaled = (u128::from(bits ^ (bits >> 31)) * u128::from(self.count)) >> 64;
        let key = u32::try_from(scaled).ok()?;
        Some(match self.which {
            Which::All => key,
            Which::Even => key & !1,
            Which::Odd => key | 1,
        })
    }
}

/// A key as an application has it: whose budget.
pub(crate) fn client(key: u32) -> String {
    named("user:", key)
}

/// A key as people call it in Redis.
pub(crate) fn usual(key: u32) -> String {
    named("ratelimit:user:", key)
}

fn named(prefix: &str, key: u32) -> String {
    let mut name = String::with_capacity(24);
    name.push_str(prefix);
    // Strings take all that is written.
    let _ = write!(name, "{key:06}");
    name
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Keys, Which, usual};

    #[test]
    fn each_key_comes_once_and_then_none() {
        let keys = Keys::each(3);
        assert_eq!([(); 5].map(|()| keys.next()), [Some(0), Some(1), Some(2), None, None]);
    }

    #[test]
    fn any_key_comes_about_as_often_as_any_other() {
        let keys = Keys::any(10, 7, Duration::from_secs(600));
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[usize::try_from(keys.next().unwrap()).unwrap()] += 1;
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
    }

    #[test]
    fn some_of_the_keys_are_those_and_no_others() {
        for (which, rest) in [(Which::Even, 0), (Which::Odd, 1)] {
            let keys = Keys::any(10, 7, Duration::from_secs(600)).only(which);
            let all: Vec<_> = (0..1_000).filter_map(|_| keys.next()).collect();
            assert!(all.len() == 1_000 && all.iter().all(|key| key % 2 == rest && *key < 10), "{which:?}");
        }
    }

    #[test]
    fn no_key_comes_when_the_time_is_up() {
        assert_eq!(Keys::any(10, 7, Duration::ZERO).next(), None);
    }

    #[test]
    fn a_key_is_called_as_people_do() {
        assert_eq!([usual(7), usual(999_999)], ["ratelimit:user:000007", "ratelimit:user:999999"]);
    }
}
