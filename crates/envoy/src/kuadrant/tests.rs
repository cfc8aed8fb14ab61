//! Check, report, reserve and commit on a clock that stands still.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use tollgate::{Clock, Limiter, Micros};

use super::*;
use crate::{Limits, Options};

const FILE: &str =
    "[{ namespace: edge, max_value: 10, seconds: 3600, variables: [\"descriptors[0].user\"] }]";

fn service() -> RateLimitService {
    let clock = Clock::manual(Micros::from_secs(36_000_010)).clock();
    let limiter = Limiter::builder().max_memory(tollgate::MAX_MEMORY_BYTES_MIN).clock(clock).build();
    let (limits, _) = Limits::load(&[("limits.yaml", FILE)]).expect("the file is valid");
    RateLimitService::new(limiter.expect("there is memory"), limits, Options::default())
}

fn descriptors() -> Vec<RateLimitDescriptor> {
    let entry = Entry { key: "user".into(), value: "ada".into() };
    vec![RateLimitDescriptor { entries: vec![entry], ..RateLimitDescriptor::default() }]
}

fn request(hits_addend: u32) -> RateLimitRequest {
    RateLimitRequest { domain: "edge".into(), descriptors: descriptors(), hits_addend }
}

async fn remaining(service: &RateLimitService) -> (i32, u32) {
    let response = service.check_only(&request(1)).await.expect("it is valid");
    (response.overall_code, response.statuses.first().map_or(0, |status| status.limit_remaining))
}

fn reservation(amount: u64) -> ReserveRequest {
    ReserveRequest { domain: "edge".into(), descriptors: descriptors(), amount, ttl: None }
}

fn commit(id: &str, actual_amount: u64) -> CommitRequest {
    CommitRequest { reservation_id: id.into(), actual_amount, ..CommitRequest::default() }
}

#[tokio::test]
async fn a_check_charges_nothing_and_a_report_charges_beyond_the_limit() {
    let service = service();
    assert_eq!(remaining(&service).await, (1, 10));
    assert_eq!(remaining(&service).await, (1, 10));
    service.report(&request(8)).await.expect("it is valid");
    assert_eq!(remaining(&service).await, (1, 2));
    service.report(&request(8)).await.expect("it is valid");
    assert_eq!(remaining(&service).await, (2, 0));
}

#[tokio::test]
async fn a_reservation_is_committed_with_the_actual_amount_once() {
    let service = service();
    let reserved = service.reserve(&reservation(8)).await.expect("it is valid");
    assert_eq!((reserved.code, reserved.reservation_id.len()), (1, 32));
    let refused = service.reserve(&reservation(8)).await.expect("it is valid");
    assert_eq!((refused.code, refused.reservation_id.as_str()), (2, ""));
    service.commit(&commit(&reserved.reservation_id, 3)).await.expect("it is open");
    assert_eq!(remaining(&service).await, (1, 7));
    service.commit(&commit(&reserved.reservation_id, 3)).await.expect("it is remembered");
    assert_eq!(remaining(&service).await, (1, 7));
    // An ID that nobody gave out.
    let unknown = service.commit(&commit(&"0".repeat(32), 3)).await.expect_err("there is none");
    assert_eq!(unknown.code(), tonic::Code::NotFound);
    let wrong = service.commit(&commit("x", 3)).await.expect_err("it is no ID");
    assert_eq!(wrong.code(), tonic::Code::InvalidArgument);
    let free = ReserveRequest { domain: "other".into(), ..reservation(1) };
    let free = service.reserve(&free).await.expect("it is valid");
    assert_eq!((free.code, free.reservation_id.as_str()), (1, ""));
    service.commit(&commit("", 1)).await.expect("there is nothing to commit");
}
