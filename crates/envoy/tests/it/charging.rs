//! What requests charge, and what responses say.

use envoy_types::pb::google::protobuf::value::Kind;
use std::time::Duration;

use tollgate_envoy::{Headers, Options};

use crate::support::{Rig, START, descriptor, hits, limits, overridden, request, said};

const FILE: &str = "
domain: edge
descriptors:
  - { key: ip, rate_limit: { name: per ip, unit: minute, requests_per_unit: 2 } }
  - { key: user, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: blocked, rate_limit: { unit: second, requests_per_unit: 0 } }
  - { key: shadow, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
";

#[tokio::test]
async fn a_limit_grants_so_many_in_each_aligned_window() {
    let rig = Rig::new(FILE);
    let ask = || rig.said(vec![descriptor(&["ip=1"])]);
    assert_eq!(ask().await, "Ok: ok 1/2 reset 50");
    assert_eq!(ask().await, "Ok: ok 0/2 reset 50");
    assert_eq!(ask().await, "OverLimit: over 0/2 reset 50");
    rig.clock.advance(Duration::from_secs(50));
    assert_eq!(ask().await, "Ok: ok 1/2 reset 60");
}

#[tokio::test]
async fn every_descriptor_has_its_status_in_order() {
    let rig = Rig::new(FILE);
    let all = || {
        vec![
            descriptor(&["none=1"]),
            descriptor(&["free=1"]),
            descriptor(&["user=1"]),
            descriptor(&["shadow=1"]),
        ]
    };
    assert_eq!(rig.said(all()).await, "Ok: ok, ok unlimited, ok 9/10 reset 3590, ok 0/1 reset 50");
    // The limit in shadow mode is over, and refuses nothing.
    assert_eq!(rig.said(all()).await, "Ok: ok, ok unlimited, ok 8/10 reset 3590, ok 0/1 reset 50");
    let counters = rig.service.counters();
    let rules = counters.rules();
    let shadow = rules.iter().find(|(path, _)| &**path == "edge.shadow").expect("the file has it");
    assert_eq!((shadow.1.granted.get(), shadow.1.shadow_refused.get(), shadow.1.refused.get()), (1, 1, 0));
    assert_eq!((counters.granted.get(), counters.unmatched.get()), (2, 2));
}

#[tokio::test]
async fn a_refused_request_charges_none_of_its_limits() {
    let rig = Rig::new(FILE);
    let both = || vec![descriptor(&["user=1"]), descriptor(&["ip=1"])];
    for remaining in [9, 8] {
        let said = rig.said(both()).await;
        assert!(said.starts_with(&format!("Ok: ok {remaining}/10")), "{said}");
    }
    for _ in 0..5 {
        assert_eq!(rig.said(both()).await, "OverLimit: ok 8/10 reset 3590, over 0/2 reset 50");
    }
    assert_eq!(rig.said(vec![descriptor(&["blocked=x"])]).await, "OverLimit: over 0/0 reset 1");
}

#[tokio::test]
async fn hits_are_those_of_the_request_or_of_the_descriptor() {
    let rig = Rig::new(FILE);
    let mut asked = request("edge", vec![descriptor(&["user=1"]), hits(&["user=2"], 5)]);
    asked.hits_addend = 3;
    let response = rig.ask(asked).await.expect("it is valid");
    assert_eq!(said(&response), "Ok: ok 7/10 reset 3590, ok 5/10 reset 3590");
    assert_eq!(rig.said(vec![hits(&["user=2"], 6)]).await, "OverLimit: over 5/10 reset 3590");
    let most = rig.said(vec![hits(&["user=2"], u64::MAX)]).await;
    assert_eq!(most, "OverLimit: over 5/10 reset 3590");
    // Two descriptors with the same key add up.
    let twice = rig.said(vec![hits(&["user=3"], 6), hits(&["user=3"], 6)]).await;
    assert!(twice.starts_with("OverLimit: "), "{twice}");
}

#[tokio::test]
async fn no_hits_are_a_check_only() {
    let rig = Rig::new(FILE);
    let check = || rig.said(vec![hits(&["ip=1"], 0)]);
    assert_eq!(check().await, "Ok: ok 2/2 reset 50");
    assert_eq!(check().await, "Ok: ok 2/2 reset 50");
    rig.said(vec![hits(&["ip=1"], 2)]).await;
    assert_eq!(check().await, "OverLimit: over 0/2 reset 50");
    // And what is beside it is not charged.
    let beside = rig.said(vec![hits(&["ip=1"], 0), descriptor(&["user=1"])]).await;
    assert_eq!(beside, "OverLimit: over 0/2 reset 50, ok 10/10 reset 3590");
}

#[tokio::test]
async fn an_override_takes_the_place_of_the_limit() {
    let rig = Rig::new(FILE);
    let ask = |numbers| rig.said(vec![overridden(&["ip=1"], numbers)]);
    assert_eq!(ask((5, 3)).await, "Ok: ok 4/5 reset 3590");
    assert_eq!(ask((5, 3)).await, "Ok: ok 3/5 reset 3590");
    // The key keeps its usage when its numbers change.
    assert_eq!(ask((3, 3)).await, "Ok: ok 0/3 reset 3590");
    assert_eq!(ask((3, 3)).await, "OverLimit: over 0/3 reset 3590");
    // Even where no limit matches, but not in an unknown domain.
    assert_eq!(rig.said(vec![overridden(&["other=1"], (1, 1))]).await, "Ok: ok 0/1 reset 1");
    let unknown = rig.ask(request("unknown", vec![overridden(&["other=1"], (0, 1))])).await;
    assert_eq!(said(&unknown.expect("it is valid")), "Ok: ok");
    assert_eq!(rig.service.counters().unknown_domain.get(), 1);
    let without_unit = rig.ask(request("edge", vec![overridden(&["ip=1"], (5, 0))])).await;
    assert_eq!(without_unit.expect_err("it has no unit").code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn a_quota_refuses_only_if_all_quotas_are_over() {
    let rig = Rig::new(
        "
domain: edge
descriptors:
  - { key: a, quota_mode: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: b, quota_mode: true, rate_limit: { unit: hour, requests_per_unit: 2 } }
  - { key: c, rate_limit: { unit: hour, requests_per_unit: 9 } }
",
    );
    let ask = || rig.said(vec![descriptor(&["a=1"]), descriptor(&["b=1"]), descriptor(&["c=1"])]);
    assert_eq!(ask().await, "Ok: ok 0/1 reset 3590, ok 1/2 reset 3590, ok 8/9 reset 3590");
    assert_eq!(ask().await, "Ok: over 0/1 reset 3590, ok 0/2 reset 3590, ok 7/9 reset 3590");
    let refused = ask().await;
    assert!(refused.starts_with("OverLimit: over 0/1 reset 3590, over 0/2"), "{refused}");
    // What was charged beside the quotas was given back.
    assert_eq!(rig.said(vec![hits(&["c=1"], 0)]).await, "Ok: ok 7/9 reset 3590");
}

#[tokio::test]
async fn a_limit_that_is_replaced_is_not_charged() {
    // Example 7 of envoyproxy/ratelimit.
    let rig = Rig::new(
        "
domain: edge
descriptors:
  - key: key_1
    value: value_1
    descriptors:
      - key: user
        value: bkthomps
        rate_limit: { name: specific_limit, requests_per_unit: 5, unit: second }
  - key: key_2
    value: value_2
    descriptors:
      - key: user
        value: bkthomps
        rate_limit: { replaces: [{ name: specific_limit }], requests_per_unit: 10, unit: second }
",
    );
    let (one, two) = (&["key_1=value_1", "user=bkthomps"], &["key_2=value_2", "user=bkthomps"]);
    assert_eq!(rig.said(vec![descriptor(one), descriptor(two)]).await, "Ok: ok, ok 9/10 reset 1");
    assert_eq!(rig.said(vec![descriptor(one)]).await, "Ok: ok 4/5 reset 1");
    assert_eq!(rig.said(vec![descriptor(two)]).await, "Ok: ok 8/10 reset 1");
}

#[tokio::test]
async fn values_of_a_wildcard_share_a_counter_if_they_are_told_to() {
    let rig = Rig::new(
        "
domain: edge
descriptors:
  - { key: a, value: 'x*', share_threshold: true, rate_limit: { unit: hour, requests_per_unit: 3 } }
  - { key: b, value: 'x*', rate_limit: { unit: hour, requests_per_unit: 3 } }
",
    );
    assert_eq!(rig.said(vec![descriptor(&["a=x1"])]).await, "Ok: ok 2/3 reset 3590");
    assert_eq!(rig.said(vec![descriptor(&["a=x2"])]).await, "Ok: ok 1/3 reset 3590");
    assert_eq!(rig.said(vec![descriptor(&["b=x1"])]).await, "Ok: ok 2/3 reset 3590");
    assert_eq!(rig.said(vec![descriptor(&["b=x2"])]).await, "Ok: ok 2/3 reset 3590");
}

#[tokio::test]
async fn headers_show_the_limits_and_metadata_those_that_grant() {
    let file = "
domain: edge
descriptors:
  - { key: ip, metadata: { plan: free, weight: 2, tags: [a, true] }, rate_limit: { name: per ip, unit: minute, requests_per_unit: 1 } }
";
    let headers = Headers { x_ratelimit: false, ..Headers::default() };
    let rig = Rig::with(file, Options { headers, ..Options::default() });
    let ask = || async { rig.ask(request("edge", vec![descriptor(&["ip=1"])])).await.expect("it is valid") };
    let headers = |response: envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse| {
        let headers = response.response_headers_to_add.into_iter();
        headers.map(|header| format!("{}: {}", header.key, header.value)).collect::<Vec<_>>()
    };
    let granted = ask().await;
    let metadata = granted.dynamic_metadata.clone().expect("the limit has some");
    let plan = metadata.fields.get("plan").and_then(|plan| plan.kind.clone());
    assert_eq!(plan, Some(Kind::StringValue("free".into())));
    assert_eq!(metadata.fields.len(), 3);
    let shown = [r#"ratelimit-policy: "per ip";q=1;w=60"#, r#"ratelimit: "per ip";r=0;t=50"#];
    assert_eq!(headers(granted), shown);
    let refused = ask().await;
    assert_eq!(refused.dynamic_metadata, None);
    assert_eq!(refused.statuses[0].current_limit.as_ref().map(|limit| limit.name.as_str()), Some("per ip"));
    assert_eq!(headers(refused), ["retry-after: 50", shown[0], shown[1]]);
}

#[tokio::test]
async fn units_are_those_of_envoyproxy_ratelimit() {
    let day = START.get() / 86_400_000_000;
    for (unit, days) in [("week", 7), ("month", 30), ("year", 365)] {
        let file = format!(
            "{{ domain: edge, descriptors: [{{ key: a, rate_limit: {{ unit: {unit}, requests_per_unit: 4 }} }}] }}"
        );
        let rig = Rig::new(&file);
        let left = (days - day % days) * 86_400 - 10;
        assert_eq!(rig.said(vec![descriptor(&["a=1"])]).await, format!("Ok: ok 3/4 reset {left}"), "{unit}");
    }
}

#[tokio::test]
async fn new_limits_keep_the_usage_of_keys() {
    let rig = Rig::new(FILE);
    rig.said(vec![descriptor(&["ip=1"])]).await;
    rig.service.replace(limits(
        "{ domain: edge, descriptors: [{ key: ip, rate_limit: { unit: minute, requests_per_unit: 9 } }] }",
    ));
    assert_eq!(rig.said(vec![descriptor(&["ip=1"])]).await, "Ok: ok 7/9 reset 50");
    assert_eq!(rig.said(vec![descriptor(&["user=1"])]).await, "Ok: ok");
    assert_eq!(rig.service.counters().rules().len(), 1);
}
