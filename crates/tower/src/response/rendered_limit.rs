//! The parts of responses that depend only on the limit, rendered once.

use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use tollgate_algorithms::{Limit, Micros, Window};
use tollgate_engine::{BusyStatus, LimitDescriptor, Visibility, ZeroStatus};

use crate::response::{decimal, json, structured_fields};

/// The header values and JSON strings of one limit that do not depend on a request.
#[derive(Clone, Debug)]
pub(crate) struct RenderedLimit {
    /// Unique in this process, except for clones, which render the same.
    pub(crate) number: u64,
    pub(crate) name: Box<str>,
    pub(crate) visibility: Visibility,
    /// For `RateLimit-Policy`: `"name";q=5;w=50`.
    pub(crate) policy: HeaderValue,
    /// For `RateLimit`, up to the number: `"name";r=`.
    pub(crate) state: Box<[u8]>,
    /// For `X-RateLimit-Limit`.
    pub(crate) limit: HeaderValue,
    /// `limit` as a number.
    pub(crate) capacity: u64,
    /// The status of a refusal if that is 0.
    pub(crate) zero_status: ZeroStatus,
    /// The status of a refusal if it limits how many requests are in progress.
    pub(crate) busy_status: Option<BusyStatus>,
    /// For bodies, escaped, without quotes.
    pub(crate) name_json: Box<str>,
    /// The policy author's text for clients that are refused, escaped, without quotes.
    pub(crate) description_json: Option<Box<str>>,
}

/// The next number.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl RenderedLimit {
    pub(crate) fn new(descriptor: &LimitDescriptor) -> Self {
        let LimitDescriptor { name, limit, visibility, zero_status, description, concurrency, .. } =
            descriptor;
        let capacity = descriptor.capacity();
        let mut policy = Vec::new();
        structured_fields::string(&mut policy, name);
        let mut state = policy.clone();
        state.extend_from_slice(b";r=");
        policy.extend_from_slice(b";q=");
        structured_fields::integer(&mut policy, capacity);
        if concurrency.is_some() {
            policy.extend_from_slice(b";qu=\"concurrent-requests\"");
        } else if let Some(seconds) =
            window(limit).map(Micros::secs_rounded_up).filter(|seconds| *seconds > 0)
        {
            policy.extend_from_slice(b";w=");
            structured_fields::integer(&mut policy, seconds);
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
            limit: decimal::value(capacity),
            capacity,
            busy_status: concurrency.map(|concurrency| concurrency.busy_status),
            zero_status: *zero_status,
            name_json: escaped(name),
            description_json: description.as_deref().map(|text| escaped(text.trim_end())),
        }
    }
}

/// Time until an exhausted limit is fully restored. `None` if that varies: no parameter is better than a wrong one.
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
