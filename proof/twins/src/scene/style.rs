//! What random scenes are after: anything, one algorithm, the ends of all ranges, long lists. Not what is asked in them.

use tollgate_proof::random::Random;
use tollgate_proof::spec::{Algorithm, Calendar, Spec};

/// What a scene is after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// Anything.
    Any,
    /// One algorithm, so that numbers change under states that count.
    Same(Algorithm),
    /// Numbers at the ends of their range, that change a lot.
    Wide(Algorithm),
    /// Lists that are longer than what a script reads at once.
    Long,
}

impl Style {
    pub(super) fn random(random: &mut Random) -> Self {
        match random.below(100) {
            0..=1 => Self::Long,
            2..=15 => Self::Wide(random.pick(&Algorithm::ALL)),
            // Only here do running totals go round, and only if much is charged in one life of a key.
            16..=19 => Self::Wide(Algorithm::SlidingWindowBuckets),
            20..=55 => Self::Same(random.pick(&Algorithm::ALL)),
            _ => Self::Any,
        }
    }

    /// Other numbers for a key: mostly near those that it has.
    pub(super) fn changed(self, spec: &Spec, random: &mut Random) -> Spec {
        let is_new = match self {
            Self::Wide(_) => true,
            Self::Any | Self::Same(_) => random.one_in(4),
            Self::Long => false,
        };
        if is_new {
            return self.spec(random);
        }
        // A limit under which a script reads all that there may be, while there is more from before.
        if self == Self::Long && random.one_in(2) {
            return Spec { limit: random.within(100, 146), ..*spec };
        }
        spec.changed(random)
    }

    pub(super) fn spec(self, random: &mut Random) -> Spec {
        match self {
            Self::Any => Spec::random(random.pick(&Algorithm::ALL), random),
            Self::Same(algorithm) => Spec::random(algorithm, random),
            Self::Wide(algorithm) => wide(algorithm, random),
            Self::Long => long(random),
        }
    }
}

/// Numbers at the ends of their range: debts of many units in short periods and of few in long ones, and lists and counts of
/// huge costs.
fn wide(algorithm: Algorithm, random: &mut Random) -> Spec {
    loop {
        // At a period of 2^40 and a count of 2^24 a debt is written in another form.
        let is_debt = matches!(algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra);
        let turns = is_debt && random.one_in(8);
        let turns_by_count = turns && random.one_in(2);
        let window = match (turns, turns_by_count) {
            // Odd, so that it has nothing in common with a power of two.
            (_, true) => 1 + 2 * random.magnitude(1 << 20),
            (true, false) => (1 << 40) - 1 + random.below(3),
            (false, false) => 1 + random.magnitude(1 << 50),
        };
        let most = (1 << 52) / window + 2;
        let spec = Spec {
            algorithm,
            limit: if random.one_in(2) { most - random.below(4).min(most) } else { random.magnitude(most) },
            count: match (turns, turns_by_count) {
                (_, true) => (1 << 24) - 1 + random.below(3),
                (true, false) => 1,
                (false, false) => 1 + random.magnitude(1 << 20),
            },
            window,
            buckets: u32::try_from(random.within(1, 4)).unwrap_or(1),
            calendar: Calendar::None,
        };
        let spec = if is_debt {
            spec
        } else {
            Spec { limit: (1 << 52) - 1 - random.below(9), window: random.within(4, 60), ..spec }
        };
        let spec = match algorithm {
            Algorithm::SlidingWindow => {
                Spec { limit: spec.limit % (1 << 32), window: 1 + random.magnitude(1 << 50), ..spec }
            }
            Algorithm::SlidingWindowLog => Spec { limit: spec.limit % (1 << 16), ..spec },
            Algorithm::TokenBucket
            | Algorithm::LeakyBucket
            | Algorithm::Gcra
            | Algorithm::FixedWindow
            | Algorithm::SlidingWindowBuckets => spec,
        }
        .reduced();
        if spec.fits() {
            return spec;
        }
    }
}

/// A limit whose list grows beyond what a script reads at once.
fn long(random: &mut Random) -> Spec {
    let is_log = random.one_in(2);
    let buckets = if is_log { 1 } else { random.pick(&[150, 160, 170]) };
    // Buckets of two ticks, so that much merges; and all of it short enough to expire in the time there is.
    let window = if is_log { random.within(230, 500) } else { u64::from(buckets) * 2 };
    Spec {
        algorithm: if is_log { Algorithm::SlidingWindowLog } else { Algorithm::SlidingWindowBuckets },
        limit: random.within(400, 3_000),
        count: 1,
        window,
        buckets,
        calendar: Calendar::None,
    }
}
