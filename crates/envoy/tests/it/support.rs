//! A service on a manual clock, and short forms of requests and responses.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
    Entry, RateLimitOverride,
};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{Code, DescriptorStatus};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::RateLimitService as _;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use tollgate::{Clock, Limiter, ManualClock, Micros};
use tollgate_envoy::{Limits, Options, RateLimitService};
use tonic::{Request, Status};

/// A service, and its clock, which stands 10 s after the beginning of a minute, an hour and a day.
pub(crate) struct Rig {
    pub(crate) service: RateLimitService,
    pub(crate) clock: ManualClock,
}

/// The start: a midnight, plus 10 s.
pub(crate) const START: Micros = Micros::from_secs(20_000 * 86_400 + 10);

impl Rig {
    pub(crate) fn new(file: &str) -> Self {
        Self::with(file, Options::default())
    }

    pub(crate) fn with(file: &str, options: Options) -> Self {
        let manual = Clock::manual(START);
        let limiter =
            Limiter::builder().max_memory(tollgate::MAX_MEMORY_BYTES_MIN).clock(manual.clock()).build();
        let limits = limits(file);
        Self {
            service: RateLimitService::new(limiter.expect("there is memory"), limits, options),
            clock: manual,
        }
    }

    pub(crate) async fn ask(&self, request: RateLimitRequest) -> Result<RateLimitResponse, Status> {
        self.service.should_rate_limit(Request::new(request)).await.map(tonic::Response::into_inner)
    }

    /// Asks, in the domain `edge`, and says the overall code and the statuses in short.
    pub(crate) async fn said(&self, descriptors: Vec<RateLimitDescriptor>) -> String {
        said(&self.ask(request("edge", descriptors)).await.expect("the request is valid"))
    }
}

pub(crate) fn limits(file: &str) -> Limits {
    Limits::load(&[("edge.yaml", file)]).expect("the file is valid").0
}

pub(crate) fn request(domain: &str, descriptors: Vec<RateLimitDescriptor>) -> RateLimitRequest {
    RateLimitRequest { domain: domain.into(), descriptors, hits_addend: 0 }
}

/// A descriptor from `key=value` pairs.
pub(crate) fn descriptor(entries: &[&str]) -> RateLimitDescriptor {
    let entry = |entry: &&str| {
        let (key, value) = entry.split_once('=').unwrap_or((entry, ""));
        Entry { key: key.into(), value: value.into() }
    };
    RateLimitDescriptor { entries: entries.iter().map(entry).collect(), ..RateLimitDescriptor::default() }
}

pub(crate) fn hits(entries: &[&str], hits: u64) -> RateLimitDescriptor {
    RateLimitDescriptor { hits_addend: Some(UInt64Value { value: hits }), ..descriptor(entries) }
}

pub(crate) fn refund(entries: &[&str], amount: u64) -> RateLimitDescriptor {
    RateLimitDescriptor { is_negative_hits: true, ..hits(entries, amount) }
}

pub(crate) fn overridden(entries: &[&str], (requests_per_unit, unit): (u32, i32)) -> RateLimitDescriptor {
    RateLimitDescriptor { limit: Some(RateLimitOverride { requests_per_unit, unit }), ..descriptor(entries) }
}

/// `OK: ok 9/10 reset 50, over 0/5 reset 1`.
pub(crate) fn said(response: &RateLimitResponse) -> String {
    let statuses: Vec<_> = response.statuses.iter().map(status).collect();
    format!("{:?}: {}", response.overall_code(), statuses.join(", "))
}

fn status(status: &DescriptorStatus) -> String {
    let code = match status.code() {
        Code::Ok => "ok",
        Code::OverLimit => "over",
        Code::Unknown => "unknown",
    };
    match (&status.current_limit, &status.duration_until_reset) {
        (Some(limit), Some(reset)) => {
            format!("{code} {}/{} reset {}", status.limit_remaining, limit.requests_per_unit, reset.seconds)
        }
        _ if status.limit_remaining == u32::MAX => format!("{code} unlimited"),
        _ => code.into(),
    }
}
