//! Lets requests wait for their turn: in queues, then for permits, then for charges. A waiting request holds nothing of another limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use smallvec::SmallVec;
use tollgate::{Departure, Hit, Kind, LeakyQueue, PlaceInLine, QueueError, Source, Verdict, WaitError};
use tollgate_algorithms::{Decision, Micros, Mode, Outcome, Retry};
use tollgate_policy::numbers::Numbers;
use tollgate_policy::{Charge, Hits, Variant};

use super::{FEW, PolicyLimits};
use crate::acquired::{AcquiredPermits, acquire_now};
use crate::charge::ChargeDetails;
use crate::enforcer::Enforcer;
use crate::error::CheckError;
use crate::ids::DescriptorId;
use crate::scratch::HeldLimit;
use crate::status::StoredStatus;

/// What came of waiting.
#[expect(clippy::large_enum_variant, reason = "most requests are charged, and it lives for a moment")]
pub(super) enum WaitResult {
    /// The charge says what becomes of the request.
    Charged(AcquiredPermits, ChargeDetails),
    /// A limit refuses it. Nothing was charged, and nothing is held.
    Refused(SmallVec<[StoredStatus; 2]>),
    /// A store gave no answer, for this cause, and a limit denies then. Nothing is held.
    Unknown(&'static str),
}

/// One request that may wait.
pub(super) struct Waiter<'a> {
    pub(super) enforcer: &'a Arc<Enforcer>,
    pub(super) hits: &'a Hits,
    /// When it was decided to wait, by the calendar.
    pub(super) now: Micros,
    /// The same by the limiter's clock.
    since: Micros,
    /// When its client has no more use for a response, by the limiter's clock.
    until: Option<Micros>,
    /// Whether it had to wait.
    waited: AtomicBool,
}

impl Waiter<'_> {
    /// How long it has waited; `None` if it did not have to.
    pub(super) fn waited(&self, now: Micros) -> Option<Micros> {
        self.waited.load(Ordering::Relaxed).then(|| now.saturating_sub(self.since))
    }

    fn waits(&self) {
        self.waited.store(true, Ordering::Relaxed);
    }
}

impl PolicyLimits {
    /// The limiter's queue for a variant.
    pub(super) fn queue(&self, variant: &Variant) -> Option<LeakyQueue> {
        let Numbers::Queue { quota, max_wait } = variant.numbers else { return None };
        let limit = self.policy.limits().get(variant.limit.index())?;
        let queue = self.queue_of(limit, quota).with_strict(limit.strict);
        Some(match max_wait {
            Some(most) => queue.with_max_wait(Duration::from(most)),
            None => queue,
        })
    }

    /// A request that may wait until `time_left` is over.
    pub(super) fn waiter<'a>(
        &self,
        enforcer: &'a Arc<Enforcer>,
        hits: &'a Hits,
        (now, time_left): (Micros, Option<Duration>),
    ) -> Waiter<'a> {
        let since = self.limiter.clock_now();
        let until = time_left.map(|left| since.saturating_add(Micros::from_duration(left)));
        Waiter { enforcer, hits, now, since, until, waited: AtomicBool::new(false) }
    }

    /// Until when a request waits for a limit; `None` if it does not.
    fn deadline(&self, waiter: &Waiter<'_>, charge: &Charge) -> Option<Micros> {
        let wait = self.policy.limits().get(charge.limit.index())?.wait?;
        let deadline = waiter.since.saturating_add(wait);
        Some(waiter.until.map_or(deadline, |until| until.min(deadline)))
    }

    /// Waits for the turn of a request, and charges it.
    pub(super) async fn charge_in_turn(
        &self,
        waiter: &Waiter<'_>,
        (verdict, asked): (&mut Option<Verdict>, &mut HeldLimit),
    ) -> Result<WaitResult, CheckError> {
        asked.clear();
        let queued = self.enter_queues(waiter, asked).await?;
        if let Some(why) = queued.unavailable {
            return Ok(WaitResult::Unknown(why));
        }
        if queued.is_refused {
            return Ok(WaitResult::Refused(queued.statuses.into_iter().collect()));
        }
        let (charges, places) = (self.charges::<FEW>(waiter.hits), waiter.hits.charges());
        let mut line = match self.join_lines(waiter, &charges).await? {
            Ok(line) => line,
            Err(refused) => return Ok(WaitResult::Refused(refused)),
        };
        let before = asked.len();
        loop {
            asked.truncate(before);
            let mut acquired = self.acquire_in_turn(waiter, asked).await?;
            if let Some(why) = acquired.unavailable {
                return Ok(WaitResult::Unknown(why));
            }
            if acquired.is_refused {
                return Ok(WaitResult::Refused(acquired.statuses.into_iter().collect()));
            }
            acquired.statuses.extend(queued.statuses.iter().copied());
            if charges.is_empty() {
                return Ok(WaitResult::Charged(acquired, ChargeDetails::default()));
            }
            let charged = self.hits_of(waiter.hits, &charges).charge(verdict).await?;
            let refused = verdict.as_ref().and_then(refused_until).and_then(|(place, wait)| {
                let (hit, charge) = (charges.get(place)?, places.get(place)?);
                let deadline = self.deadline(waiter, charge)?;
                let is_in_time = self.limiter.clock_now().saturating_add(wait) <= deadline;
                is_in_time.then_some((hit, charge, wait, deadline))
            });
            let Some((hit, charge, wait, deadline)) = refused else {
                if let Some((_, line)) = line.take_if(|_| verdict.as_ref().is_some_and(Verdict::is_granted)) {
                    line.leave_served();
                }
                return Ok(WaitResult::Charged(acquired, charged));
            };
            drop(acquired);
            waiter.waits();
            if let Err(refused) =
                self.wait_in_line(waiter.hits, (hit, charge), &mut line, (wait, deadline)).await?
            {
                return Ok(WaitResult::Refused(refused));
            }
        }
    }

    /// Waits until it is time to try again. In the line of one key at a time: who stands in two could wait for another who does.
    async fn wait_in_line<'a>(
        &'a self,
        hits: &Hits,
        (hit, charge): (&Hit<'_>, &Charge),
        line: &mut Option<(usize, PlaceInLine<'a>)>,
        (wait, deadline): (Micros, Micros),
    ) -> Result<Result<(), SmallVec<[StoredStatus; 2]>>, CheckError> {
        let place = charge.variant.index();
        if line.as_ref().is_none_or(|(other, _)| *other != place) {
            drop(line.take());
            let joined = match hits.member(charge) {
                None => self.limiter.join_line(hit, Some(deadline)).await,
                Some(member) => self.limiter.join_line_for(hit, member, Some(deadline)).await,
            };
            match joined {
                Ok(joined) => *line = Some((place, joined)),
                Err(error) => return in_vain(error, hit, charge),
            }
        }
        let Some((_, line)) = line else { return Ok(Ok(())) };
        match line.wait(wait, Some(deadline)).await {
            Ok(()) => Ok(Ok(())),
            Err(error) => in_vain(error, hit, charge),
        }
    }

    /// Joins the line of the first limit that others wait for already, and waits for the turn.
    async fn join_lines<'a>(
        &'a self,
        waiter: &Waiter<'_>,
        charges: &[Hit<'_>],
    ) -> Result<Result<Option<(usize, PlaceInLine<'a>)>, SmallVec<[StoredStatus; 2]>>, CheckError> {
        for (hit, charge) in charges.iter().zip(waiter.hits.charges()) {
            let Some(deadline) = self.deadline(waiter, charge) else { continue };
            if self.limiter.has_line(hit)? {
                waiter.waits();
                let mut line = None;
                let waited = self
                    .wait_in_line(waiter.hits, (hit, charge), &mut line, (Micros::ZERO, deadline))
                    .await?;
                return Ok(waited.map(|()| line));
            }
        }
        Ok(Ok(None))
    }

    /// Acquires the permits of a request, all or none. Who waits for one gives the others back first.
    async fn acquire_in_turn(
        &self,
        waiter: &Waiter<'_>,
        asked: &mut HeldLimit,
    ) -> Result<AcquiredPermits, CheckError> {
        let (wanted, mut ready) = (self.wanted(waiter.hits), None);
        let before = asked.len();
        loop {
            asked.truncate(before);
            let acquired = acquire_now(waiter.enforcer, &wanted, ready.take(), (waiter.now, asked)).await?;
            let refusing =
                wanted.get(acquired.statuses.len().saturating_sub(1)).filter(|_| acquired.is_refused);
            let Some(one) = refusing.filter(|_| acquired.unavailable.is_none()) else { return Ok(acquired) };
            let charge = waiter.hits.held().get(one.place);
            let Some(deadline) = charge.and_then(|charge| self.deadline(waiter, charge)) else {
                return Ok(acquired);
            };
            let left = deadline.saturating_sub(self.limiter.clock_now());
            waiter.waits();
            let member = charge.and_then(|charge| waiter.hits.member(charge));
            match one.acquire_within(left.into(), member).await {
                Ok(permit) => ready = Some((one.place, permit)),
                Err(_) => return Ok(acquired),
            }
        }
    }

    /// Waits in every queue that the request has to pass.
    async fn enter_queues(
        &self,
        waiter: &Waiter<'_>,
        asked: &mut HeldLimit,
    ) -> Result<AcquiredPermits, CheckError> {
        let mut entered = AcquiredPermits::default();
        for (place, charge) in waiter.hits.held().iter().enumerate() {
            let Some(queue) = self.queues.get(charge.variant.index()).and_then(Option::as_ref) else {
                continue;
            };
            let key = waiter.hits.key(charge);
            let result = match (charge.mode, waiter.until) {
                // Nobody waits in a queue that is only looked at.
                (Mode::Shadow, _) => looked_at(queue, key),
                (Mode::Enforced, until) => {
                    let left = until.map(|until| until.saturating_sub(self.limiter.clock_now()).into());
                    match (waiter.hits.member(charge), left) {
                        (Some(member), left) => queue.enter_for(key, member, left).await,
                        (None, None) => queue.enter(key).await,
                        (None, Some(left)) => queue.enter_within(key, left).await,
                    }
                }
            };
            if let Err(QueueError::Unavailable(why)) = result {
                entered.unavailable = Some(why);
            }
            if result.as_ref().is_ok_and(|departure| !departure.waited.is_zero()) {
                waiter.waits();
            }
            let behind = result.as_ref().map_or(0, |departure| departure.behind);
            let left = waiter.until.map(|until| until.saturating_sub(waiter.since));
            let decision = decision(queue, result.map(|_| behind), (left, waiter.now))?;
            entered.note_queue(waiter.enforcer, (place, charge, key), decision, asked);
            if entered.is_refused {
                break;
            }
        }
        Ok(entered)
    }

    /// As [`enter_queues`](Self::enter_queues), for callers that cannot wait.
    pub(super) fn try_enter_queues(
        &self,
        (enforcer, hits): (&Enforcer, &Hits),
        (now, asked): (Micros, &mut HeldLimit),
    ) -> Result<AcquiredPermits, CheckError> {
        let mut entered = AcquiredPermits::default();
        for (place, charge) in hits.held().iter().enumerate() {
            let Some(queue) = self.queues.get(charge.variant.index()).and_then(Option::as_ref) else {
                continue;
            };
            let key = hits.key(charge);
            let entered_one = match charge.mode {
                Mode::Shadow => looked_at(queue, key),
                Mode::Enforced => queue.try_enter(key),
            };
            let result = entered_one.map(|departure| departure.behind);
            if let Err(QueueError::Unavailable(why)) = result {
                entered.unavailable = Some(why);
            }
            let decision = decision(queue, result, (Some(Micros::ZERO), now))?;
            entered.note_queue(enforcer, (place, charge, key), decision, asked);
            if entered.is_refused {
                break;
            }
        }
        Ok(entered)
    }
}

impl AcquiredPermits {
    fn note_queue(
        &mut self,
        enforcer: &Enforcer,
        (place, charge, key): (usize, &Charge, &[u8]),
        decision: Decision,
        asked: &mut HeldLimit,
    ) {
        let id = DescriptorId::new(charge.variant.index());
        let (mode, key_fingerprint) = (charge.mode, enforcer.fingerprint(id, key));
        self.statuses.push(StoredStatus {
            id,
            decision,
            mode,
            source: Source::Own,
            key_fingerprint,
            is_binding: false,
            computed: None,
        });
        asked.push((place, decision.is_granted()));
        self.is_refused = !decision.is_granted() && mode == Mode::Enforced;
    }
}

/// A queue that is only looked at is in this process.
fn looked_at(queue: &LeakyQueue, key: &[u8]) -> Result<Departure, QueueError> {
    #[cfg(feature = "redis")]
    let queue = &queue.local();
    queue.try_enter(key)
}

/// What a queue says, in the numbers of a limit: how many more may wait, and when the last of them has left.
fn decision(
    queue: &LeakyQueue,
    result: Result<u32, QueueError>,
    (left, now): (Option<Micros>, Micros),
) -> Result<Decision, CheckError> {
    let quota = queue.quota();
    let limit = quota.burst();
    let refused = |wait: Micros| Decision {
        outcome: Outcome::Refused(if limit == 0 { Retry::Never } else { Retry::After(wait) }),
        charged: 0,
        limit,
        remaining: 0,
        reset_after: wait,
        at: now,
    };
    match result {
        Ok(behind) => {
            let interval = quota.period().div_ceil(quota.count());
            Ok(Decision {
                outcome: Outcome::Granted,
                charged: 1,
                limit,
                remaining: limit.saturating_sub(behind.into()),
                reset_after: Micros::new(interval.saturating_mul(u64::from(behind).saturating_add(1))),
                at: now,
            })
        }
        Err(QueueError::Hit(error)) => Err(error.into()),
        // By then its wait has become as short as it may be.
        Err(QueueError::TooLong(wait)) => {
            let most = [left, queue.max_wait().map(Micros::from_duration)].into_iter().flatten().min();
            Ok(refused(Micros::from_duration(wait).saturating_sub(most.unwrap_or(Micros::ZERO))))
        }
        Err(QueueError::Full(wait)) => Ok(refused(wait.into())),
        Err(_) => Ok(refused(Micros::SECOND)),
    }
}

/// The hit that refuses for the longest, and for how long; `None` if no wait helps.
fn refused_until(verdict: &Verdict) -> Option<(usize, Micros)> {
    match verdict.retry().filter(|_| verdict.kind() == Kind::Refused)? {
        Retry::After(wait) => Some((verdict.refused_by()?, wait)),
        Retry::Never => None,
    }
}

/// The refusal of a hit for which others wait for too long.
fn in_vain<T>(
    error: WaitError,
    hit: &Hit<'_>,
    charge: &Charge,
) -> Result<Result<T, SmallVec<[StoredStatus; 2]>>, CheckError> {
    let wait = match error {
        WaitError::LineTooLong(wait) => Micros::from_duration(wait),
        WaitError::Hit(error) => return Err(error.into()),
        WaitError::Refused(verdict) => verdict.retry_after().map_or(Micros::SECOND, Micros::from_duration),
    };
    let decision = Decision {
        outcome: Outcome::Refused(Retry::After(wait.max(Micros::new(1)))),
        charged: 0,
        limit: hit.limit().capacity(),
        remaining: 0,
        reset_after: wait,
        at: Micros::ZERO,
    };
    let (id, mode) = (DescriptorId::new(charge.variant.index()), charge.mode);
    let status = StoredStatus {
        id,
        decision,
        mode,
        source: Source::Own,
        key_fingerprint: 0,
        is_binding: false,
        computed: None,
    };
    Ok(Err(SmallVec::from_slice(&[status])))
}
