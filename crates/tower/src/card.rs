//! What clients may know of one limit, written down once so that answers copy it. How a key stands is not on it.

use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use tollgate_algorithms::{Limit, Micros, Mode, Window};
use tollgate_policy::model::ZeroStatus;

use crate::{json, numbers, sf};

/// What clients may know of one set of numbers of one limit.
///
/// A limit is *shown* if its numbers stand in fields and bodies. One that is not shown may still be *named* when it refuses, or
/// be hidden: then clients learn nothing of it but that they have to wait.
#[derive(Clone, Debug)]
pub struct Card {
    /// Tells it from all others of this process; copies of it say the same.
    pub(crate) number: u64,
    pub(crate) name: Box<str>,
    pub(crate) visibility: Visibility,
    /// For `RateLimit-Policy`: `"name";q=5;w=50`.
    pub(crate) policy: HeaderValue,
    /// For `RateLimit`, up to the number: `"name";r=`.
    pub(crate) state: Box<[u8]>,
    /// For `X-RateLimit-Limit`.
    pub(crate) limit: HeaderValue,
    /// The same, as a number.
    pub(crate) capacity: u64,
    /// What is answered if that is 0.
    pub(crate) zero_status: ZeroStatus,
    /// For bodies, escaped, without quotes.
    pub(crate) name_json: Box<str>,
    /// What the policy's author says to those who are refused, escaped, without quotes.
    pub(crate) says_json: Option<Box<str>>,
}

/// The next card's number.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// How much of a limit clients see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visibility {
    /// Its name and its numbers.
    Shown,
    /// Its name, if it refuses. So it is for budgets that stand beside a limit's own, which would be told twice.
    Named,
    /// Nothing.
    Hidden,
}

impl Card {
    /// Writes it. `says` is for those who are refused: the limit's description.
    #[must_use]
    pub fn new(name: &str, limit: &Limit, visibility: Visibility, says: Option<&str>) -> Self {
        let mut policy = Vec::new();
        sf::string(&mut policy, name);
        let mut state = policy.clone();
        state.extend_from_slice(b";r=");
        policy.extend_from_slice(b";q=");
        sf::integer(&mut policy, limit.capacity());
        if let Some(seconds) = window(limit).map(Micros::secs_rounded_up).filter(|seconds| *seconds > 0) {
            policy.extend_from_slice(b";w=");
            sf::integer(&mut policy, seconds);
        }
        let escaped = |text: &str| {
            let mut out = Vec::new();
            json::escaped(&mut out, text);
            String::from_utf8_lossy(&out).into_owned().into_boxed_str()
        };
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            visibility,
            // `sf` writes printable ASCII, which every field can hold.
            policy: HeaderValue::from_bytes(&policy).unwrap_or(HeaderValue::from_static("")),
            state: state.into(),
            limit: numbers::value(limit.capacity()),
            capacity: limit.capacity(),
            zero_status: ZeroStatus::Forbidden,
            name_json: escaped(name),
            says_json: says.map(|says| escaped(says.trim_end())),
        }
    }

    /// The same, with what is answered if the limit is 0.
    #[must_use]
    pub fn with_zero_status(self, zero_status: ZeroStatus) -> Self {
        Self { zero_status, ..self }
    }

    /// Whether its numbers are for clients, if it counts in this way. What is only counted is told to nobody.
    pub(crate) fn is_shown(&self, mode: Mode) -> bool {
        mode == Mode::Enforced && self.visibility == Visibility::Shown
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// In how long all of it comes back; `None` if that differs from time to time, since a field that may be wrong is worse than
/// none.
fn window(limit: &Limit) -> Option<Micros> {
    match limit {
        Limit::Unlimited => None,
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => Some(quota.drain()),
        Limit::FixedWindow(rule) => match rule.window() {
            Window::Every(length) => Some(length),
            Window::Day(_) => Some(Micros::DAY),
            Window::Week(_) => Some(Micros::new(Micros::DAY.get().saturating_mul(7))),
            Window::Month(_) => None,
        },
        Limit::SlidingWindow(rule) => Some(rule.window()),
        Limit::SlidingWindowBuckets(rule) => Some(rule.window()),
        Limit::SlidingWindowLog(rule) => Some(rule.window()),
    }
}
