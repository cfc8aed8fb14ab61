//! `TG.RESERVE`, `TG.COMMIT`, `TG.CANCEL` and `TG.REFUND`.

use std::time::Duration;

use tollgate::{ClosedReservation, ReservationError, ReservationId};

use super::arguments::{Arguments, Refusal};
use super::dispatch::Done;
use super::replies::number;
use super::selection::Selected;
use super::session::Session;

/// The longest time for which a reservation, a receipt or a permit is kept, in seconds: a day. More is an error.
pub(super) const TTL_MAX: u64 = 86_400;
/// How long a reservation is kept, unless the command says so.
const RESERVATION_TTL: u64 = 60;

impl Session {
    pub(super) async fn reserve(&mut self, mut arguments: Arguments<'_>) -> Done {
        let selected = Selected::parse(&self.shared, &mut arguments)?;
        let (mut cost, mut ttl) = (None, None);
        while arguments.len() > 0 {
            if cost.is_none() && arguments.word("COST") {
                cost = Some(arguments.whole("cost")?);
            } else if ttl.is_none() && arguments.word("TTL") {
                ttl = Some(arguments.whole_within("TTL", (1, TTL_MAX))?);
            } else {
                arguments.end()?;
            }
        }
        let hit = selected.hit(selected.rate()?).estimate(cost.unwrap_or(1));
        let within = Duration::from_secs(ttl.unwrap_or(RESERVATION_TTL));
        let reserved = self.shared.limiter.reserve(&[hit], within).await;
        let (verdict, reservation) = reserved.map_err(Refusal::invalid)?;
        let id = reservation.map(|reservation| reservation.into_id().to_string());
        self.write_decision(&verdict, Some(("reservation", id)))
    }

    pub(super) async fn commit(&mut self, mut arguments: Arguments<'_>) -> Done {
        let id = id(&mut arguments, "reservation")?;
        let cost = arguments.whole("cost")?;
        let closed = self.shared.limiter.commit(id, cost).await.map_err(|error| ended(&error))?;
        self.write_closed(closed);
        Ok(())
    }

    /// Gives back the charge of a reservation, or of a check with a receipt.
    pub(super) async fn cancel(&mut self, mut arguments: Arguments<'_>) -> Done {
        let id = id(&mut arguments, "id")?;
        let closed = self.shared.limiter.cancel(id).await.map_err(|error| ended(&error))?;
        self.write_closed(closed);
        Ok(())
    }

    fn write_closed(&mut self, ClosedReservation { adjustment, .. }: ClosedReservation) {
        let unsettled = u64::try_from(adjustment.unsettled).unwrap_or(u64::MAX);
        let mut reply = self.reply();
        reply.map(3);
        let fields =
            [("refunded", adjustment.refunded), ("charged", adjustment.charged), ("unsettled", unsettled)];
        for (name, value) in fields {
            reply.bulk(name);
            reply.integer(number(value));
        }
    }
}

fn id(arguments: &mut Arguments<'_>, name: &str) -> Result<ReservationId, Refusal> {
    arguments.text(name)?.parse().map_err(Refusal::invalid)
}

fn ended(error: &ReservationError) -> Refusal {
    match error {
        ReservationError::Gone => Refusal(format!("GONE {error}")),
        ReservationError::Ended(_) => Refusal(format!("ENDED {error}")),
        ReservationError::WouldBlock | _ => Refusal::invalid(error),
    }
}
