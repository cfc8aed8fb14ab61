//! The four methods: how the latency of one window changes a limit. Pure functions of integers.

use crate::Micros;

/// One request, in the unit of limits.
pub(super) const ONE: u64 = 1_024;

/// How the limit follows the latency.
///
/// `s` is a window's mean latency and `B` the baseline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// Shrinks by half of what latency above 1.125 × `B` suggests; otherwise grows by a quarter of the limit's square root.
    /// The default: nothing to configure, and the best or within a point of the best in every simulated scenario.
    Gradient2,
    /// Estimates the requests that queue at the server, `L − L·B/s`, and keeps them between two bounds.
    Vegas,
    /// Envoy's gradient, `L·g + √(L·g)` with `g = 1.25·B/s`, with the baseline probed at half of the limit.
    Gradient,
    /// Additive increase, multiplicative decrease: shrinks by a tenth when latency is above the target or 2 % of the
    /// requests were dropped. For servers that refuse honestly and whose acceptable latency is known.
    Aimd {
        /// The mean latency above which the limit shrinks.
        target: Micros,
    },
}

/// What one window showed, and the state it applies to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measurement {
    /// The limit, in units of 1/1024.
    pub(super) limit: u64,
    /// The window's mean latency, at least 1.
    pub(super) latency: u64,
    /// The baseline, at least 1.
    pub(super) baseline: u64,
    /// Whether at least 2 % of the requests that ended were dropped.
    pub(super) dropped: bool,
    /// Whether the limit was the limiting factor.
    pub(super) limited: bool,
}

/// What a window does to the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Overload: the limit falls to this.
    Shrink(u64),
    /// The server has room and the limit was reached: it rises to this.
    Grow(u64),
    /// Neither.
    Keep,
}

impl Method {
    /// The step after one window. Growth is suggested only if the limit was the limiting factor.
    pub(super) fn step(self, window: Measurement) -> Step {
        let step = match self {
            Self::Gradient2 => gradient2(window),
            Self::Vegas => vegas(window),
            Self::Gradient => gradient(window),
            Self::Aimd { target } => aimd(window, target.get()),
        };
        match step {
            Step::Grow(_) if !window.limited => Step::Keep,
            Step::Shrink(_) | Step::Grow(_) | Step::Keep => step,
        }
    }

    /// The part of the limit that a probe takes away: one in so many. None if the method needs no baseline.
    pub(super) const fn probe_divisor(self) -> Option<u64> {
        match self {
            // τ = 1.125 and f = 3/4: τ·f = 27/32, below 7/8.
            Self::Gradient2 => Some(4),
            // τ = 1.25 at most and f = 1/2.
            Self::Vegas | Self::Gradient => Some(2),
            Self::Aimd { .. } => None,
        }
    }
}

fn gradient2(Measurement { limit, latency, baseline, .. }: Measurement) -> Step {
    let gradient = ratio(baseline.saturating_mul(1_152), latency).clamp(512, 1_024);
    if gradient < 1_024 {
        let suggested = limit.saturating_mul(gradient) / ONE;
        return Step::Shrink(limit.saturating_sub(limit.saturating_sub(suggested) / 2));
    }
    Step::Grow(limit.saturating_add((root(limit) / 4).max(ONE / 2)))
}

fn vegas(Measurement { limit, latency, baseline, .. }: Measurement) -> Step {
    let queue = limit.saturating_sub(ratio(limit.saturating_mul(baseline), latency));
    let log = u64::from((limit / ONE).max(1).ilog2());
    let bound = log.saturating_mul(2 * ONE).min(limit / 5).max(ONE / 4);
    if queue > bound {
        let excess = queue.saturating_sub(bound) / 2;
        return Step::Shrink(limit.saturating_sub(excess.saturating_add(bound / 8)));
    }
    if queue <= bound / 4 {
        return Step::Grow(limit.saturating_add(bound / 2));
    }
    if queue < bound / 2 {
        return Step::Grow(limit.saturating_add((bound / 8).max(ONE / 4)));
    }
    Step::Keep
}

fn gradient(Measurement { limit, latency, baseline, .. }: Measurement) -> Step {
    let gradient = ratio(baseline.saturating_mul(1_280), latency).clamp(512, 2_048);
    let scaled = limit.saturating_mul(gradient) / ONE;
    let suggested = scaled.saturating_add(root(scaled)).min(limit.saturating_mul(2));
    if suggested < limit { Step::Shrink(suggested) } else { Step::Grow(suggested) }
}

fn aimd(Measurement { limit, latency, dropped, .. }: Measurement, target: u64) -> Step {
    if dropped || latency > target {
        return Step::Shrink(limit.saturating_mul(9) / 10);
    }
    Step::Grow(limit.saturating_add((limit / 64).max(ONE)))
}

/// The square root of a limit, in the unit of limits.
fn root(limit: u64) -> u64 {
    limit.saturating_mul(ONE).isqrt()
}

/// A quotient whose divisor is a latency, which is at least 1.
fn ratio(dividend: u64, latency: u64) -> u64 {
    dividend.checked_div(latency).unwrap_or(dividend)
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers")]
mod tests {
    use super::{Measurement, Method, ONE, Step};
    use crate::Micros;

    const METHODS: [Method; 4] = [
        Method::Gradient2,
        Method::Vegas,
        Method::Gradient,
        Method::Aimd { target: Micros::from_millis(40) },
    ];

    fn window(limit: u64, latency: u64) -> Measurement {
        let limit = limit * ONE;
        Measurement { limit, latency, baseline: 20_000, dropped: false, limited: true }
    }

    #[test]
    fn at_the_baseline_the_limit_grows_by_the_formula() {
        let grown = METHODS.map(|method| method.step(window(64, 20_000)));
        // √64/4; half of β = min(2·6, 64/5); 64·1.25 + √80; one request.
        assert_eq!(grown[0], Step::Grow(66 * ONE));
        assert_eq!(grown[1], Step::Grow(64 * ONE + 6 * ONE));
        assert!(matches!(grown[2], Step::Grow(limit) if limit / ONE == 88));
        assert_eq!(grown[3], Step::Grow(65 * ONE));
    }

    #[test]
    fn at_three_times_the_baseline_the_limit_shrinks_by_the_formula() {
        let shrunk = METHODS.map(|method| method.step(window(64, 60_000)));
        // Half of the way to half; (42.7 − 12)/2 + 12/8; 64/2 + √32 at the clamp; nine tenths.
        assert_eq!(shrunk[0], Step::Shrink(48 * ONE));
        assert!(matches!(shrunk[1], Step::Shrink(limit) if limit / ONE == 47));
        assert!(matches!(shrunk[2], Step::Shrink(limit) if limit / ONE == 37));
        assert_eq!(shrunk[3], Step::Shrink(64 * ONE * 9 / 10));
    }

    #[test]
    fn nothing_grows_unless_the_limit_was_the_limiting_factor() {
        for method in METHODS {
            assert_eq!(method.step(Measurement { limited: false, ..window(64, 20_000) }), Step::Keep);
        }
    }

    #[test]
    fn drops_shrink_aimd_at_any_latency() {
        let dropped = Measurement { dropped: true, ..window(10, 1) };
        assert_eq!(METHODS[3].step(dropped), Step::Shrink(9 * ONE));
    }

    #[test]
    fn a_probe_lowers_the_limit_by_more_than_the_tolerance() {
        // τ·f must be at most 7/8, or an overloaded baseline would look normal. Vegas tolerates L/5 in the queue: τ = 5/4.
        for (method, tolerance_eighths) in
            [(Method::Gradient2, 9), (Method::Vegas, 10), (Method::Gradient, 10)]
        {
            let divisor = method.probe_divisor().unwrap();
            assert!(tolerance_eighths * (divisor - 1) <= 7 * divisor, "{method:?}");
        }
    }
}
