//! Charges the limits of a request together, all or none, and says what came of each.

use smallvec::SmallVec;
use tollgate::{FailureRule, HitError, HitResult, Kind, Receipt, Verdict};
use tonic::Status;

use crate::plan::{Hits, Plan, Planned};
use crate::receipts::{Charged, Receipts};
use crate::service::Shared;

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Decided {
    /// Whether the request is refused.
    pub(crate) is_refused: bool,
    /// For each limit of the plan; `None` if it is unlimited, or if nothing is known.
    pub(crate) results: SmallVec<[Option<HitResult>; 4]>,
}

impl Shared {
    /// Checks, charges and refunds.
    pub(crate) async fn decide(&self, plan: &Plan) -> Result<Decided, Status> {
        let mut decided = Decided { is_refused: false, results: plan.iter().map(|_| None).collect() };
        let which = |hits: fn(&Hits) -> bool| {
            let all = plan.iter().enumerate();
            let chosen = all.filter(move |(_, planned)| planned.limited.is_some() && hits(&planned.hits));
            chosen.map(|(place, _)| place).collect::<SmallVec<[usize; 4]>>()
        };
        let checks = which(|hits| matches!(hits, Hits::Check));
        if !checks.is_empty() {
            self.check(plan, &checks, &mut decided).await?;
        }
        let charges = which(|hits| matches!(hits, Hits::Charge(_)));
        if !charges.is_empty() {
            self.charge(plan, &charges, &mut decided).await?;
        }
        if !decided.is_refused {
            for place in which(|hits| matches!(hits, Hits::Refund(_))) {
                self.refund(plan, place, &mut decided).await?;
            }
        }
        Ok(decided)
    }

    /// Checks that a hit on each would fit.
    async fn check(&self, plan: &Plan, places: &[usize], decided: &mut Decided) -> Result<(), Status> {
        let planned = || places.iter().filter_map(|place| plan.get(*place));
        let hits: SmallVec<[_; 4]> = planned().filter_map(|planned| planned.hit(1)).collect();
        let verdict = self.limiter.peek(&hits).await.map_err(|error| wrong(&error))?;
        match verdict.kind() {
            Kind::Unavailable(_) if self.options.when_store_fails == FailureRule::Allow => return Ok(()),
            Kind::Unavailable(why) => return Err(unavailable(why)),
            Kind::Granted | Kind::Refused => {}
        }
        decided.take(places, &verdict);
        let are_quotas_over = is_every_quota_over(places, plan, &verdict);
        decided.is_refused |= !verdict.is_granted() || are_quotas_over;
        Ok(())
    }

    /// Charges all or none; none if the request is refused already.
    async fn charge(&self, plan: &Plan, places: &[usize], decided: &mut Decided) -> Result<(), Status> {
        let planned = || places.iter().filter_map(|place| plan.get(*place));
        let is_final = !self.receipts.are_kept();
        let hits: SmallVec<[_; 4]> = planned()
            .filter_map(|planned| match planned.hits {
                // A quota may have to be given back.
                Hits::Charge(cost) if is_final && !planned.is_quota() => {
                    planned.hit(cost).map(tollgate::Hit::non_refundable)
                }
                Hits::Charge(cost) => planned.hit(cost),
                Hits::Check | Hits::Refund(_) => None,
            })
            .collect();
        let (verdict, receipt) = if decided.is_refused {
            let verdict = self.limiter.peek(&hits).await.map_err(|error| wrong(&error))?;
            if let Kind::Unavailable(_) = verdict.kind() {
                return Ok(());
            }
            (verdict, None)
        } else {
            self.limiter.charge_for_receipt(&hits).await.map_err(|error| wrong(&error))?
        };
        if let Kind::Unavailable(why) = verdict.kind() {
            return Err(unavailable(why));
        }
        decided.take(places, &verdict);
        if !verdict.is_granted() {
            decided.is_refused = true;
        } else if is_every_quota_over(places, plan, &verdict) {
            decided.is_refused = true;
            if let Some(receipt) = receipt {
                // The other limits were charged: a refused request charges none.
                self.limiter.refund(receipt).await.map_err(|error| wrong(&error))?;
            }
        } else if let Some(receipt) = receipt {
            keep(&self.receipts, receipt, planned());
        }
        Ok(())
    }

    /// Gives back what the newest charges of a key make up.
    async fn refund(&self, plan: &Plan, place: usize, decided: &mut Decided) -> Result<(), Status> {
        let Some(planned) = plan.get(place) else { return Ok(()) };
        let (Hits::Refund(hits), Some((limit, _))) = (planned.hits, &planned.limited) else { return Ok(()) };
        let mut left = hits;
        for Charged { receipt, cost } in self.receipts.take((limit.name(), &planned.key), hits) {
            let stays = cost.saturating_sub(left);
            let adjusted = match stays {
                0 => self.limiter.refund(receipt).await,
                stays => self.limiter.settle(receipt, stays).await,
            };
            let adjusted = adjusted.map_err(|error| wrong(&error))?;
            self.counters.refunded.add(adjusted.refunded);
            left = left.saturating_sub(adjusted.refunded);
        }
        self.counters.not_refunded.add(left);
        let hits: SmallVec<[_; 1]> = planned.hit(0).into_iter().collect();
        if let Ok(verdict) = self.limiter.peek(&hits).await {
            decided.take(&[place], &verdict);
        }
        Ok(())
    }
}

impl Decided {
    fn take(&mut self, places: &[usize], verdict: &Verdict) {
        for (place, answer) in places.iter().zip(verdict.results()) {
            if let Some(result) = self.results.get_mut(*place) {
                *result = Some(*answer);
            }
        }
    }
}

/// Whether there are quotas, and none of them has room.
fn is_every_quota_over(places: &[usize], plan: &Plan, verdict: &Verdict) -> bool {
    let planned = places.iter().filter_map(|place| plan.get(*place));
    let mut quotas = planned.zip(verdict.results()).filter(|(planned, _)| planned.is_quota()).peekable();
    quotas.peek().is_some() && quotas.all(|(_, answer)| !answer.is_granted())
}

fn keep<'p>(receipts: &Receipts, receipt: Receipt, planned: impl Iterator<Item = &'p Planned>) {
    let mut rest = receipt;
    for (number, planned) in planned.enumerate() {
        let (Hits::Charge(cost), Some((limit, _))) = (planned.hits, &planned.limited) else { continue };
        if rest.is_empty() || !rest.holds(number) {
            continue;
        }
        let (own, others) = rest.part(|hit| hit == number);
        rest = others;
        receipts.keep((limit.name(), &planned.key), Charged { receipt: own, cost });
    }
}

/// A call that the limiter rejects. Nothing was charged.
pub(crate) fn wrong(error: &HitError) -> Status {
    Status::invalid_argument(error.to_string())
}

/// No decision. Never `UNKNOWN` in a response, which Envoy takes for a grant whatever its failure mode.
pub(crate) fn unavailable(why: tollgate::Unavailable) -> Status {
    let why = match why {
        tollgate::Unavailable::Store(cause) => format!("the shared store makes no decision: {cause}"),
        tollgate::Unavailable::NoRoom => "the memory for limits is full".into(),
        tollgate::Unavailable::TooManyReservations => "the maximum number of reservations is open".into(),
        tollgate::Unavailable::NoRandomness | _ => "the limiter makes no decision".into(),
    };
    Status::unavailable(why)
}
