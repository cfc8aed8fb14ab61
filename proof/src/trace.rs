//! Random acts at random instants, with a liking for the places where limiters break.

use crate::engine::{Act, Answer, Wait};
use crate::random::Random;
use crate::spec::Spec;

/// Instants stay below this: the laws hold up to `Micros::INSTANT_MAX`, and some of them look a few windows ahead.
const INSTANT_MAX: u64 = 1 << 51;

/// A clock that stands, ticks, leaps to boundaries, and at times runs back.
#[derive(Clone, Debug)]
pub struct Clock {
    now: u64,
    /// Whether this clock may run back.
    jumps: bool,
}

impl Clock {
    /// A clock that may run back in one of three traces.
    pub fn start(spec: &Spec, random: &mut Random) -> Self {
        let jumps = random.one_in(3);
        Self { jumps, ..Self::monotone(spec, random) }
    }

    /// A clock that never runs back.
    pub fn monotone(spec: &Spec, random: &mut Random) -> Self {
        let now = match random.below(4) {
            0 => random.below(4),
            1 => spec.window.saturating_mul(random.within(1, 3)).min(INSTANT_MAX),
            2 => 1_763_222_400_123_456,
            _ => random.magnitude(INSTANT_MAX),
        };
        Self { now, jumps: false }
    }

    /// The instant it shows.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Moves on, or not, or back.
    pub fn step(&mut self, spec: &Spec, last: Option<&Answer>, random: &mut Random) -> u64 {
        let horizon = spec.horizon();
        let length = match random.below(12) {
            0..=3 => 0,
            4 => random.within(1, 3),
            5 => random.below(spec.window.saturating_add(2)),
            6 => random.below(horizon.saturating_add(2)),
            7 => last.map_or(1, |last| match last.retry {
                Wait::After(wait) => around(wait, random),
                Wait::None | Wait::Never => random.below(3),
            }),
            8 => last.map_or(1, |last| around(last.reset, random)),
            // To the next boundary of an aligned window.
            9 => around(spec.window - self.now % spec.window, random),
            10 => around(horizon, random),
            _ => random.magnitude(horizon.saturating_mul(3)),
        };
        let back = self.jumps && random.one_in(6);
        self.now = if back {
            let near = random.pick(&[length, horizon, horizon.saturating_add(1), horizon.saturating_sub(1)]);
            self.now.saturating_sub(near)
        } else {
            self.now.saturating_add(length).min(INSTANT_MAX)
        };
        self.now
    }
}

/// A microsecond before something, just then, or one after it.
fn around(length: u64, random: &mut Random) -> u64 {
    length.saturating_add(random.below(3)).saturating_sub(1)
}

/// A cost with a liking for what just fits and what just does not.
pub fn cost(spec: &Spec, last: Option<&Answer>, random: &mut Random) -> u64 {
    let remaining = last.map_or(spec.limit, |last| last.remaining);
    match random.below(12) {
        0..=5 => 1,
        6 => remaining,
        7 => remaining.saturating_add(1),
        8 => random.magnitude(spec.limit),
        9 => spec.limit,
        10 => random.pick(&[0, 2, 3]),
        _ => random.pick(&[0, spec.limit.saturating_add(1), u64::MAX, 1 << 53]),
    }
}

/// Something to do, other than a refund.
pub fn act(spec: &Spec, last: Option<&Answer>, random: &mut Random) -> Act {
    let cost = cost(spec, last, random);
    match random.below(16) {
        0 => Act::Peek(cost),
        1 => Act::UpTo(cost),
        2 => Act::Settle(cost),
        _ => Act::Charge(cost),
    }
}
