//! From decisions to the response: codes, numbers, headers and metadata.

use std::cmp::Reverse;

use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus, RateLimit, rate_limit,
};
use envoy_types::pb::google::protobuf::{Duration, Struct};
use tollgate::Micros;

use crate::decide::Decided;
use crate::headers;
use crate::limits::{Numbers, Window};
use crate::options::Headers;
use crate::plan::{Plan, Planned};
use crate::unit::Unit;

/// What a client may see of one limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) name: &'a str,
    pub(crate) numbers: Numbers,
    pub(crate) remaining: u64,
    /// Seconds until the window ends, rounded up.
    pub(crate) reset: u64,
    pub(crate) is_over: bool,
    pub(crate) is_enforced: bool,
}

/// The response, with a status for each descriptor. `now` is by the limiter's calendar.
pub(crate) fn response(
    descriptors: usize,
    plan: &Plan,
    decided: &Decided,
    (headers, now): (&Headers, Micros),
) -> RateLimitResponse {
    let nothing = || DescriptorStatus { code: Code::Ok.into(), ..DescriptorStatus::default() };
    let mut statuses: Vec<DescriptorStatus> = (0..descriptors).map(|_| nothing()).collect();
    let mut shown: Vec<(usize, Shown<'_>)> = Vec::with_capacity(plan.len());
    let mut metadata: Option<Struct> = None;
    for (planned, result) in plan.iter().zip(&decided.results) {
        let Some((_, numbers)) = planned.limited else {
            if let Some(status) = statuses.get_mut(planned.descriptor) {
                status.limit_remaining = u32::MAX;
            }
            continue;
        };
        let Some(answer) = result else { continue };
        let is_over = !answer.is_granted() && !planned.is_shadow();
        let rule = planned.rule.as_deref();
        if let Some(of_rule) = rule.filter(|_| answer.is_granted()).and_then(|rule| rule.metadata.as_ref()) {
            metadata.get_or_insert_default().fields.extend(of_rule.fields.clone());
        }
        if !answer.source().has_numbers() {
            continue;
        }
        let decision = answer.decision();
        let reset = until_reset(decision.reset_after, numbers.window, now);
        let name = rule.map_or("", |rule| if rule.name.is_empty() { &rule.path } else { &rule.name });
        let is_enforced = !planned.is_shadow();
        let remaining = decision.remaining;
        shown.push((planned.descriptor, Shown { name, numbers, remaining, reset, is_over, is_enforced }));
    }
    // Of several limits of one descriptor, the one closest to refusing is written last.
    shown.sort_by_key(|(_, shown)| Reverse(binding_rank(shown)));
    for (descriptor, shown) in &shown {
        if let Some(status) = statuses.get_mut(*descriptor) {
            *status = status_of(shown, name_of(plan, *descriptor));
        }
    }
    let overall_code = if decided.is_refused { Code::OverLimit } else { Code::Ok };
    // The closest to refusing first.
    let seen: Vec<&Shown<'_>> =
        shown.iter().rev().map(|(_, shown)| shown).filter(|shown| shown.is_enforced).collect();
    RateLimitResponse {
        overall_code: overall_code.into(),
        statuses,
        response_headers_to_add: headers::of(&seen, decided.is_refused, headers, now),
        dynamic_metadata: metadata,
        ..RateLimitResponse::default()
    }
}

/// The name that the file gives the limit of a descriptor.
fn name_of(plan: &Plan, descriptor: usize) -> &str {
    let of_descriptor = |planned: &&Planned| planned.descriptor == descriptor;
    let rule = plan.iter().find(of_descriptor).and_then(|planned| planned.rule.as_ref());
    rule.map_or("", |rule| &rule.name)
}

/// Orders limits by how close they are to refusing: the smallest is the closest.
const fn binding_rank(shown: &Shown<'_>) -> (Reverse<bool>, Reverse<u64>, u64) {
    let wait = if shown.is_over { shown.reset } else { 0 };
    (Reverse(shown.is_over), Reverse(wait), shown.remaining)
}

fn status_of(shown: &Shown<'_>, name: &str) -> DescriptorStatus {
    let code = if shown.is_over { Code::OverLimit } else { Code::Ok };
    let unit = match shown.numbers.window {
        Window::Unit(unit) => unit.in_response(),
        Window::Seconds(seconds) => Unit::ALL
            .into_iter()
            .find(|(_, unit)| unit.seconds() == seconds)
            .map_or(rate_limit::Unit::Unknown, |(_, unit)| unit.in_response()),
    };
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let seconds = i64::try_from(shown.reset).unwrap_or(i64::MAX);
    DescriptorStatus {
        code: code.into(),
        current_limit: Some(RateLimit {
            name: name.into(),
            requests_per_unit: narrow(shown.numbers.limit),
            unit: unit.into(),
        }),
        limit_remaining: narrow(shown.remaining),
        duration_until_reset: Some(Duration { seconds, nanos: 0 }),
        quota: None,
    }
}

/// Seconds until the window ends, rounded up. A key without usage has no window of its own: then it is the current one.
fn until_reset(reset_after: Micros, window: Window, now: Micros) -> u64 {
    if reset_after != Micros::ZERO {
        return reset_after.secs_rounded_up();
    }
    let seconds = window.seconds().max(1);
    let into = (now.get() / 1_000_000) % seconds;
    seconds.saturating_sub(into)
}
