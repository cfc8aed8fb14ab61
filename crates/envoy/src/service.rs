//! The rate limit service: decodes nothing and counts nothing itself; it plans, lets the limiter decide, and writes the response.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService as Rls, RateLimitServiceServer,
};
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use tollgate::Limiter;
use tonic::service::Routes;
use tonic::{Code, Request, Response, Status};

use crate::bounds::{self, MESSAGE_BYTES_MAX};
use crate::counters::Counters;
use crate::in_force::InForce;
use crate::kuadrant::{Change, Kuadrant};
use crate::limits::Limits;
use crate::options::Options;
use crate::plan::{Asked, Plan, Planner};
use crate::receipts::Receipts;
use crate::reflection;
use crate::response::response;

/// Envoy's rate limit service on a limiter. Clones are the same service.
#[derive(Clone)]
pub struct RateLimitService(Arc<Shared>, Option<Observer>);

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observed {
    /// `OK`.
    Granted,
    /// `OVER_LIMIT`.
    Refused,
    /// An error of the call, because no decision was possible.
    Unavailable,
    /// An error of the call, because the request breaks a rule of the protocol or a bound.
    Invalid,
}

/// Is told what came of each request.
type Observer = Arc<dyn Fn(Observed) + Send + Sync>;

/// A response without a service: the caller may not call it.
#[must_use]
pub fn unauthenticated(why: &'static str) -> tonic::codegen::http::Response<tonic::body::Body> {
    Status::unauthenticated(why).into_http()
}

/// What all calls share.
pub(crate) struct Shared {
    pub(crate) limiter: Limiter,
    pub(crate) options: Options,
    pub(crate) counters: Arc<Counters>,
    pub(crate) receipts: Receipts,
    in_force: ArcSwap<InForce>,
    health: tonic_health::server::HealthReporter,
}

impl RateLimitService {
    /// Puts limits in force on a limiter.
    #[must_use]
    pub fn new(limiter: Limiter, limits: Limits, options: Options) -> Self {
        let counters = Arc::new(Counters::default());
        let in_force = InForce::new(limits, &limiter, &options, &counters);
        let receipts = Receipts::new(options.receipts_per_key);
        let in_force = ArcSwap::from_pointee(in_force);
        let health = tonic_health::server::HealthReporter::new();
        Self(Arc::new(Shared { limiter, options, counters, receipts, in_force, health }), None)
    }

    /// Calls a function with what came of each request.
    #[must_use]
    pub fn with_observer(self, observer: impl Fn(Observed) + Send + Sync + 'static) -> Self {
        Self(self.0, Some(Arc::new(observer)))
    }

    /// Replaces the limits. Keys of limits that stay keep their usage. Requests that have begun keep the old limits.
    pub fn replace(&self, limits: Limits) {
        let Shared { limiter, options, counters, .. } = &*self.0;
        self.0.in_force.store(Arc::new(InForce::new(limits, limiter, options, counters)));
    }

    /// What has been counted.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.0.counters
    }

    /// The gRPC services: rate limits, health and reflection.
    #[must_use]
    pub fn routes(&self) -> Routes {
        let rls = RateLimitServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let health = tonic_health::pb::health_server::HealthServer::new(
            tonic_health::server::HealthService::from_health_reporter(self.0.health.clone()),
        );
        reflection::add(Routes::new(rls).add_service(health).add_service(Kuadrant(self.clone())))
    }

    /// Reports to health checks that requests are served, or no longer are.
    pub async fn set_serving(&self, is_serving: bool) {
        use tonic_health::ServingStatus::{NotServing, Serving};
        let status = if is_serving { Serving } else { NotServing };
        for name in ["", "envoy.service.ratelimit.v3.RateLimitService"] {
            self.0.health.set_service_status(name, status).await;
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }

    /// The limits that apply to a request within bounds, as of now.
    pub(crate) fn plan(
        &self,
        domain: &str,
        descriptors: &[RateLimitDescriptor],
        hits: u64,
    ) -> Result<Plan, Status> {
        bounds::check(domain, descriptors)?;
        let Shared { limiter, options, counters, .. } = &*self.0;
        let in_force = self.0.in_force.load_full();
        let planner = Planner { in_force: &in_force, limiter, options, counters };
        planner.plan(Asked { domain, descriptors, hits })
    }

    async fn decide(&self, request: &RateLimitRequest) -> Result<RateLimitResponse, Status> {
        self.decide_with(request, |_| ()).await
    }

    /// Decides after a change of what is done to the limits.
    pub(crate) async fn decide_with(
        &self,
        request: &RateLimitRequest,
        change: Change,
    ) -> Result<RateLimitResponse, Status> {
        bounds::check(&request.domain, &request.descriptors)?;
        let shared = &*self.0;
        let in_force = shared.in_force.load_full();
        // At the level of the request, 0 means that nothing is said.
        let hits = u64::from(request.hits_addend.max(1));
        let asked = Asked { domain: &request.domain, descriptors: &request.descriptors, hits };
        let Shared { limiter, options, counters, .. } = shared;
        let planner = Planner { in_force: &in_force, limiter, options, counters };
        let mut plan = planner.plan(asked)?;
        change(&mut plan);
        let decided = shared.decide(&plan).await?;
        count(&plan, &decided, &in_force);
        Ok(response(request.descriptors.len(), &plan, &decided, (&options.headers, limiter.now())))
    }
}

/// Counts what came of each limit.
fn count(plan: &Plan, decided: &crate::decide::Decided, in_force: &InForce) {
    for (planned, result) in plan.iter().zip(&decided.results) {
        let (Some(counters), Some(answer)) = (planned.counters(in_force), result) else { continue };
        match (answer.is_granted(), planned.is_shadow()) {
            (true, _) => counters.granted.inc(),
            (false, true) => counters.shadow_refused.inc(),
            (false, false) => counters.refused.inc(),
        }
    }
}

#[tonic::async_trait]
impl Rls for RateLimitService {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let decided = self.decide(request.get_ref()).await;
        let counters = &self.0.counters;
        let (observed, count) = match &decided {
            Ok(response) if response.overall_code == 1 => (Observed::Granted, &counters.granted),
            Ok(_) => (Observed::Refused, &counters.refused),
            Err(status) if status.code() == Code::Unavailable => {
                (Observed::Unavailable, &counters.unavailable)
            }
            Err(_) => (Observed::Invalid, &counters.invalid),
        };
        count.inc();
        if let Some(observer) = &self.1 {
            observer(observed);
        }
        decided.map(Response::new)
    }
}

impl fmt::Debug for RateLimitService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RateLimitService({} limits)", self.0.in_force.load().limits.rules.len())
    }
}
