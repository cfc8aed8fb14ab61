//! Who is measured: a limiter, how it is made, and under which limits. Not how it is
//! measured.

use std::hint::black_box;

use crate::histogram::Histogram;
use crate::keys::Asked;
use crate::timed::now;
use crate::workload::Workload;

/// A limiter, ready to decide.
///
/// The loops over decisions are methods here, so that each is compiled for its limiter: a call through a
/// table happens once for a thousand decisions, and not for each.
pub(crate) trait Subject: Sync {
    /// One decision of cost one on this key. Whether it was granted.
    fn decide(&self, key: Asked<'_>) -> bool;

    /// Decides on these keys, one after another, and says how many were granted. Who decides in batches has
    /// its own.
    fn decide_all(&self, keys: &[Asked<'_>]) -> u64 {
        keys.iter().map(|&key| u64::from(black_box(self.decide(black_box(key))))).sum()
    }

    /// The same with a stopwatch to each decision. It allocates nothing.
    fn time_all(&self, keys: &[Asked<'_>], times: &mut Histogram) -> u64 {
        let mut granted = 0;
        for &key in keys {
            let began = now();
            let decided = black_box(self.decide(black_box(key)));
            times.record(began.elapsed());
            granted += u64::from(decided);
        }
        granted
    }
}

/// What makes a subject for so many keys and a limit. No key has been decided on yet.
pub(crate) type Prepare = fn(u32, Limit) -> Result<Box<dyn Subject>, String>;

/// A limiter that can be measured, by name.
pub(crate) struct Candidate {
    /// As it stands in the tables.
    pub(crate) name: &'static str,
    /// What a reader of its figures should know.
    pub(crate) note: &'static str,
    /// What it takes part in.
    pub(crate) takes: &'static [Workload],
    /// It is not measured with more keys than this.
    pub(crate) keys_max: u32,
    pub(crate) prepare: Prepare,
}

/// What the limiters are set to, all alike: a burst, and the seconds in which the whole of it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So little that nearly everything is refused. Not one in a second: throttlecrab forgets a key at once
    /// whose burst is one, and grants everything.
    Refusing,
    /// So much that everything is granted: one in a nanosecond.
    Granting,
    /// A thousand in a second: a hit takes a millisecond to drain.
    Draining,
    /// A key once used stays in use: it takes 100 seconds to forget one decision.
    Lasting,
}

impl Limit {
    /// How much is granted at once.
    pub(crate) const fn burst(self) -> u32 {
        match self {
            Self::Refusing => 2,
            Self::Granting => 1_000_000_000,
            Self::Draining => 1_000,
            Self::Lasting => 1_000_000,
        }
    }

    /// The seconds in which the whole burst comes back.
    pub(crate) const fn seconds(self) -> u32 {
        match self {
            Self::Refusing => 2,
            Self::Granting | Self::Draining => 1,
            Self::Lasting => 100_000_000,
        }
    }
}
