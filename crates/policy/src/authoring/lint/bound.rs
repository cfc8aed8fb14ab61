//! Determines whether one limit makes another unreachable, from the guarantees of their algorithms. "No" means "not proven".
//!
//! Both see the same hits at the same cost, each hit is charged to both or to neither, and time moves on. Then the
//! second never refuses what the first grants if the most that the first lets through always fits into the second.

use tollgate_algorithms::algorithm::fixed_window::FixedWindow;
use tollgate_algorithms::{Limit, Micros, Quota, Window};

use crate::authoring::impact::clocks_change_by;

/// What a limit lets through at most.
enum UpperBound {
    /// `burst + rate × t` in every span of length t.
    Bucket(Quota),
    /// So much in each of a row of windows, which may begin anywhere: `limit × ⌈t / window⌉` in a half-open span of
    /// length t, because that many windows cover it wherever it begins.
    AnyWindow { limit: u64, micros: u64 },
    /// So much in each window of the clock: `limit × (⌈t / window⌉ + 1)`, because a span can begin within a window.
    ClockWindow { limit: u64, micros: u64 },
}

/// What a limit has to find room for, so that it never refuses.
enum RequiredCapacity {
    /// The debt stays within the burst: in every span of length t no more than `burst + rate × t` was let through.
    Bucket(Quota),
    /// No half-open span of so many microseconds had more than the limit.
    Span { limit: u64, micros: u64 },
}

/// Whether `limit` never refuses what `by` grants. Conservative: `false` also where it is not known.
pub(super) fn covers(by: &Limit, limit: &Limit) -> bool {
    if let (Limit::FixedWindow(by), Limit::FixedWindow(of)) = (by, limit)
        && let Some(within) = within(by.window(), of.window())
        && wide(by.limit(), within) <= u128::from(of.limit())
    {
        return true;
    }
    let (Some(most), Some(room)) = (most(by), room(limit)) else { return false };
    match (&most, &room) {
        // The debts are the same at first, grow alike, and the second drains at least as fast.
        (UpperBound::Bucket(by), RequiredCapacity::Bucket(of)) => {
            by.burst() <= of.burst() && is_slower(by, of)
        }
        // burst + count × t / period <= limit, times the period.
        (UpperBound::Bucket(by), RequiredCapacity::Span { limit, micros }) => {
            let let_through = wide(by.burst(), by.period()).saturating_add(wide(by.count(), *micros));
            let_through <= wide(*limit, by.period())
        }
        // A closed span of t < (k + 1) windows is covered by k + 1 of them: limit × (k + 1) <= burst + rate × k × window
        // for every k, if the limit fits into the burst and one limit drains in each window.
        (UpperBound::AnyWindow { limit, micros }, RequiredCapacity::Bucket(of)) => {
            *limit <= of.burst() && drains(*limit, *micros, of)
        }
        // As above, with one window more.
        (UpperBound::ClockWindow { limit, micros }, RequiredCapacity::Bucket(of)) => {
            limit.saturating_mul(2) <= of.burst() && drains(*limit, *micros, of)
        }
        (UpperBound::AnyWindow { limit: by, micros: window }, RequiredCapacity::Span { limit, micros }) => {
            wide(*by, windows(*micros, *window)) <= u128::from(*limit)
        }
        (UpperBound::ClockWindow { limit: by, micros: window }, RequiredCapacity::Span { limit, micros }) => {
            wide(*by, windows(*micros, *window).saturating_add(1)) <= u128::from(*limit)
        }
    }
}

fn most(limit: &Limit) -> Option<UpperBound> {
    let clock = |rule: &FixedWindow, micros: u64| UpperBound::ClockWindow { limit: rule.limit(), micros };
    Some(match limit {
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => {
            UpperBound::Bucket(*quota)
        }
        Limit::SlidingWindowLog(rule) => {
            UpperBound::AnyWindow { limit: rule.limit(), micros: rule.window().get() }
        }
        Limit::SlidingWindowBuckets(rule) => {
            UpperBound::AnyWindow { limit: rule.limit(), micros: rule.window().get() }
        }
        // Two counts hold each window of the clock to the limit, as a fixed window does, and more.
        Limit::SlidingWindow(rule) => {
            UpperBound::ClockWindow { limit: rule.limit(), micros: rule.window().get() }
        }
        Limit::FixedWindow(rule) => match rule.window() {
            Window::Every(length) => UpperBound::ClockWindow { limit: rule.limit(), micros: length.get() },
            // Windows of the calendar differ in length: shorter ones let more through.
            Window::Day(offset) => clock(rule, days(1).saturating_sub(clocks_change_by(offset))),
            Window::Week(offset) => clock(rule, days(7).saturating_sub(clocks_change_by(offset))),
            Window::Month(offset) => clock(rule, days(28).saturating_sub(clocks_change_by(offset))),
            Window::Year(offset) => clock(rule, days(365).saturating_sub(clocks_change_by(offset))),
        },
        Limit::Unlimited => return None,
    })
}

fn room(limit: &Limit) -> Option<RequiredCapacity> {
    let span = |rule: &FixedWindow, micros: u64| RequiredCapacity::Span { limit: rule.limit(), micros };
    Some(match limit {
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => {
            RequiredCapacity::Bucket(*quota)
        }
        Limit::SlidingWindowLog(rule) => {
            RequiredCapacity::Span { limit: rule.limit(), micros: rule.window().get() }
        }
        // A hit counts for up to one bucket longer than a window.
        Limit::SlidingWindowBuckets(rule) => {
            let window = rule.window().get();
            let bucket = window.div_ceil(u64::from(rule.buckets().max(1)));
            RequiredCapacity::Span { limit: rule.limit(), micros: window.saturating_add(bucket) }
        }
        // The count of the window before weighs at most all of it: two windows in a row.
        Limit::SlidingWindow(rule) => {
            RequiredCapacity::Span { limit: rule.limit(), micros: rule.window().get().saturating_mul(2) }
        }
        Limit::FixedWindow(rule) => match rule.window() {
            Window::Every(length) => RequiredCapacity::Span { limit: rule.limit(), micros: length.get() },
            // Longer ones have to find room for more.
            Window::Day(offset) => span(rule, days(1).saturating_add(clocks_change_by(offset))),
            Window::Week(offset) => span(rule, days(7).saturating_add(clocks_change_by(offset))),
            Window::Month(offset) => span(rule, days(31).saturating_add(clocks_change_by(offset))),
            Window::Year(offset) => span(rule, days(366).saturating_add(clocks_change_by(offset))),
        },
        Limit::Unlimited => return None,
    })
}

/// How many of the first windows one of the second consists of at most, if their boundaries meet. With other offsets from
/// UTC a window of the second touches one more, and that is what the bound of spans says.
fn within(inner: Window, outer: Window) -> Option<u64> {
    match (inner, outer) {
        _ if inner == outer => Some(1),
        (Window::Day(one), Window::Week(other)) if one == other => Some(7),
        (Window::Day(one), Window::Month(other)) if one == other => Some(31),
        (Window::Day(one), Window::Year(other)) if one == other => Some(366),
        (Window::Month(one), Window::Year(other)) if one == other => Some(12),
        _ => None,
    }
}

/// So many days.
const fn days(count: u64) -> u64 {
    Micros::DAY.get().saturating_mul(count)
}

/// Whether the first comes back no faster than the second.
fn is_slower(one: &Quota, other: &Quota) -> bool {
    wide(one.count(), other.period()) <= wide(other.count(), one.period())
}

/// Whether so much drains in so many microseconds.
fn drains(limit: u64, micros: u64, quota: &Quota) -> bool {
    wide(limit, quota.period()) <= wide(quota.count(), micros)
}

/// How many windows cover a half-open span, wherever it begins.
const fn windows(span: u64, window: u64) -> u64 {
    if window == 0 { u64::MAX } else { span.div_ceil(window) }
}

/// A product that always fits.
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a).saturating_mul(u128::from(b))
}
