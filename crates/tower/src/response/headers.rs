//! Writes the rate-limit headers of a response, merged with those of the upstream. One file per generation of headers.

mod degraded;
mod draft;
mod legacy_draft;
mod x_ratelimit;

use std::cmp::Reverse;

use bytes::Bytes;
use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_algorithms::{Decision, Micros, Mode, Retry};
use tollgate_http::header::whole_number;

use crate::response::config::{HeaderFormats, ResetFormat, ResponseConfig};
use crate::response::rendered_limit::RenderedLimit;
use crate::response::{decimal, structured_fields};

pub(crate) use degraded::Degraded;

/// The status of one limit after one request, with the limit as responses show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenderedStatus<'a> {
    pub(crate) rendered: &'a RenderedLimit,
    pub(crate) decision: Decision,
    pub(crate) mode: Mode,
    /// Whether clients see its numbers.
    pub(crate) is_shown: bool,
    /// The partition key, if responses carry one.
    pub(crate) partition: u64,
}

/// The rate-limit headers of one response.
///
/// [`write`](Self::write) merges them with the upstream's own and never makes those look more permissive.
#[derive(Clone, Debug, Default)]
#[must_use = "without these headers, clients cannot see their remaining quota"]
pub(crate) struct LimitHeaders {
    /// `RateLimit-Policy` and `RateLimit`.
    draft: Option<(HeaderValue, HeaderValue)>,
    /// For headers that show a single limit.
    binding: Option<Binding>,
    degraded: Degraded,
}

/// The numbers of the most restrictive limit, with the reset in the form of each enabled generation.
#[derive(Clone, Debug)]
struct Binding {
    limit: HeaderValue,
    remaining: u64,
    x_ratelimit: Option<u64>,
    triple: Option<u64>,
}

/// The lists of the draft headers under construction, for several limits or with partition keys.
#[derive(Default)]
struct Lists {
    policy: Vec<u8>,
    state: Vec<u8>,
}

impl LimitHeaders {
    /// The headers for these limits, all visible, at a wall-clock time.
    #[inline]
    pub(crate) fn of<'a>(
        mut lines: impl Iterator<Item = RenderedStatus<'a>>,
        config: &ResponseConfig,
        now: Micros,
    ) -> Self {
        let Some(first) = lines.next() else { return Self::default() };
        let (mut binding, mut draft) = ((first.rendered, first.decision), None);
        match lines.next() {
            // The common case: one limit.
            None if !config.partition_key => {
                if config.generations.draft {
                    let state = Self::state(first.rendered, first.decision.remaining, first.until());
                    draft = Some((first.rendered.policy.clone(), state));
                }
            }
            second => {
                let mut lists = Lists::default();
                for line in std::iter::once(first).chain(second).chain(lines) {
                    if binds(&line.decision) < binds(&binding.1) {
                        binding = (line.rendered, line.decision);
                    }
                    if config.generations.draft {
                        lists.push(&line, config);
                    }
                }
                draft = lists.draft();
            }
        }
        let (rendered, decision) = binding;
        let seconds = || decision.reset_after.secs_rounded_up();
        let reset = || match config.reset {
            ResetFormat::Epoch => now.saturating_add(decision.reset_after).secs_rounded_up(),
            ResetFormat::Delta => seconds(),
        };
        let HeaderFormats { x_ratelimit, triple, .. } = config.generations;
        let binding = (x_ratelimit || triple).then(|| Binding {
            limit: rendered.limit.clone(),
            remaining: decision.remaining,
            x_ratelimit: x_ratelimit.then(reset),
            triple: triple.then(seconds),
        });
        Self { draft, binding, degraded: Degraded::Untold }
    }

    /// The member of `RateLimit` for one limit.
    pub(crate) fn state(rendered: &RenderedLimit, remaining: u64, until: Micros) -> HeaderValue {
        draft::only_state(rendered, remaining, until)
    }

    /// Sets the value of `Tollgate-Degraded`.
    pub(crate) const fn tell(&mut self, degraded: Degraded) {
        self.degraded = degraded;
    }

    /// Merges the headers with the upstream's. List members of the upstream follow ours. Of two sets of three headers, the one
    /// with less remaining wins as a whole; if the upstream's cannot be parsed, it stays.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        let Self { draft, binding, degraded } = self;
        let threes = binding.as_ref().map_or(0, |three| {
            usize::from(three.x_ratelimit.is_some()).saturating_add(three.triple.is_some().into())
        });
        // Reserve once, but no more than needed: most responses have spare capacity for a few headers.
        headers.reserve(threes.saturating_mul(3).saturating_add(if draft.is_some() { 2 } else { 0 }));
        if let Some((policy, state)) = draft {
            draft::write(headers, policy, state);
        }
        if let Some(Binding { limit, remaining, x_ratelimit, triple }) = binding {
            let older = triple.map(|reset| (limit.clone(), remaining, reset));
            if let Some(reset) = x_ratelimit {
                three(headers, x_ratelimit::NAMES, (limit, remaining, reset));
            }
            if let Some(told) = older {
                three(headers, legacy_draft::NAMES, told);
            }
        }
        degraded.write(headers);
    }
}

impl RenderedStatus<'_> {
    /// Time until more quota is available: enough for this request if it was refused, otherwise the full quota.
    fn until(&self) -> Micros {
        match self.decision.retry() {
            Some(Retry::After(wait)) => wait,
            Some(Retry::Never) | None => self.decision.reset_after,
        }
    }
}

impl Lists {
    fn push(&mut self, line: &RenderedStatus<'_>, config: &ResponseConfig) {
        let RenderedStatus { rendered, decision, partition, .. } = *line;
        if !self.state.is_empty() {
            self.policy.extend_from_slice(b", ");
            self.state.extend_from_slice(b", ");
        }
        self.policy.extend_from_slice(rendered.policy.as_bytes());
        draft::state(&mut self.state, rendered, decision.remaining, line.until());
        if config.partition_key {
            for list in [&mut self.policy, &mut self.state] {
                list.extend_from_slice(b";pk=");
                structured_fields::bytes(list, partition);
            }
        }
    }

    fn draft(self) -> Option<(HeaderValue, HeaderValue)> {
        if self.state.is_empty() {
            return None;
        }
        let value = |list: Vec<u8>| HeaderValue::from_maybe_shared(Bytes::from(list)).ok();
        Some((value(self.policy)?, value(self.state)?))
    }
}

/// Sort key of the binding limit: the longest wait if refused, then the least remaining, then the longest reset.
pub(crate) const fn binds(decision: &Decision) -> (Reverse<Option<Retry>>, u64, Reverse<Micros>) {
    (Reverse(decision.retry()), decision.remaining, Reverse(decision.reset_after))
}

/// Writes three headers for one limit, unless the upstream's own may be at least as restrictive. Of several values, the least counts;
/// an equal value may apply for longer. A value that is not a whole number, or is missing next to a limit or reset, may be less than ours.
fn three(headers: &mut HeaderMap, names: [HeaderName; 3], told: (HeaderValue, u64, u64)) {
    let values = [told.0.clone(), decimal::value(told.1), decimal::value(told.2)];
    for (written, (name, value)) in names.iter().zip(values).enumerate() {
        // The common case: the upstream sends no such header.
        if let Entry::Vacant(place) = headers.entry(name) {
            place.insert(value);
            continue;
        }
        // Undo, then compare the upstream's values with ours.
        for name in names.iter().take(written) {
            headers.remove(name);
        }
        return three_beside(headers, names, told);
    }
}

/// Does the same if the upstream sent its own.
fn three_beside(
    headers: &mut HeaderMap,
    [limit, remaining, reset]: [HeaderName; 3],
    (there_is, left, until): (HeaderValue, u64, u64),
) {
    // Empty values do not count.
    let said =
        |headers: &HeaderMap, name: &HeaderName| headers.get_all(name).iter().any(|value| !value.is_empty());
    let is_more = |value: &HeaderValue| whole_number(value.as_bytes()).is_some_and(|theirs| theirs > left);
    let ours_stand = if said(headers, &remaining) {
        headers.get_all(&remaining).iter().all(|value| value.is_empty() || is_more(value))
    } else {
        !said(headers, &limit) && !said(headers, &reset)
    };
    if ours_stand {
        headers.insert(limit, there_is);
        headers.insert(remaining, decimal::value(left));
        headers.insert(reset, decimal::value(until));
    }
}
