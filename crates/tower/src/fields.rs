//! The fields of a response about limits: what is told, and how it meets what the upstream told. Each generation has its file.

mod degraded;
mod draft;
mod triple;
mod x_ratelimit;

use std::cmp::Reverse;

use bytes::Bytes;
use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_algorithms::{Decision, Micros, Mode, Retry};

use crate::answers::{Answers, Generations, Reset};
use crate::card::Card;
use crate::{numbers, secret, sf};

pub(crate) use degraded::Degraded;

/// What one limit says to a request.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The limit.
    pub card: &'a Card,
    /// What it decided.
    pub decision: Decision,
    /// Whether a refusal counts. What is only counted is told to nobody.
    pub mode: Mode,
    /// Whose budget, for the partition key.
    pub key: &'a [u8],
}

/// What one limit says to a request, as far as its client may know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) card: &'a Card,
    pub(crate) decision: Decision,
    /// Whose budget, if that is told: see [`partition`].
    pub(crate) partition: u64,
}

/// Whose budget it is, as clients are told it; 0 if they are not.
pub(crate) fn partition(card: &Card, key: &[u8], answers: &Answers) -> u64 {
    if answers.partition_key { secret::partition(&card.name, key) } else { 0 }
}

/// The fields that a response has to carry.
///
/// They are written once, when the response is there: [`write`](Self::write) puts them beside what the upstream sent, and
/// never makes that look more permissive.
#[derive(Clone, Debug, Default)]
#[must_use = "a response without them does not tell its client how it stands"]
pub struct Fields {
    /// `RateLimit-Policy` and `RateLimit`.
    draft: Option<(HeaderValue, HeaderValue)>,
    /// For fields that have room for one limit.
    binding: Option<Binding>,
    degraded: Degraded,
}

/// What is told of the limit that binds: how much there is, how much is left, and until when in each generation that is sent.
#[derive(Clone, Debug)]
struct Binding {
    limit: HeaderValue,
    remaining: u64,
    x_ratelimit: Option<u64>,
    triple: Option<u64>,
}

/// What the lists of the draft are made of while lines come in: of several limits, or with partition keys.
#[derive(Default)]
struct Lists {
    policy: Vec<u8>,
    state: Vec<u8>,
}

impl Fields {
    /// Works them out, at an instant of the calendar. Limits that are not shown, or only counted, are left out.
    pub fn of<'a>(lines: impl Iterator<Item = Line<'a>>, answers: &Answers, now: Micros) -> Self {
        Self::of_shown(lines.filter_map(|line| line.shown(answers)), answers, now)
    }

    /// As [`of`](Self::of), of what is shown only.
    #[inline]
    pub(crate) fn of_shown<'a>(
        mut lines: impl Iterator<Item = Shown<'a>>,
        answers: &Answers,
        now: Micros,
    ) -> Self {
        let Some(first) = lines.next() else { return Self::default() };
        let (mut binding, mut draft) = ((first.card, first.decision), None);
        match lines.next() {
            // As most requests have it: there is nothing to be put together.
            None if !answers.partition_key => {
                if answers.generations.draft {
                    let state = Self::state(first.card, first.decision.remaining, first.until());
                    draft = Some((first.card.policy.clone(), state));
                }
            }
            second => {
                let mut lists = Lists::default();
                for line in std::iter::once(first).chain(second).chain(lines) {
                    if binds(&line.decision) < binds(&binding.1) {
                        binding = (line.card, line.decision);
                    }
                    if answers.generations.draft {
                        lists.push(&line, answers);
                    }
                }
                draft = lists.draft();
            }
        }
        let (card, decision) = binding;
        let seconds = || decision.reset_after.secs_rounded_up();
        let reset = || match answers.reset {
            Reset::Epoch => now.saturating_add(decision.reset_after).secs_rounded_up(),
            Reset::Delta => seconds(),
        };
        let Generations { x_ratelimit, triple, .. } = answers.generations;
        let binding = (x_ratelimit || triple).then(|| Binding {
            limit: card.limit.clone(),
            remaining: decision.remaining,
            x_ratelimit: x_ratelimit.then(reset),
            triple: triple.then(seconds),
        });
        Self { draft, binding, degraded: Degraded::Untold }
    }

    /// What `RateLimit` says of one limit.
    pub(crate) fn state(card: &Card, remaining: u64, until: Micros) -> HeaderValue {
        draft::only_state(card, remaining, until)
    }

    /// Adds whether the answer is degraded.
    pub(crate) const fn tell(&mut self, degraded: Degraded) {
        self.degraded = degraded;
    }

    /// Writes them beside what the upstream sent. Its members of lists are kept, after ours; of two sets of three the one
    /// with less remaining stands, whole, and the upstream's if that cannot be told.
    pub fn write(self, headers: &mut HeaderMap) {
        let Self { draft, binding, degraded } = self;
        let threes = binding.as_ref().map_or(0, |three| {
            usize::from(three.x_ratelimit.is_some()).saturating_add(three.triple.is_some().into())
        });
        // At once and not in steps, but not for more than there are: most responses have room for a few.
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
                three(headers, triple::NAMES, told);
            }
        }
        degraded.write(headers);
    }
}

impl<'a> Line<'a> {
    /// Whether its numbers are for clients.
    pub(crate) fn is_shown(&self) -> bool {
        self.card.is_shown(self.mode)
    }

    /// What of it is for clients.
    fn shown(&self, answers: &Answers) -> Option<Shown<'a>> {
        let Line { card, decision, key, .. } = *self;
        self.is_shown().then(|| Shown { card, decision, partition: partition(card, key, answers) })
    }
}

impl Shown<'_> {
    /// When more is granted: enough, if it was refused, or else everything.
    fn until(&self) -> Micros {
        match self.decision.retry() {
            Some(Retry::After(wait)) => wait,
            Some(Retry::Never) | None => self.decision.reset_after,
        }
    }
}

impl Lists {
    fn push(&mut self, line: &Shown<'_>, answers: &Answers) {
        let Shown { card, decision, partition } = *line;
        if !self.state.is_empty() {
            self.policy.extend_from_slice(b", ");
            self.state.extend_from_slice(b", ");
        }
        self.policy.extend_from_slice(card.policy.as_bytes());
        draft::state(&mut self.state, card, decision.remaining, line.until());
        if answers.partition_key {
            for list in [&mut self.policy, &mut self.state] {
                list.extend_from_slice(b";pk=");
                sf::bytes(list, partition);
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

/// The limit that binds comes first: refused for the longest, or with the least remaining, or the longest until it is reset.
pub(crate) const fn binds(decision: &Decision) -> (Reverse<Option<Retry>>, u64, Reverse<Micros>) {
    (Reverse(decision.retry()), decision.remaining, Reverse(decision.reset_after))
}

/// Writes three fields for one limit, unless the upstream's own may say that no more remains: of several lines of it, the least. If as
/// much remains, its own may hold for longer; and what is no whole number, such as one below zero, may be less than ours. So may what is not
/// said at all, beside a limit or a reset.
fn three(headers: &mut HeaderMap, names: [HeaderName; 3], told: (HeaderValue, u64, u64)) {
    let values = [told.0.clone(), numbers::value(told.1), numbers::value(told.2)];
    for (written, (name, value)) in names.iter().zip(values).enumerate() {
        // As most upstreams have it: they say nothing.
        if let Entry::Vacant(place) = headers.entry(name) {
            place.insert(value);
            continue;
        }
        // What was written is taken back, and theirs and ours are compared.
        for name in names.iter().take(written) {
            headers.remove(name);
        }
        return three_beside(headers, names, told);
    }
}

/// The same beside an upstream's own.
fn three_beside(
    headers: &mut HeaderMap,
    [limit, remaining, reset]: [HeaderName; 3],
    (there_is, left, until): (HeaderValue, u64, u64),
) {
    // A line without a value says nothing.
    let said =
        |headers: &HeaderMap, name: &HeaderName| headers.get_all(name).iter().any(|value| !value.is_empty());
    let is_more = |value: &HeaderValue| whole(value.as_bytes()).is_some_and(|theirs| theirs > left);
    let ours_stand = if said(headers, &remaining) {
        headers.get_all(&remaining).iter().all(|value| value.is_empty() || is_more(value))
    } else {
        !said(headers, &limit) && !said(headers, &reset)
    };
    if ours_stand {
        headers.insert(limit, there_is);
        headers.insert(remaining, numbers::value(left));
        headers.insert(reset, numbers::value(until));
    }
}

/// A whole number, in digits only and without zeros before it.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    let plain = text == b"0" || !text.starts_with(b"0");
    let digits = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| plain && digits)?.parse().ok()
}
