//! `TG.ACQUIRE`, `TG.RENEW` and `TG.RELEASE`.

use std::time::Duration;

use tollgate::algorithms::Mode;
use tollgate::{AcquireError, CONCURRENCY_MAX, ConcurrencyLimit, Micros};

use super::arguments::{Arguments, Refusal, shown};
use super::dispatch::Done;
use super::permit_book::Full;
use super::replies::ceil_to;
use super::reservation_commands::TTL_MAX;
use super::selection::{By, Selected, named};
use super::session::Session;

/// How long a permit is held, unless the command or the policy says so, in seconds.
const PERMIT_TTL: u64 = 60;

impl Session {
    pub(super) async fn acquire(&mut self, mut arguments: Arguments<'_>) -> Done {
        let Selected { key, by, mode } = if arguments.word("LIMIT") {
            let key = arguments.required("key")?;
            let most = arguments.whole_within("limit", (0, CONCURRENCY_MAX.into()))?;
            let limit = self.shared.caller_limits.concurrency(u32::try_from(most).unwrap_or(CONCURRENCY_MAX));
            Selected { key, by: By::Concurrency(limit), mode: Mode::Enforced }
        } else if arguments.word("NAMED") {
            named(&self.shared, &mut arguments)?
        } else {
            let found = shown(arguments.next().unwrap_or_default());
            return Err(Refusal::invalid(format_args!("expected LIMIT or NAMED, got '{found}': try HELP")));
        };
        let By::Concurrency(limit) = by else {
            return Err(Refusal::invalid("the limit has no permits: use TG.CHECK"));
        };
        let ttl = ttl(&mut arguments, limit.max_hold())?;
        self.shared.permits.expire();
        let acquired = match mode {
            Mode::Enforced => limit.acquire_now(key).await,
            Mode::Shadow => limit.try_acquire_shadow(key),
        };
        let permit = match acquired {
            Ok(permit) => permit,
            Err(AcquireError::Busy(busy) | AcquireError::TimedOut(busy)) => {
                self.write_permit(&limit, key, Err(busy.estimated_wait()));
                return Ok(());
            }
            Err(error @ AcquireError::KeyTooLong { .. }) => return Err(Refusal::invalid(error)),
            Err(error @ (AcquireError::Unavailable { .. } | AcquireError::WouldBlock { .. })) => {
                return Err(Refusal::unavailable(error));
            }
        };
        let id = self.shared.permits.hold(permit, ttl).map_err(|Full(why)| Refusal::unavailable(why))?;
        self.write_permit(&limit, key, Ok(&id));
        Ok(())
    }

    /// A permit's ID, or how long it may take until one is free.
    fn write_permit(
        &mut self,
        limit: &ConcurrencyLimit,
        key: &[u8],
        permit: Result<&String, Option<Duration>>,
    ) {
        let (most, in_flight) = (limit.limit(), limit.in_flight(key));
        let mut reply = self.reply();
        reply.map(5);
        reply.bulk("granted");
        reply.boolean(permit.is_ok());
        reply.bulk("limit");
        reply.integer(most.into());
        reply.bulk("in_flight");
        reply.integer(in_flight.into());
        reply.bulk("permit");
        match permit {
            Ok(id) => reply.bulk(id),
            Err(_) => reply.null(),
        }
        reply.bulk("retry_ms");
        match permit {
            Ok(_) => reply.null(),
            Err(None) => reply.integer(-1),
            Err(Some(wait)) => reply.integer(ceil_to(Micros::from_duration(wait), Micros::MILLISECOND)),
        }
    }

    pub(super) fn renew(&mut self, mut arguments: Arguments<'_>) -> Done {
        let id = id(&mut arguments)?;
        let ttl = ttl(&mut arguments, None)?;
        let is_held = self.shared.permits.renew(id, ttl);
        self.reply().integer(is_held.into());
        Ok(())
    }

    pub(super) fn release(&mut self, mut arguments: Arguments<'_>) -> Done {
        let id = id(&mut arguments)?;
        let was_held = self.shared.permits.release(id);
        self.reply().integer(was_held.into());
        Ok(())
    }
}

fn ttl(arguments: &mut Arguments<'_>, longest: Option<Duration>) -> Result<Duration, Refusal> {
    let ttl = if arguments.word("TTL") {
        Some(Duration::from_secs(arguments.whole_within("TTL", (1, TTL_MAX))?))
    } else {
        None
    };
    arguments.end()?;
    match (ttl, longest) {
        (Some(ttl), Some(longest)) if ttl > longest => Err(Refusal::invalid(format_args!(
            "TTL is longer than the policy's max_hold of {}",
            Micros::from_duration(longest)
        ))),
        (Some(ttl), _) => Ok(ttl),
        (None, longest) => Ok(longest.unwrap_or(Duration::from_secs(PERMIT_TTL))),
    }
}

fn id(arguments: &mut Arguments<'_>) -> Result<u128, Refusal> {
    let text = arguments.required("permit")?;
    let digits = text.len() == 32 && text.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let number = str::from_utf8(text).ok().and_then(|text| u128::from_str_radix(text, 16).ok());
    number.filter(|_| digits).ok_or_else(|| {
        Refusal::invalid(format_args!("a permit has 32 lower-case hexadecimal digits: got '{}'", shown(text)))
    })
}
