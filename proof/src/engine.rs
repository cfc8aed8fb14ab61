//! What is put to the proof, seen through plain numbers: the real core, or a copy of it with one operator changed.

use std::fmt::Debug;

use crate::spec::Spec;

/// The answer to one act, in plain numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Whether it was granted.
    pub granted: bool,
    /// What was charged.
    pub charged: u64,
    /// The capacity.
    pub limit: u64,
    /// How much more is granted now.
    pub remaining: u64,
    /// When a refused act is granted.
    pub retry: Wait,
    /// When the key is as good as never seen.
    pub reset: u64,
    /// The instant at which it was decided.
    pub at: u64,
}

/// When a refused act is granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// It was not refused.
    None,
    /// After so many microseconds.
    After(u64),
    /// Never.
    Never,
}

/// What is done to a key. All but `Peek` apply the change they get.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Charge this cost.
    Charge(u64),
    /// Ask about this cost, and apply nothing.
    Peek(u64),
    /// Charge as much as possible up to this.
    UpTo(u64),
    /// Charge this cost after the fact.
    Settle(u64),
    /// Give back the charge made at this instant, of this cost, under these numbers.
    Refund(u64, u64, Spec),
}

/// One hit of a batch: which key, what cost, enforced or shadow.
pub type BatchHit = (usize, u64, bool);

/// An implementation of the algorithms.
pub trait Engine: 'static {
    /// Whether it is a store: then its clock never runs back, and a key that is met under other numbers drains by those from
    /// that instant on. (The core is given any instant, and knows only when a key was last charged.)
    const IS_A_STORE: bool = false;

    /// A limit that was built.
    type Limit: Copy + Debug;
    /// Where a key stands.
    type State: Clone + PartialEq + Debug;

    /// Builds a limit; `None` if its numbers are refused.
    fn limit(spec: &Spec) -> Option<Self::Limit>;

    /// Does something to a key.
    fn act(limit: &Self::Limit, key: &mut Option<Self::State>, now: u64, act: Act) -> Answer;

    /// A batch at one instant, applied if it is granted.
    fn batch(
        limits: &[Self::Limit],
        keys: &mut [Option<Self::State>],
        now: u64,
        hits: &[BatchHit],
    ) -> (bool, Vec<Answer>);
}

/// Makes an [`Engine`] of a crate with the interface of `tollgate-algorithms`. A macro, because a copy of the core has types
/// of its own.
#[macro_export]
macro_rules! engine {
    ($(#[$doc:meta])* $name:ident, $core:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl $name {
            fn answer(decision: &$core::Decision) -> $crate::engine::Answer {
                $crate::engine::Answer {
                    granted: decision.is_granted(),
                    charged: decision.charged,
                    limit: decision.limit,
                    remaining: decision.remaining,
                    retry: match decision.retry() {
                        None => $crate::engine::Wait::None,
                        Some($core::Retry::After(wait)) => $crate::engine::Wait::After(wait.get()),
                        Some($core::Retry::Never) => $crate::engine::Wait::Never,
                    },
                    reset: decision.reset_after.get(),
                    at: decision.at.get(),
                }
            }
        }

        impl $crate::engine::Engine for $name {
            type Limit = $core::Limit;
            type State = $core::State;

            fn limit(spec: &$crate::spec::Spec) -> Option<Self::Limit> {
                use $crate::spec::{Algorithm, Calendar};
                let window = $core::Micros::new(spec.window);
                match spec.algorithm {
                    Algorithm::TokenBucket => $core::Limit::token_bucket(spec.limit, spec.count, window),
                    Algorithm::LeakyBucket => $core::Limit::leaky_bucket(spec.limit, spec.count, window),
                    Algorithm::Gcra => $core::Limit::gcra(spec.limit, spec.count, window),
                    Algorithm::FixedWindow => {
                        let offset = |minutes| $core::UtcOffset::from_minutes(minutes).unwrap_or_default();
                        let window = match spec.calendar {
                            Calendar::None => $core::Window::Every(window),
                            Calendar::Day(minutes) => $core::Window::Day(offset(minutes)),
                            Calendar::Week(minutes) => $core::Window::Week(offset(minutes)),
                            Calendar::Month(minutes) => $core::Window::Month(offset(minutes)),
                            Calendar::Year(minutes) => $core::Window::Year(offset(minutes)),
                        };
                        $core::Limit::fixed_window(spec.limit, window)
                    }
                    Algorithm::SlidingWindow => $core::Limit::sliding_window(spec.limit, window),
                    Algorithm::SlidingWindowBuckets => {
                        $core::Limit::sliding_window_buckets(spec.limit, window, spec.buckets)
                    }
                    Algorithm::SlidingWindowLog => $core::Limit::sliding_window_log(spec.limit, window),
                }
                .ok()
            }

            #[inline]
            fn act(
                limit: &Self::Limit,
                key: &mut Option<Self::State>,
                now: u64,
                act: $crate::engine::Act,
            ) -> $crate::engine::Answer {
                use $crate::engine::Act;
                let (state, now) = (key.as_ref(), $core::Micros::new(now));
                let (change, decision) = match act {
                    Act::Charge(cost) => $core::decide(limit, state, now, cost),
                    Act::UpTo(most) => $core::decide_up_to(limit, state, now, most),
                    Act::Settle(cost) => $core::settle(limit, state, now, cost),
                    Act::Refund(at, cost, spec) => {
                        let charged_under = Self::limit(&spec).unwrap_or($core::Limit::Unlimited);
                        let receipt = $core::Receipt { at: $core::Micros::new(at), cost, limit: charged_under };
                        $core::refund(limit, state, now, &receipt)
                    }
                    Act::Peek(cost) => return Self::answer(&$core::peek(limit, state, now, cost)),
                };
                change.apply(key);
                Self::answer(&decision)
            }

            fn batch(
                limits: &[Self::Limit],
                keys: &mut [Option<Self::State>],
                now: u64,
                hits: &[$crate::engine::BatchHit],
            ) -> (bool, Vec<$crate::engine::Answer>) {
                let mode = |shadow| if shadow { $core::Mode::Shadow } else { $core::Mode::Enforced };
                let hit = |&(key, cost, shadow): &$crate::engine::BatchHit| {
                    $core::Hit { target: key, cost, mode: mode(shadow) }
                };
                let hits: Vec<_> = hits.iter().map(hit).collect();
                let standing = limits.iter().zip(&*keys);
                let borrowed: Vec<_> =
                    standing.map(|(limit, key)| $core::Target { limit, state: key.as_ref() }).collect();
                let batch = $core::decide_batch(&borrowed, &hits, $core::Micros::new(now));
                for (key, change) in batch.changes {
                    change.apply(&mut keys[key]);
                }
                (batch.granted, batch.decisions.iter().map(Self::answer).collect())
            }
        }
    };
}

engine!(
    /// The core that ships.
    Core,
    tollgate_algorithms
);
