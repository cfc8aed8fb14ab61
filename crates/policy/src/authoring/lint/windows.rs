//! Advises about windows and slow refills: twice the limit at an edge, large logs, waits of hours.

use tollgate_algorithms::{Limit, Micros, Window};

use super::{Lint, named};
use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::model::PolicyLimit;
use crate::numbers::Numbers;
use crate::quantity::spoken;

/// A log that may need more bytes than this for one key is noted; one that needs as many is not.
pub const LOG_BYTES_NOTED: u64 = 16 << 10;
/// An entry of the log.
const LOG_ENTRY_BYTES: u64 = 16;
/// A limit under which a refused client may have to wait longer than this is noted: for one request of a refill, or for the
/// end of a window. Windows of the calendar are not: a quota of a day is meant as that, and people know when a day ends.
pub const WAIT_NOTED: Micros = Micros::HOUR;

/// Boundaries, logs and waits of every limit and of every tier.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (_, limit) in lint.limits() {
        let own = (&limit.numbers, named(&limit.name), limit.place);
        let tiers = limit.tiers.iter().map(|tier| {
            let whose = format!("the tier {} of {}", named(&tier.tier), named(&limit.name));
            (&tier.numbers, whose, tier.place)
        });
        found.extend(boundary(limit));
        for (numbers, whose, place) in std::iter::once(own).chain(tiers) {
            let Numbers::Counted(numbers) = numbers else { continue };
            found.extend(large_log(numbers, &whose, place));
            found.extend(long_wait(numbers, &whose, place));
        }
    }
    found
}

/// Windows that admit about twice their limit. Once for a limit: its tiers have the same kind of window.
fn boundary(limit: &PolicyLimit) -> Option<Diagnostic> {
    let name = named(&limit.name);
    let message = match &limit.numbers {
        Numbers::Counted(Limit::FixedWindow(rule)) => {
            let Window::Every(length) = rule.window() else { return None };
            if rule.limit() == 0 {
                return None;
            }
            let (twice, length) = (rule.limit().saturating_mul(2), spoken(length));
            format!(
                "{name} admits up to {twice} within {length}: the limit before a boundary, and again after it"
            )
        }
        Numbers::Counted(Limit::SlidingWindow(rule)) => {
            // With hits of cost 1, twice the limit less one: of a limit of one that is the limit itself.
            if rule.limit() <= 1 {
                return None;
            }
            let (twice, length) = (rule.limit().saturating_mul(2).saturating_sub(1), spoken(rule.window()));
            format!(
                "{name} admits up to {twice} within {length}: what came late in the window before weighs too little"
            )
        }
        Numbers::Counted(
            Limit::Unlimited
            | Limit::TokenBucket(_)
            | Limit::LeakyBucket(_)
            | Limit::Gcra(_)
            | Limit::SlidingWindowBuckets(_)
            | Limit::SlidingWindowLog(_),
        )
        | Numbers::Unlimited
        | Numbers::Queue { .. }
        | Numbers::Concurrency { .. }
        | Numbers::Adaptive { .. } => return None,
    };
    let help = "if no span may admit more than the limit, take `sliding_window` with `buckets`, or `sliding_window_log`";
    Some(Diagnostic::note("window-boundary", limit.place, message).help(help))
}

fn large_log(numbers: &Limit, whose: &str, place: Place) -> Option<Diagnostic> {
    let Limit::SlidingWindowLog(rule) = numbers else { return None };
    let bytes = rule.limit().saturating_mul(LOG_ENTRY_BYTES);
    if bytes <= LOG_BYTES_NOTED {
        return None;
    }
    let message = format!(
        "{whose} may need {bytes} bytes for each key: {LOG_ENTRY_BYTES} for each request in its window"
    );
    let help = "take `sliding_window` with `buckets`: never more than the limit either, in bounded memory";
    Some(Diagnostic::note("large-log", place, message).help(help))
}

fn long_wait(numbers: &Limit, whose: &str, place: Place) -> Option<Diagnostic> {
    let message = match numbers {
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => {
            let one = quota.period().div_ceil(quota.count());
            if one <= WAIT_NOTED.get() || quota.burst() == 0 {
                return None;
            }
            format!("a client that has exhausted {whose} waits {} for each further request", minutes(one))
        }
        Limit::FixedWindow(rule) => match rule.window() {
            Window::Every(length) => window_wait(rule.limit(), length, whose)?,
            Window::Day(_) | Window::Week(_) | Window::Month(_) | Window::Year(_) => return None,
        },
        Limit::SlidingWindow(rule) => window_wait(rule.limit(), rule.window(), whose)?,
        Limit::SlidingWindowBuckets(rule) => window_wait(rule.limit(), rule.window(), whose)?,
        Limit::SlidingWindowLog(rule) => window_wait(rule.limit(), rule.window(), whose)?,
        Limit::Unlimited => return None,
    };
    let help =
        "if that is not meant, take a shorter time with a smaller number beside it, or follow the calendar";
    Some(Diagnostic::note("long-wait", place, message).help(help))
}

fn window_wait(limit: u64, window: Micros, whose: &str) -> Option<String> {
    let long = window > WAIT_NOTED && limit > 0;
    long.then(|| {
        format!(
            "a client that has exhausted {whose} may wait {} for a further request",
            minutes(window.get())
        )
    })
}

/// Rounded up to whole minutes: it is an hour at least.
fn minutes(micros: u64) -> String {
    let minute = Micros::MINUTE.get();
    spoken(Micros::new(micros.div_ceil(minute).saturating_mul(minute)))
}
