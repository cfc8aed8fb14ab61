//! Kuadrant's extension: check and report apart, and reservations that are committed with the actual amount.

mod grpc;
mod messages;

use std::time::Duration;

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use smallvec::SmallVec;
use tollgate::{Kind, ReservationError, ReservationId};
use tonic::Status;

pub(crate) use self::grpc::Kuadrant;
use self::messages::{CommitRequest, CommitResponse, ReserveRequest, ReserveResponse};
use crate::decide::{unavailable, wrong};
use crate::plan::{Hits, Plan};
use crate::service::RateLimitService;

/// How long a reservation is held unless the request says so.
const TTL: Duration = Duration::from_secs(60);
/// The longest that a reservation is held. A request for longer is held for this long.
const TTL_MAX: Duration = Duration::from_secs(86_400);

impl RateLimitService {
    /// Says whether the hits would fit, and charges nothing.
    async fn check_only(&self, request: &RateLimitRequest) -> Result<RateLimitResponse, Status> {
        self.decide_with(request, |plan| {
            for planned in plan.iter_mut() {
                planned.hits = Hits::Check;
            }
        })
        .await
    }

    /// Charges the hits, whether they fit or not: the work is done. A key can owe at most one limit more than it has.
    async fn report(&self, request: &RateLimitRequest) -> Result<RateLimitResponse, Status> {
        let plan = self.plan(&request.domain, &request.descriptors, request.hits_addend.max(1).into())?;
        let limiter = &self.shared().limiter;
        for planned in &plan {
            let (Hits::Charge(cost), Some(hit)) = (planned.hits, planned.hit(0)) else { continue };
            let charged = limiter.charge_for_receipt(&[hit.estimate(0)]).await;
            let (verdict, receipt) = charged.map_err(|error| wrong(&error))?;
            if let Kind::Unavailable(why) = verdict.kind() {
                return Err(unavailable(why));
            }
            if let Some(receipt) = receipt {
                limiter.settle(receipt, cost).await.map_err(|error| wrong(&error))?;
            }
        }
        Ok(RateLimitResponse { overall_code: Code::Ok.into(), ..RateLimitResponse::default() })
    }

    /// Charges an amount that is estimated, to be committed. Where no limit applies, there is nothing to commit, and the ID is empty.
    async fn reserve(&self, request: &ReserveRequest) -> Result<ReserveResponse, Status> {
        let plan = self.plan(&request.domain, &request.descriptors, request.amount)?;
        let hits: SmallVec<[_; 4]> = plan
            .iter()
            .filter_map(|planned| planned.hit(0))
            .map(|hit| hit.estimate(request.amount))
            .collect();
        let granted = |id| ReserveResponse { code: Code::Ok.into(), reservation_id: id };
        if hits.is_empty() {
            return Ok(granted(String::new()));
        }
        let ttl = request.ttl.as_ref().and_then(|ttl| u64::try_from(ttl.seconds).ok()).filter(|ttl| *ttl > 0);
        let ttl = ttl.map_or(TTL, Duration::from_secs).min(TTL_MAX);
        let reserved = self.shared().limiter.reserve(&hits, ttl).await;
        let (verdict, reservation) = reserved.map_err(|error| wrong(&error))?;
        match (verdict.kind(), reservation) {
            (Kind::Granted, reservation) => {
                let id = reservation.map(|reservation| reservation.into_id().to_string());
                Ok(granted(id.unwrap_or_default()))
            }
            (Kind::Refused, _) => {
                Ok(ReserveResponse { code: Code::OverLimit.into(), reservation_id: String::new() })
            }
            (Kind::Unavailable(why), _) => Err(unavailable(why)),
        }
    }

    /// Replaces the estimate of a reservation by the actual amount. Committing again with the same ID changes nothing.
    async fn commit(&self, request: &CommitRequest) -> Result<CommitResponse, Status> {
        if request.reservation_id.is_empty() {
            return Ok(CommitResponse::default());
        }
        let id: ReservationId = request
            .reservation_id
            .parse()
            .map_err(|_| Status::invalid_argument("this is no reservation ID"))?;
        match self.shared().limiter.commit(id, request.actual_amount).await {
            Ok(_) => Ok(CommitResponse::default()),
            Err(error @ ReservationError::Gone) => Err(Status::not_found(error.to_string())),
            Err(error) => Err(Status::failed_precondition(error.to_string())),
        }
    }
}

/// Changes what a plan does.
pub(crate) type Change = fn(&mut Plan);

#[cfg(test)]
mod tests;
