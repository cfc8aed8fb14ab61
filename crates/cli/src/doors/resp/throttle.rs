//! `CL.THROTTLE` as in redis-cell: GCRA with numbers that come with the command. Commands that follow each other are decided together.

use std::ops::Range;
use std::pin::Pin;
use std::task::Poll;

use smallvec::SmallVec;
use tollgate::{Hit, HitError, Limit, LimitError, Limiter, Verdict};

use super::arguments::{Arguments, Refusal, shown};
use super::replies::{count, write_throttle};
use super::selection::period;
use super::session::{RECENT_MAX, Session};

/// How many commands are decided together.
pub(super) const BATCH_MAX: usize = 32;

/// `max_burst`, `count` and `period`.
pub(super) type Numbers = [u64; 3];

/// A command that has not been decided: which of the recent limits, where the key is in the input, and its cost.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    limit: usize,
    key: Range<usize>,
    quantity: u64,
}

/// What redis-cell says for wrong arguments, word for word.
fn as_in_redis_cell(what: std::fmt::Arguments<'_>) -> Refusal {
    Refusal(format!("Cell error: Store error: {what}"))
}

impl Session {
    /// Takes a command up, to be decided with those that follow it. `key_at` is where its key is in all input, unless it is inline.
    pub(super) async fn throttle(
        &mut self,
        arguments: Arguments<'_>,
        key_at: Option<Range<usize>>,
        input: &[u8],
    ) {
        self.shared.metrics.throttle.inc();
        let parsed = match parse(arguments) {
            Ok((numbers, quantity, key)) => {
                self.recent(numbers, input).await.map(|limit| (limit, quantity, key))
            }
            Err(refusal) => Err(refusal),
        };
        match (parsed, key_at) {
            (Ok((limit, quantity, _)), Some(key)) => {
                self.batch.push(Pending { limit, key, quantity });
                if self.batch.len() >= BATCH_MAX {
                    self.decide_batch(input).await;
                }
            }
            (Ok((limit, quantity, key)), None) => {
                self.decide_batch(input).await;
                // The key is no part of the input as it is: so it is an input of its own.
                self.batch.push(Pending { limit, key: 0..key.len(), quantity });
                self.decide_batch(key).await;
            }
            (Err(refusal), _) => {
                self.decide_batch(input).await;
                self.refuse(&refusal);
            }
        }
    }

    /// The position of a limit among the recent ones.
    async fn recent(&mut self, numbers: Numbers, input: &[u8]) -> Result<usize, Refusal> {
        if let Some(known) = self.recent.iter().position(|(known, _)| *known == numbers) {
            return Ok(known);
        }
        let limit = self.shared.caller_limits.get(limit(numbers)?);
        if self.recent.len() < RECENT_MAX {
            self.recent.push((numbers, limit));
            return Ok(self.recent.len().saturating_sub(1));
        }
        // A command that waits may need the one that is replaced.
        self.decide_batch(input).await;
        let place = self.replaced_next % RECENT_MAX;
        self.replaced_next = self.replaced_next.wrapping_add(1);
        if let Some(replaced) = self.recent.get_mut(place) {
            *replaced = (numbers, limit);
        }
        Ok(place)
    }

    /// Decides what has been taken up, and writes the replies.
    #[inline]
    pub(super) async fn decide_batch(&mut self, input: &[u8]) {
        if !self.batch.is_empty() {
            self.decide_some(input).await;
        }
    }

    async fn decide_some(&mut self, input: &[u8]) {
        let Self { shared, recent, batch, out, .. } = self;
        let hit = |pending: &Pending| {
            let (_, limit) = recent.get(pending.limit)?;
            Some(limit.hit(input.get(pending.key.clone())?).cost(pending.quantity))
        };
        let hits: SmallVec<[Hit<'_>; BATCH_MAX]> = batch.iter().filter_map(hit).collect();
        let metrics = &shared.endpoint;
        let mut each = |verdict: Verdict| {
            count(metrics, &verdict);
            write_throttle(out, &verdict);
        };
        let decided = if recent.iter().any(|(_, limit)| limit.is_shared()) {
            let verdicts = charge_all(&shared.limiter, &hits).await;
            verdicts.map(|verdicts| verdicts.into_iter().for_each(each))
        } else {
            shared.limiter.try_charge_each(&hits, |_, verdict| each(verdict))
        };
        let decided_none = hits.len();
        let refusal = decided.err().map(Refusal::invalid);
        drop(hits);
        self.batch.clear();
        if let Some(refusal) = refusal {
            // No hit was decided: a key that is too long is no command.
            (0..decided_none).for_each(|_| self.refuse(&refusal));
        }
    }
}

/// Charges hits in a shared store, all of them on their way at once.
async fn charge_all(limiter: &Limiter, hits: &[Hit<'_>]) -> Result<Vec<Verdict>, HitError> {
    type Charging<'a> = Pin<Box<dyn Future<Output = Result<Verdict, HitError>> + Send + 'a>>;
    let mut charging: Vec<(Charging<'_>, Option<Result<Verdict, HitError>>)> = hits
        .iter()
        .map(|hit| (Box::pin(limiter.charge(std::slice::from_ref(hit))) as Charging<'_>, None))
        .collect();
    std::future::poll_fn(|cx| {
        let mut pending = false;
        for (charging, verdict) in charging.iter_mut().filter(|(_, verdict)| verdict.is_none()) {
            match charging.as_mut().poll(cx) {
                Poll::Ready(ready) => *verdict = Some(ready),
                Poll::Pending => pending = true,
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    charging.into_iter().filter_map(|(_, verdict)| verdict).collect()
}

/// The numbers, the quantity and the key of a command.
fn parse(mut arguments: Arguments<'_>) -> Result<(Numbers, u64, &[u8]), Refusal> {
    if !(4..=5).contains(&arguments.len()) {
        return Err(as_in_redis_cell(format_args!(
            "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"
        )));
    }
    let key = arguments.required("key")?;
    let mut number = |name: &str| {
        let argument = arguments.required(name)?;
        tollgate_resp::decimal(argument).ok_or_else(|| wrong(name, argument))
    };
    let numbers = [number("max_burst")?, number("count")?, number("period")?];
    let quantity = if arguments.len() > 0 { arguments.quantity()? } else { 1 };
    Ok((numbers, quantity, key))
}

impl Arguments<'_> {
    fn quantity(&mut self) -> Result<u64, Refusal> {
        let argument = self.required("quantity")?;
        tollgate_resp::decimal(argument).ok_or_else(|| wrong("quantity", argument))
    }
}

/// What is said of an argument that is no number in our range. redis-cell takes some of them.
fn wrong(name: &str, argument: &[u8]) -> Refusal {
    let is_integer = str::from_utf8(argument).is_ok_and(|text| text.parse::<i128>().is_ok());
    if !is_integer {
        return as_in_redis_cell(format_args!("Couldn't parse as integer: {}", shown(argument)));
    }
    Refusal::invalid(format_args!(
        "{name} must be a whole number from 0 on, without sign or leading zeros: got '{}'",
        shown(argument)
    ))
}

/// The limit that redis-cell means by these numbers.
fn limit([max_burst, count, seconds]: Numbers) -> Result<Limit, Refusal> {
    let burst = max_burst.checked_add(1);
    let burst = burst.ok_or_else(|| Refusal::invalid(format_args!("max_burst is too large: {max_burst}")))?;
    if count == 0 || seconds == 0 {
        return Err(as_in_redis_cell(format_args!("Zero rates are not supported")));
    }
    Limit::gcra(burst, count, period(seconds)).map_err(|error: LimitError| Refusal::invalid(error))
}
