//! The fields of a response about limits: what is told, and how it meets what the upstream told. Each generation has its file.

mod degraded;
mod draft;
mod triple;
mod x_ratelimit;

use std::cmp::Reverse;

use bytes::Bytes;
use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_core::{Decision, Micros, Mode, Retry};

use crate::answers::{Answers, Reset};
use crate::card::Card;
use crate::{secret, sf};

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
    /// Of the limit that binds: for fields that have room for one.
    x_ratelimit: Option<Three>,
    triple: Option<Three>,
    degraded: Degraded,
}

/// Three fields for one limit: how much there is, how much is left, and until when.
#[derive(Clone, Debug)]
struct Three {
    limit: HeaderValue,
    remaining: u64,
    reset: u64,
}

/// What the lists of the draft are made of while lines come in.
#[derive(Default)]
struct Lists<'a> {
    binding: Option<(&'a Card, Decision)>,
    /// The only member of `RateLimit-Policy` so far, as long as it can be copied from its card.
    only: Option<&'a Card>,
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
        lines: impl Iterator<Item = Shown<'a>>,
        answers: &Answers,
        now: Micros,
    ) -> Self {
        let mut lists = Lists::default();
        for line in lines {
            lists.push(&line, answers);
        }
        let Some((card, decision)) = lists.binding else { return Self::default() };
        let seconds = decision.reset_after.secs_rounded_up();
        let three = |reset| Three { limit: card.limit.clone(), remaining: decision.remaining, reset };
        let reset = match answers.reset {
            Reset::Epoch => now.saturating_add(decision.reset_after).secs_rounded_up(),
            Reset::Delta => seconds,
        };
        Self {
            x_ratelimit: answers.generations.x_ratelimit.then(|| three(reset)),
            triple: answers.generations.triple.then(|| three(seconds)),
            draft: lists.draft(),
            degraded: Degraded::Untold,
        }
    }

    /// What `RateLimit` says of one limit that refuses.
    pub(crate) fn state(card: &Card, remaining: u64, wait: Micros) -> HeaderValue {
        let mut state = Vec::with_capacity(draft::state_len(card, remaining, wait));
        draft::state(&mut state, card, remaining, wait);
        HeaderValue::from_maybe_shared(Bytes::from(state)).unwrap_or(HeaderValue::from_static(""))
    }

    /// The same, and whether the answer is degraded.
    pub(crate) fn and(self, degraded: Degraded) -> Self {
        Self { degraded, ..self }
    }

    /// Writes them beside what the upstream sent. Its members of lists are kept, after ours; of two sets of three the one
    /// with less remaining stands, whole, and the upstream's if that cannot be told.
    pub fn write(self, headers: &mut HeaderMap) {
        // At once, and not in steps.
        headers.reserve(8);
        if let Some((policy, state)) = self.draft {
            draft::write(headers, policy, state);
        }
        if let Some(three) = self.x_ratelimit {
            three.write(headers, &x_ratelimit::NAMES);
        }
        if let Some(three) = self.triple {
            three.write(headers, &triple::NAMES);
        }
        self.degraded.write(headers);
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

impl<'a> Lists<'a> {
    fn push(&mut self, line: &Shown<'a>, answers: &Answers) {
        let Shown { card, decision, partition } = *line;
        if self.binding.is_none_or(|(_, other)| binds(&decision) < binds(&other)) {
            self.binding = Some((card, decision));
        }
        if !answers.generations.draft {
            return;
        }
        let until = line.until();
        if self.state.is_empty() {
            self.state.reserve_exact(draft::state_len(card, decision.remaining, until));
            self.only = Some(card).filter(|_| !answers.partition_key);
        } else {
            self.state.extend_from_slice(b", ");
            if let Some(first) = self.only.take() {
                self.policy.extend_from_slice(first.policy.as_bytes());
            }
            self.policy.extend_from_slice(b", ");
        }
        draft::state(&mut self.state, card, decision.remaining, until);
        if self.only.is_none() {
            self.policy.extend_from_slice(card.policy.as_bytes());
        }
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
        let policy = match self.only {
            Some(card) => card.policy.clone(),
            None => HeaderValue::from_maybe_shared(Bytes::from(self.policy)).ok()?,
        };
        Some((policy, HeaderValue::from_maybe_shared(Bytes::from(self.state)).ok()?))
    }
}

/// The limit that binds comes first: refused for the longest, or with the least remaining, or the longest until it is reset.
pub(crate) const fn binds(decision: &Decision) -> (Reverse<Option<Retry>>, u64, Reverse<Micros>) {
    (Reverse(decision.retry()), decision.remaining, Reverse(decision.reset_after))
}

impl Three {
    /// Writes the three, unless the upstream's own may say that no more remains: of several lines of it, the least. If as much
    /// remains, its own may hold for longer; and what is no whole number, such as one below zero, may be less than ours.
    fn write(self, headers: &mut HeaderMap, [limit, remaining, reset]: &[HeaderName; 3]) {
        let ours = sf::value(self.remaining);
        match headers.entry(remaining) {
            Entry::Vacant(place) => {
                place.insert(ours);
            }
            Entry::Occupied(mut place) => {
                let is_more = |value: &HeaderValue| {
                    whole(value.as_bytes()).is_some_and(|theirs| theirs > self.remaining)
                };
                // A line without a value says nothing.
                if !place.iter().all(|value| value.is_empty() || is_more(value)) {
                    return;
                }
                place.insert(ours);
            }
        }
        headers.insert(limit, self.limit);
        headers.insert(reset, sf::value(self.reset));
    }
}

/// A whole number, in digits only and without zeros before it.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    let plain = text == b"0" || !text.starts_with(b"0");
    let digits = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| plain && digits)?.parse().ok()
}
