//! Requests at their bounds and beyond them.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use tollgate_envoy::{DESCRIPTOR_BYTES_MAX, DESCRIPTORS_MAX, DOMAIN_BYTES_MAX, ENTRIES_MAX, OVERRIDES_MAX};
use tonic::Code;

use crate::support::{Rig, descriptor, overridden, request};

const FILE: &str =
    "{ domain: edge, descriptors: [{ key: a, rate_limit: { unit: hour, requests_per_unit: 1000000 } }] }";

#[tokio::test]
async fn what_is_beyond_a_bound_is_an_error_that_says_which() {
    let rig = Rig::new(FILE);
    let many = |count| vec![descriptor(&["a=1"]); count];
    let long = |bytes: usize| format!("a={}", "x".repeat(bytes - 1));
    let entries = |count| vec![descriptor(&vec!["a=1"; count])];
    let cases: [(&str, Vec<RateLimitDescriptor>, &str); 9] = [
        ("", many(1), "the domain is empty"),
        ("edge", many(0), "there are no descriptors"),
        ("edge", many(DESCRIPTORS_MAX), ""),
        ("edge", many(DESCRIPTORS_MAX + 1), "there are 33 descriptors, and may be at most 32"),
        ("edge", entries(0), "descriptor 0 has no entries"),
        ("edge", entries(ENTRIES_MAX), ""),
        ("edge", entries(ENTRIES_MAX + 1), "descriptor 0 has 33 entries"),
        ("edge", vec![descriptor(&[&long(DESCRIPTOR_BYTES_MAX)])], ""),
        ("edge", vec![descriptor(&[&long(DESCRIPTOR_BYTES_MAX + 1)])], "descriptor 0 has 16385 bytes"),
    ];
    for (domain, descriptors, error) in cases {
        match rig.ask(request(domain, descriptors)).await {
            Ok(_) => assert_eq!(error, ""),
            Err(status) => {
                assert!(!error.is_empty() && status.message().contains(error), "{status}");
                assert_eq!(status.code(), Code::InvalidArgument);
            }
        }
    }
    let domain = "d".repeat(DOMAIN_BYTES_MAX + 1);
    let status = rig.ask(request(&domain, many(1))).await.expect_err("it is too long");
    assert!(status.message().contains("the domain has 4097 bytes"), "{status}");
    let status = rig.ask(request("edge", vec![descriptor(&["=1"])])).await.expect_err("the key is empty");
    assert!(status.message().contains("an entry with an empty key"), "{status}");
    assert_eq!(rig.service.counters().invalid.get(), 8);
}

#[tokio::test]
async fn more_overrides_than_are_remembered_hold_as_well() {
    let rig = Rig::new(FILE);
    let last = u32::try_from(OVERRIDES_MAX).expect("it is small") + 10;
    for count in 1..=last {
        rig.said(vec![overridden(&[&format!("k={count}")], (count, 3))]).await;
    }
    let entry = format!("k={last}");
    let said = rig.said(vec![overridden(&[&entry], (last, 3))]).await;
    assert_eq!(said, format!("Ok: ok {}/{last} reset 3590", last - 2));
}
