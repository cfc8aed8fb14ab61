//! Callers that charge real limits through a store, and whether all that they were granted is within the laws. No faults.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tollgate_algorithms::{Limit, Micros, Mode, Window};
use tollgate_redis::{Command, Hit, LinkError, Name, Naming, Reply, Store, StoreError};

use crate::load::Load;

/// One budget, and what it may grant.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    pub(crate) limit: Limit,
    pub(crate) name: Name,
    law: Law,
}

/// What may be granted in an interval: the bounds of the laws, in numbers of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    /// The burst, and what drains: a bucket, GCRA.
    Drains { burst: u64, count: u64, period: Micros },
    /// So much in each window of the clock.
    Aligned { limit: u64, window: Micros },
    /// So much, and as much more as the interval has of windows: two counts.
    Weighted { limit: u64, window: Micros },
    /// So much in any window.
    Any { limit: u64, window: Micros },
}

impl Law {
    /// The most that may be granted from one instant to another, both included.
    fn most(self, from: u64, to: u64) -> u64 {
        let span = to - from;
        match self {
            Self::Drains { burst, count, period } => burst + count * span / period.get(),
            Self::Aligned { limit, window } => limit * (to / window.get() - from / window.get() + 1),
            Self::Weighted { limit, window } => limit * (window.get() + span) / window.get(),
            Self::Any { limit, window } => limit * (span / window.get() + 1),
        }
    }

    fn limit(self) -> Limit {
        let limit = match self {
            Self::Drains { burst, count, period } => Limit::token_bucket(burst, count, period),
            Self::Aligned { limit, window } => Limit::fixed_window(limit, Window::Every(window)),
            Self::Weighted { limit, window } => Limit::sliding_window(limit, window),
            Self::Any { limit, window } => Limit::sliding_window_log(limit, window),
        };
        limit.expect("a limit")
    }
}

/// A budget under a law, with the limit that keeps it, or with another that has to keep it too.
pub(crate) fn budget(name: &str, law: Law, limit: Option<Limit>) -> Budget {
    let name = Naming::new([4; 16]).name(name, b"ada");
    Budget { limit: limit.unwrap_or_else(|| law.limit()), name, law }
}

/// Something that was granted: by which budget, and when by the server's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    /// The place among all budgets.
    pub(crate) budget: usize,
    pub(crate) at: u64,
}

/// Callers that charge groups of budgets in turn, each group at once.
pub(crate) struct Charges {
    pub(crate) load: Load,
    pub(crate) grants: Arc<Mutex<Vec<Grant>>>,
}

impl Charges {
    pub(crate) fn start(store: &Store, callers: usize, groups: Vec<Vec<Budget>>) -> Self {
        let grants: Arc<Mutex<Vec<Grant>>> = Arc::default();
        let (store, groups, turn) = (store.clone(), Arc::new(groups), Arc::new(AtomicUsize::new(0)));
        let heard = Arc::clone(&grants);
        let load = Load::with(callers, true, move || {
            let group = turn.fetch_add(1, Ordering::Relaxed) % groups.len();
            charge(store.clone(), Arc::clone(&groups), group, Arc::clone(&heard))
        });
        Self { load, grants }
    }

    /// All that was granted.
    pub(crate) fn grants(&self) -> Vec<Grant> {
        self.grants.lock().unwrap().clone()
    }
}

/// One charge of a whole group. An answer that is none of ours fails the test; no answer is counted.
async fn charge(
    store: Store,
    groups: Arc<Vec<Vec<Budget>>>,
    group: usize,
    grants: Arc<Mutex<Vec<Grant>>>,
) -> Result<i64, LinkError> {
    let first: usize = groups[..group].iter().map(Vec::len).sum();
    let hit = |budget: &'_ Budget| (budget.limit, budget.name);
    let owned: Vec<_> = groups[group].iter().map(hit).collect();
    let hits: Vec<_> =
        owned.iter().map(|(limit, name)| Hit { limit, name, cost: 1, mode: Mode::Enforced }).collect();
    match store.ask(&Command::Charge(&hits)).await {
        Ok(Reply::Decided { granted: true, decisions }) => {
            let place = |(at, decision): (usize, &tollgate_algorithms::Decision)| Grant {
                budget: first + at,
                at: decision.at.get(),
            };
            grants.lock().unwrap().extend(decisions.iter().enumerate().map(place));
            Ok(1)
        }
        Ok(Reply::Decided { granted: false, .. }) => Ok(0),
        Ok(Reply::Reset { .. }) => panic!("nobody reset anything"),
        Err(StoreError::Link(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

/// How many grants of one budget are beyond what its law allows in the worst interval.
pub(crate) fn beyond(budget: &Budget, mut granted: Vec<u64>) -> u64 {
    granted.sort_unstable();
    let mut worst = 0;
    for (from, first) in granted.iter().enumerate() {
        for (to, last) in granted.iter().enumerate().skip(from) {
            let count = (to - from + 1) as u64;
            worst = worst.max(count.saturating_sub(budget.law.most(*first, *last)));
        }
    }
    worst
}

#[test]
fn one_grant_more_than_a_law_allows_is_seen() {
    let window = Micros::new(10);
    let laws = [
        (Law::Drains { burst: 2, count: 1, period: window }, vec![0, 0, 10, 20], 15),
        (Law::Aligned { limit: 2, window }, vec![0, 9, 10, 19], 15),
        (Law::Weighted { limit: 2, window }, vec![0, 0, 5, 10], 8),
        (Law::Any { limit: 2, window }, vec![0, 9, 10, 19], 5),
    ];
    for (law, fits, more) in laws {
        let budget = budget("law", law, None);
        assert_eq!(beyond(&budget, fits.clone()), 0, "{law:?}");
        assert_eq!(beyond(&budget, [fits, vec![more]].concat()), 1, "{law:?}");
    }
}
