//! What a client knows of a server's limits, and whether it may send: a state machine without a clock.
//!
//! A response says what remained when the server answered. Requests that are still out may have been charged by then, or not. So a policy's
//! credit is the least that was told since the latest-sent request that is answered was sent, and every request without an answer uses one.

use std::collections::VecDeque;

use tollgate_algorithms::Micros;

use super::headers::{Item, Seen};

/// A server may name so many policies. What it names besides counts as one more.
pub(crate) const POLICIES_MAX: usize = 16;
/// Maximum number of responses kept. Beyond it, the two oldest are merged: the lower number, the later time.
const ANSWERS_MAX: usize = 32;
/// A 429 that does not say for how long counts as this.
const BLOCKED: Micros = Micros::SECOND;
/// A policy that does not say when it begins anew does so after this.
const RESET: Micros = Micros::SECOND;

/// What is known of one server.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Counts what happens: requests that are sent and answers that come.
    events: u64,
    /// Requests without an answer.
    out: u32,
    /// Requests whose responses have not ended.
    in_progress: u32,
    /// Requests that will never be answered, by when that was known. The server may have charged them.
    lost: VecDeque<u64>,
    /// The request that was sent last of those that are answered.
    latest: u64,
    /// Whether the server has answered since it was last unknown what it allows.
    is_known: bool,
    blocked_until: Micros,
    /// When it was blocked. What was sent before teaches nothing.
    blocked_at: u64,
    policies: Vec<Policy>,
}

/// What is known of one policy of a server.
#[derive(Debug)]
struct Policy {
    name: Box<[u8]>,
    /// How many requests may be in progress at once; then nothing else counts.
    at_once: Option<u64>,
    /// What answers have said that remains, by when they came.
    remaining: VecDeque<(u64, u64)>,
    /// When it begins anew.
    reset: Micros,
}

/// Whether a request may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Yes. It is [sent](Pace::sent) now.
    Send,
    /// Not before an answer comes, or this instant.
    Wait(Option<Micros>),
}

impl Pace {
    /// Whether the next request may be sent.
    pub(crate) fn step(&mut self, now: Micros) -> Step {
        if now < self.blocked_until {
            return Step::Wait(Some(self.blocked_until));
        }
        let before = self.policies.len();
        self.policies.retain(|policy| now < policy.reset);
        // What it allows now is unknown: one request asks.
        self.is_known &= self.policies.len() == before;
        if !self.is_known {
            return if self.out == 0 { Step::Send } else { Step::Wait(None) };
        }
        let unanswered = u64::from(self.out).saturating_add(self.lost.len() as u64);
        let mut until = None::<Micros>;
        for policy in &self.policies {
            match policy.at_once {
                Some(most) if u64::from(self.in_progress) < most => {}
                Some(_) => return Step::Wait(None),
                None if policy.credit() > unanswered => {}
                // An answer may say more. If none is to come, it begins anew then.
                None => until = Some(until.map_or(policy.reset, |other| other.max(policy.reset))),
            }
        }
        until.map_or(Step::Send, |until| Step::Wait(Some(until)))
    }

    /// A request is sent. Returns its number, for [`answered`](Self::answered).
    pub(crate) fn sent(&mut self) -> u64 {
        self.events = self.events.saturating_add(1);
        self.out = self.out.saturating_add(1);
        self.in_progress = self.in_progress.saturating_add(1);
        self.events
    }

    /// The head of a response has come.
    pub(crate) fn answered(&mut self, sent: u64, seen: Seen, now: Micros) {
        self.events = self.events.saturating_add(1);
        self.out = self.out.saturating_sub(1);
        if sent > self.latest {
            self.latest = sent;
            self.lost.retain(|lost| *lost >= sent);
        }
        let is_refused = seen.status == 429 || (seen.status == 503 && seen.retry_after.is_some());
        if is_refused {
            let wait = seen.retry_after.or_else(|| seen.longest_reset()).unwrap_or(BLOCKED);
            self.blocked_until = self.blocked_until.max(now.saturating_add(wait));
            // Then one request asks.
            self.is_known = false;
            self.policies.clear();
            self.blocked_at = self.events;
            return;
        }
        if sent < self.blocked_at {
            return;
        }
        self.is_known = true;
        let (event, latest) = (self.events, self.latest);
        for policy in self.policies.iter_mut().filter(|policy| !seen.names(&policy.name)) {
            // It is not told; the request may have used one.
            let known = policy.credit().saturating_sub(1);
            policy.note(event, latest, known);
        }
        for item in &seen.items {
            self.note(item, now);
        }
    }

    fn note(&mut self, item: &Item, now: Micros) {
        if !item.limits_requests() {
            return;
        }
        let (event, latest) = (self.events, self.latest);
        let known = self.policies.iter().position(|policy| policy.name == item.name);
        let at = known.unwrap_or_else(|| {
            if self.policies.len() <= POLICIES_MAX {
                let policy =
                    Policy { name: item.name.clone(), at_once: None, remaining: VecDeque::new(), reset: now };
                self.policies.push(policy);
            }
            self.policies.len().saturating_sub(1)
        });
        let Some(policy) = self.policies.get_mut(at) else { return };
        if item.is_concurrent {
            policy.at_once = item.quota.or(policy.at_once).or(Some(1));
            policy.reset = Micros::new(u64::MAX);
            return;
        }
        if let Some(remaining) = item.remaining {
            policy.note(event, latest, remaining);
            let reset = item.reset.or(item.window).unwrap_or(RESET);
            policy.reset = now.saturating_add(reset.max(Micros::new(1)));
        }
    }

    /// A request was sent and will not be answered.
    pub(crate) fn lost(&mut self) {
        self.events = self.events.saturating_add(1);
        self.out = self.out.saturating_sub(1);
        if self.lost.len() == ANSWERS_MAX {
            // The server does not answer: everything is unknown.
            self.lost.clear();
            self.is_known = false;
            self.policies.clear();
        }
        self.lost.push_back(self.events);
    }

    /// The response to a request has ended, or will never come.
    pub(crate) fn ended(&mut self) {
        self.in_progress = self.in_progress.saturating_sub(1);
    }

    /// Whether nothing is known that would be missed.
    pub(crate) fn is_idle(&self, now: Micros) -> bool {
        self.in_progress == 0
            && now >= self.blocked_until
            && self.policies.iter().all(|policy| policy.at_once.is_some() || now >= policy.reset)
    }
}

impl Policy {
    fn credit(&self) -> u64 {
        self.remaining.iter().map(|(_, remaining)| *remaining).min().unwrap_or(0)
    }

    /// Notes an answer, and forgets those that came before the latest-sent request that is answered was sent.
    fn note(&mut self, event: u64, latest: u64, remaining: u64) {
        self.remaining.retain(|(came, _)| *came >= latest);
        self.remaining.push_back((event, remaining));
        if self.remaining.len() > ANSWERS_MAX
            && let Some((_, oldest)) = self.remaining.pop_front()
            && let Some((_, next)) = self.remaining.front_mut()
        {
            *next = oldest.min(*next);
        }
    }
}
