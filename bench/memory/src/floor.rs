//! What no limiter can do without: the key read, a fast hash, a clock, one look into an open table, one exchange. Not a limiter:
//! it never grows, drops nothing, answers nothing but yes or no, and anybody can make its keys collide.

use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::Clock;

use crate::keys::Asked;
use crate::ours::ticking_clock;
use crate::subject::{Candidate, Limit, Subject};
use crate::workload::Workload;

const LINE_SLOTS: usize = 4;

#[derive(Default)]
#[repr(align(64))]
struct Line([(AtomicU64, AtomicU64); LINE_SLOTS]);

struct Bare {
    lines: Vec<Line>,
    hash: foldhash::fast::FixedState,
    clock: Clock,
    /// Microseconds, times 1,000, that a hit takes to drain, and that may be owed.
    hit: u64,
    most: u64,
}

impl Subject for Bare {
    fn decide(&self, key: Asked<'_>) -> bool {
        let mut hasher = self.hash.build_hasher();
        hasher.write(key.name.as_bytes());
        let hash = hasher.finish() | 1;
        let place = (u128::from(hash) * self.lines.len() as u128) >> 64;
        let now = self.clock.now().get() * 1_000;
        // A search goes round at the end. The table is half empty, so it ends soon.
        let mut place = usize::try_from(place).expect("less than the lines there are");
        loop {
            for (tag, zero) in &self.lines[place].0 {
                let found = tag.load(Ordering::Acquire);
                if found == hash {
                    let before = zero.load(Ordering::Acquire);
                    let after = before.max(now) + self.hit;
                    if after > now + self.most {
                        return false;
                    }
                    if zero.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                        return true;
                    }
                    return self.decide(key);
                }
                if found == 0 && tag.compare_exchange(0, hash, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    return self.decide(key);
                }
            }
            place = (place + 1) % self.lines.len();
        }
    }
}

/// The time stamp counter, read and made into microseconds, and nothing else.
struct ClockAlone {
    clock: Clock,
    granted: bool,
}

impl Subject for ClockAlone {
    fn decide(&self, _key: Asked<'_>) -> bool {
        std::hint::black_box(self.clock.now());
        self.granted
    }
}

fn bare(keys: u32, limit: Limit, clock: Clock) -> Box<dyn Subject> {
    let lines = (keys as usize * 2).div_ceil(LINE_SLOTS);
    let most = u64::from(limit.seconds()) * 1_000_000_000;
    Box::new(Bare {
        lines: (0..lines).map(|_| Line::default()).collect(),
        hash: foldhash::fast::FixedState::with_seed(7),
        clock,
        hit: most / u64::from(limit.burst()),
        most,
    })
}

/// The floors: with the same clocks as ours.
pub(crate) fn candidates() -> Vec<Candidate> {
    use Workload::{Granted, Refused, Scattered, Ticked, Uniform, Zipf};
    vec![
        Candidate {
            name: "the clock alone",
            note: "no limiter: the time stamp counter, read once",
            takes: &[Refused, Granted],
            keys_max: u32::MAX,
            prepare: |_, limit| {
                Ok(Box::new(ClockAlone { clock: Clock::fastest(), granted: limit != Limit::Refusing }))
            },
        },
        Candidate {
            name: "a bare table",
            note: "no limiter: what is left if everything else is left out; fast hash, time stamp counter",
            takes: &[Refused, Granted, Uniform, Zipf, Scattered],
            keys_max: u32::MAX,
            prepare: |keys, limit| Ok(bare(keys, limit, Clock::fastest())),
        },
        Candidate {
            name: "a bare table, ticked clock",
            note: "the same with a clock that ticks every 0.5 ms",
            takes: &[Scattered, Ticked],
            keys_max: u32::MAX,
            prepare: |keys, limit| Ok(bare(keys, limit, ticking_clock())),
        },
    ]
}
