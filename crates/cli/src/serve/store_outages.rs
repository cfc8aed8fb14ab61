//! Log lines about the shared store: when it fails, why, while it does, and when it recovers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use tollgate_redis::{BreakerState, Cause, Health};

use crate::active_policy::PolicyHandle;
use crate::telemetry::logs::Logs;

/// How often the store's health is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// While a failure lasts, each of its causes has a line when it is first seen, and then one in so long.
const REPEAT: Duration = Duration::from_secs(60);

/// A line that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DueLine {
    /// The store does not serve any more, for this cause if one is known.
    Fails(Option<Cause>),
    /// It has not served for so long, for this cause if one is known.
    StillFails(Option<Cause>, Duration),
    /// It serves again.
    Serves,
    /// It serves, and yet calls fail for this cause, as they do without a right or on a key that holds something else.
    CallsFail(Cause),
}

/// How the store does at a look.
#[derive(Debug)]
struct StoreObservation<'h> {
    serves: bool,
    /// Why there is no connection, if there is none.
    trouble: Option<Cause>,
    /// How many calls have failed so far, by cause.
    failed: &'h [(Cause, u64)],
}

/// What was seen and told so far, from which follows which lines are due.
#[derive(Debug)]
struct OutageTracker {
    served: bool,
    failed: Vec<(Cause, u64)>,
    /// Since when it does not serve.
    since: Duration,
    /// Why, as far as was seen last.
    cause: Option<Cause>,
    /// When each cause was told last, since the store began or ceased to serve.
    told: Vec<(Option<Cause>, Duration)>,
}

/// Writes these lines for as long as the gateway runs.
pub(super) async fn tell(live: Arc<PolicyHandle>, logs: Arc<Logs>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // It has just begun to connect, and gets a moment for that.
    let begun: Instant = looks.tick().await;
    let mut outages = OutageTracker::new();
    loop {
        let now = looks.tick().await.saturating_duration_since(begun);
        let Some(health) = live.load().limits.limiter().store_health() else { return };
        let seen = StoreObservation {
            serves: health.up && health.breaker == BreakerState::Closed,
            trouble: health.trouble.as_ref().map(tollgate_redis::LinkError::cause),
            failed: &health.failed,
        };
        for due in outages.look(&seen, now) {
            let down = nodes_down(&live.load().limits.limiter().store_nodes());
            logs.within(|| write(due, &health, &down));
        }
    }
}

impl OutageTracker {
    /// It gets a moment to begin to serve.
    const fn new() -> Self {
        Self { served: true, failed: Vec::new(), since: Duration::ZERO, cause: None, told: Vec::new() }
    }

    /// Which lines are due.
    fn look(&mut self, seen: &StoreObservation<'_>, now: Duration) -> Vec<DueLine> {
        let mut due = Vec::new();
        if seen.serves {
            if !self.served {
                due.push(DueLine::Serves);
                self.told.clear();
            }
            // Since it serves again, only what is wrong with its answers: the rest is why it did not serve.
            let cause = self.most(seen, |cause| self.served || is_of_an_answer(cause));
            if let Some(cause) = cause.filter(|cause| self.is_due(Some(*cause), now)) {
                due.push(DueLine::CallsFail(cause));
            }
        } else {
            if self.served {
                (self.since, self.cause) = (now, None);
                self.told.clear();
            }
            // Most calls may have failed because others did before them: that is not why, if anything else is known.
            let cause = seen.trouble.or_else(|| self.most(seen, |cause| !is_of_others(cause)));
            self.cause = cause.or(self.cause).or_else(|| self.most(seen, |_| true));
            if self.is_due(self.cause, now) {
                let lasts = now.saturating_sub(self.since);
                due.push(if self.served {
                    DueLine::Fails(self.cause)
                } else {
                    DueLine::StillFails(self.cause, lasts)
                });
            }
        }
        self.served = seen.serves;
        self.failed = seen.failed.to_vec();
        due
    }

    /// Whether a cause was not told lately. If so, it is now.
    fn is_due(&mut self, cause: Option<Cause>, now: Duration) -> bool {
        match self.told.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, last)) if now.saturating_sub(*last) < REPEAT => false,
            Some((_, last)) => {
                *last = now;
                true
            }
            None => {
                self.told.push((cause, now));
                true
            }
        }
    }

    /// Of some causes, the one for which most calls have failed since the last look; `None` if none did.
    fn most(&self, seen: &StoreObservation<'_>, is_asked: impl Fn(Cause) -> bool) -> Option<Cause> {
        let before = |cause: Cause| {
            self.failed.iter().find(|(known, _)| *known == cause).map_or(0, |(_, count)| *count)
        };
        let asked = seen.failed.iter().filter(|(cause, _)| is_asked(*cause));
        let grown = asked.map(|(cause, count)| (count.saturating_sub(before(*cause)), *cause));
        grown.filter(|(more, _)| *more > 0).max_by_key(|(more, _)| *more).map(|(_, cause)| cause)
    }
}

/// Whether a call was not sent because of others: the breaker was open, or too many were on their way.
const fn is_of_others(cause: Cause) -> bool {
    matches!(cause, Cause::Open | Cause::TooManyInFlight)
}

/// Whether the server has answered, and it was no decision.
const fn is_of_an_answer(cause: Cause) -> bool {
    matches!(cause, Cause::Foreign | Cause::ForeignKind | Cause::Disagrees)
}

/// Writes a line. `down` are the nodes of a cluster that do not serve.
fn write(due: DueLine, health: &Health, down: &str) {
    match due {
        DueLine::Serves => tracing::info!("the shared store has recovered"),
        DueLine::Fails(cause) => {
            let why = why(cause, health);
            tracing::warn!(why, down, "the shared store failed: `when_store_fails` applies");
        }
        DueLine::StillFails(cause, lasts) => tracing::warn!(
            why = why(cause, health),
            down,
            seconds = lasts.as_secs(),
            "the shared store is still failing: `when_store_fails` applies"
        ),
        DueLine::CallsFail(cause) => tracing::warn!(
            cause = cause.name(),
            why = why(Some(cause), health),
            "some calls to the shared store fail: `when_store_fails` applies to them"
        ),
    }
}

/// The nodes of a cluster that do not serve.
fn nodes_down(nodes: &[(String, Health)]) -> String {
    let down = nodes.iter().filter(|(_, health)| !health.up || health.breaker != BreakerState::Closed);
    down.map(|(node, _)| node.as_str()).collect::<Vec<_>>().join(", ")
}

/// What is known about a cause: the server's own words, if it said anything.
fn why(cause: Option<Cause>, health: &Health) -> String {
    let Some(cause) = cause else { return "no connection yet".into() };
    let trouble = health.trouble.as_ref().filter(|error| error.cause() == cause);
    // What is wrong with an answer, and what to do about it, it says itself.
    let answer = health.no_decision.as_deref().filter(|_| is_of_an_answer(cause));
    let error = trouble.or_else(|| health.error(cause)).map(ToString::to_string);
    answer.map(str::to_owned).or(error).unwrap_or_else(|| cause.name().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told at each look: its second, whether the store serves, why there is no connection, and why calls failed since the last.
    fn told(looks: &[(u64, bool, Option<Cause>, &[Cause])]) -> Vec<(u64, DueLine)> {
        let (mut outages, mut failed) = (OutageTracker::new(), Vec::<(Cause, u64)>::new());
        let mut told = Vec::new();
        for (second, serves, trouble, causes) in looks {
            for cause in *causes {
                match failed.iter_mut().find(|(known, _)| known == cause) {
                    Some((_, count)) => *count += 1,
                    None => failed.push((*cause, 1)),
                }
            }
            let seen = StoreObservation { serves: *serves, trouble: *trouble, failed: &failed };
            told.extend(
                outages.look(&seen, Duration::from_secs(*second)).into_iter().map(|due| (*second, due)),
            );
        }
        told
    }

    #[test]
    fn a_failure_is_told_at_once_corrected_when_more_is_known_and_repeated_once_a_minute() {
        let (timeout, wrong) = (Some(Cause::ConnectTimeout), Some(Cause::WrongPass));
        let mut looks = vec![(0, true, None, &[][..]), (1, false, None, &[]), (2, false, timeout, &[])];
        // Both come in turns.
        looks.extend(
            (3..200).map(|second| (second, false, if second % 2 == 0 { timeout } else { wrong }, &[][..])),
        );
        looks.push((200, true, None, &[Cause::Open]));
        let lasts = Duration::from_secs;
        let expected = [
            (1, DueLine::Fails(None)),
            (2, DueLine::StillFails(timeout, lasts(1))),
            (3, DueLine::StillFails(wrong, lasts(2))),
            (62, DueLine::StillFails(timeout, lasts(61))),
            (63, DueLine::StillFails(wrong, lasts(62))),
            (122, DueLine::StillFails(timeout, lasts(121))),
            (123, DueLine::StillFails(wrong, lasts(122))),
            (182, DueLine::StillFails(timeout, lasts(181))),
            (183, DueLine::StillFails(wrong, lasts(182))),
            (200, DueLine::Serves),
        ];
        assert_eq!(told(&looks), expected);
    }

    #[test]
    fn a_failure_keeps_its_cause_while_nothing_more_is_heard() {
        let looks = [
            (0, false, None, &[Cause::Timeout, Cause::Open, Cause::Open][..]),
            (1, false, None, &[Cause::Open]),
            (30, false, None, &[]),
            (60, false, None, &[Cause::Open]),
        ];
        let timeout = Some(Cause::Timeout);
        assert_eq!(
            told(&looks),
            [(0, DueLine::Fails(timeout)), (60, DueLine::StillFails(timeout, Duration::from_secs(60)))]
        );
    }

    #[test]
    fn calls_that_fail_while_the_store_serves_have_a_line_a_minute_for_each_cause() {
        let both = &[Cause::NoPerm, Cause::NoPerm, Cause::Foreign][..];
        let looks = [
            (0, true, None, both),
            (10, true, None, &[Cause::Moved][..]),
            (59, true, None, both),
            (60, true, None, both),
        ];
        let expected = [(0, Cause::NoPerm), (10, Cause::Moved), (60, Cause::NoPerm)];
        assert_eq!(told(&looks), expected.map(|(second, cause)| (second, DueLine::CallsFail(cause))));
    }

    #[test]
    fn when_it_serves_again_only_what_is_wrong_with_its_answers_is_told() {
        let looks = [
            (0, false, None, &[Cause::Timeout][..]),
            (1, true, None, &[Cause::Timeout, Cause::Timeout, Cause::Foreign]),
        ];
        let expected = [
            (0, DueLine::Fails(Some(Cause::Timeout))),
            (1, DueLine::Serves),
            (1, DueLine::CallsFail(Cause::Foreign)),
        ];
        assert_eq!(told(&looks), expected);
    }
}
