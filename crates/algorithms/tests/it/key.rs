//! A key under a limit, for tests that are tables: the one helper that touches the API.

use tollgate_algorithms::{
    Algorithm, Decision, Limit, Micros, Receipt, Retry, State, Window, decide, decide_up_to, peek, refund,
    settle,
};

/// Noon of some Saturday: a boundary of every aligned window that divides half a day.
pub(crate) const NOON: u64 = 1_763_208_000_000_000;
pub(crate) const SECOND: u64 = 1_000_000;

/// One key under one limit.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) limit: Limit,
    pub(crate) state: Option<State>,
}

impl Key {
    pub(crate) const fn new(limit: Limit) -> Self {
        Self { limit, state: None }
    }

    /// Charges a cost.
    pub(crate) fn hit(&mut self, now: u64, cost: u64) -> Decision {
        let (change, decision) = decide(&self.limit, self.state.as_ref(), Micros::new(now), cost);
        change.apply(&mut self.state);
        decision
    }

    /// Takes all that is left, up to `most`; says how much that was.
    pub(crate) fn take(&mut self, now: u64, most: u64) -> u64 {
        let (change, decision) = decide_up_to(&self.limit, self.state.as_ref(), Micros::new(now), most);
        change.apply(&mut self.state);
        decision.charged
    }

    pub(crate) fn settle(&mut self, now: u64, cost: u64) -> Decision {
        let (change, decision) = settle(&self.limit, self.state.as_ref(), Micros::new(now), cost);
        change.apply(&mut self.state);
        decision
    }

    pub(crate) fn refund(&mut self, now: u64, receipt: &Receipt) -> Decision {
        let (change, decision) = refund(&self.limit, self.state.as_ref(), Micros::new(now), receipt);
        change.apply(&mut self.state);
        decision
    }

    pub(crate) fn peek(&self, now: u64, cost: u64) -> Decision {
        peek(&self.limit, self.state.as_ref(), Micros::new(now), cost)
    }

    /// Hits of cost 1 at one instant until one is refused, at most `most`.
    pub(crate) fn burst(&mut self, now: u64, most: u64) -> u64 {
        (0..most).take_while(|_| self.hit(now, 1).is_granted()).count() as u64
    }
}

/// The limit of every algorithm that admits `limit` at once and, where it has a rate, `limit` per `window`.
pub(crate) fn each(limit: u64, window: u64) -> Vec<Limit> {
    Algorithm::ALL.into_iter().map(|algorithm| of(algorithm, limit, window)).collect()
}

/// The limit of one algorithm.
pub(crate) fn of(algorithm: Algorithm, limit: u64, window: u64) -> Limit {
    let micros = Micros::new(window);
    match algorithm {
        Algorithm::TokenBucket => Limit::token_bucket(limit, limit, micros),
        Algorithm::LeakyBucket => Limit::leaky_bucket(limit, limit, micros),
        Algorithm::Gcra => Limit::gcra(limit, limit, micros),
        Algorithm::FixedWindow => Limit::fixed_window(limit, Window::Every(micros)),
        Algorithm::SlidingWindow => Limit::sliding_window(limit, micros),
        Algorithm::SlidingWindowBuckets => Limit::sliding_window_buckets(limit, micros, 10),
        Algorithm::SlidingWindowLog => Limit::sliding_window_log(limit, micros),
    }
    .unwrap()
}

pub(crate) fn name(limit: &Limit) -> &'static str {
    limit.algorithm().map_or("unlimited", Algorithm::name)
}

/// The wait of a refusal, in microseconds.
pub(crate) fn wait(decision: &Decision) -> u64 {
    match decision.retry() {
        Some(Retry::After(wait)) => wait.get(),
        other => panic!("expected a wait, got {other:?}"),
    }
}
