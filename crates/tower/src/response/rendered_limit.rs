//! What clients may know of one limit, written down once so that config copy it. How a key stands is not on it.

use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use tollgate_algorithms::{Limit, Micros, Mode, Window};
use tollgate_engine::{LimitDescriptor, Visibility, ZeroStatus};

use crate::response::{json, numbers, sf};

/// The header values and JSON strings of one limit that do not depend on a request.
#[derive(Clone, Debug)]
pub(crate) struct RenderedLimit {
    /// Tells it from all others of this process; a clone renders the same.
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
    /// The status of a refusal if that is 0.
    pub(crate) zero_status: ZeroStatus,
    /// For bodies, escaped, without quotes.
    pub(crate) name_json: Box<str>,
    /// The policy author's text for clients that are refused, escaped, without quotes.
    pub(crate) description_json: Option<Box<str>>,
}

/// The next number.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl RenderedLimit {
    pub(crate) fn new(descriptor: &LimitDescriptor) -> Self {
        let LimitDescriptor { name, limit, visibility, zero_status, description, .. } = descriptor;
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
            name: name.clone(),
            visibility: *visibility,
            // `sf` writes printable ASCII, which every field can hold.
            policy: HeaderValue::from_bytes(&policy).unwrap_or(HeaderValue::from_static("")),
            state: state.into(),
            limit: numbers::value(limit.capacity()),
            capacity: limit.capacity(),
            zero_status: *zero_status,
            name_json: escaped(name),
            description_json: description.as_deref().map(|text| escaped(text.trim_end())),
        }
    }

    /// Whether clients see its numbers when it is charged in this mode. Clients never see a limit in shadow mode.
    pub(crate) fn is_shown(&self, mode: Mode) -> bool {
        mode == Mode::Enforced && self.visibility == Visibility::Shown
    }
}

/// How long it takes until all of it is available again. `None` if that varies: no header is better than a wrong one.
fn window(limit: &Limit) -> Option<Micros> {
    match limit {
        Limit::Unlimited => None,
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => Some(quota.drain()),
        Limit::FixedWindow(rule) => match rule.window() {
            Window::Every(length) => Some(length),
            // A day on which clocks change is longer or shorter.
            Window::Day(offset) | Window::Week(offset) if offset.summer_time().is_some() => None,
            Window::Day(_) => Some(Micros::DAY),
            Window::Week(_) => Some(Micros::new(Micros::DAY.get().saturating_mul(7))),
            Window::Month(_) | Window::Year(_) => None,
        },
        Limit::SlidingWindow(rule) => Some(rule.window()),
        Limit::SlidingWindowBuckets(rule) => Some(rule.window()),
        Limit::SlidingWindowLog(rule) => Some(rule.window()),
    }
}
