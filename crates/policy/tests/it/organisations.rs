//! Tiers and organisations from several sources, the first that knows one: a company is the same one however it shows who it is.

use tollgate_policy::consumers::{Loader, LoaderLimits};
use tollgate_policy::{ConsumerIndex, Policy};

use crate::support::{asked, files};

const JWKS: &str = r#"{"keys": [{"kty": "oct", "alg": "HS256",
    "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}]}"#;
// Signed with that key: `org` is maths and `plan` business; `org` is physics; `org` is maths, and it is over.
const MATHS: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJldmUiLCJleHAiOjQwMDAwMDAwMDAsIm9yZyI6Im1hdGhzIiwicGxhbiI6ImJ1c2luZXNzIn0.8fuFLQevA7XUcSG6SCkX0uBqny9yUG_Ed-L0gvVNdk0";
const NO_PLAN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJldmUiLCJleHAiOjQwMDAwMDAwMDAsIm9yZyI6InBoeXNpY3MifQ.z_cYAmzQE-PzWV2j8WZAPKQ74eu9U1mZVwMjftWyLUU";
const EXPIRED: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJldmUiLCJleHAiOjE2MDAwMDAwMDAsIm9yZyI6Im1hdGhzIn0.jfiI1oF27XM4oeMGmxsbAwg0ze_Bk9ftu-3sxC79pOU";

// The key `k` is that of ada of maths, in the tier `free`.
const CONSUMERS: &str = "key_sha256,consumer,tier,organisation
8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a,ada,free,maths
";

fn policy(from: &str) -> Policy {
    let text = format!(
        "
tollgate: 1
consumers: consumers.csv
api_key: header:X-API-Key
jwt: {{ jwks: keys.json }}
tiers: {{ from: {from}, names: [free, business, anonymous], default: anonymous }}
organisations: {{ from: {from} }}
rate_limit:
  name: monthly
  algorithm: gcra
  capacity: 1
  refill_rate: 1
  consumer_key: organisation
  missing_key: reject
  tier_overrides: {{ free: {{ capacity: 10 }}, business: {{ capacity: 50 }} }}
routes: [{{ path: /a }}]
"
    );
    let text = text.replace(
        "organisations: { from: [consumers, jwt:plan]",
        "organisations: { from: [consumers, jwt:org]",
    );
    let text = text.replace(
        "organisations: { from: [jwt:plan, consumers]",
        "organisations: { from: [jwt:org, consumers]",
    );
    files(&[("t.yaml", &text), ("keys.json", JWKS)]).unwrap_or_else(|refused| panic!("{refused}"))
}

fn directory(policy: &Policy) -> ConsumerIndex {
    let mut loader = Loader::new(LoaderLimits::default());
    loader.feed(CONSUMERS.as_bytes());
    let consumers = loader.finish().unwrap_or_else(|errors| panic!("{errors:?}"));
    ConsumerIndex::new(consumers, policy).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn charged(policy: &Policy, headers: &str) -> String {
    let directory = directory(policy);
    match asked(&format!("GET /a {headers}")).hits(policy, Some(&directory)) {
        Ok((_, lines)) => lines.join("; "),
        Err(bad) => bad.to_string(),
    }
}

#[test]
fn an_organisation_is_one_whether_its_key_or_its_token_says_so() {
    let policy = policy("[consumers, jwt:plan]");
    let by_key = charged(&policy, "X-API-Key: k");
    assert_eq!(by_key, "monthly: organisation maths x1 (10 at once, then 1 per second)");
    let by_token = charged(&policy, &format!("Authorization: Bearer {MATHS}"));
    assert_eq!(by_token, "monthly: organisation maths x1 (50 at once, then 1 per second)");
    let other = charged(&policy, &format!("Authorization: Bearer {NO_PLAN}"));
    assert_eq!(other, "monthly: organisation physics x1 (1 at once, then 1 per second)");
}

#[test]
fn the_first_source_that_knows_counts() {
    let both = format!("X-API-Key: k | Authorization: Bearer {NO_PLAN}");
    assert_eq!(
        charged(&policy("[consumers, jwt:plan]"), &both),
        "monthly: organisation maths x1 (10 at once, then 1 per second)"
    );
    // The token says of what organisation, and nothing of a tier: that is known from the key.
    assert_eq!(
        charged(&policy("[jwt:plan, consumers]"), &both),
        "monthly: organisation physics x1 (10 at once, then 1 per second)"
    );
}

#[test]
fn an_invalid_token_and_no_credentials_are_told_apart() {
    let policy = policy("[consumers, jwt:plan]");
    assert!(charged(&policy, &format!("Authorization: Bearer {EXPIRED}")).contains("is not valid"));
    assert!(charged(&policy, "").contains("requires a credential"));
}
