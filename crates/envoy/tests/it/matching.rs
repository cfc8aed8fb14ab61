//! The matching rules of envoyproxy/ratelimit, as its documentation gives them.

use tollgate_envoy::{Limits, Match};

use crate::support::limits;

/// The paths of the limits that descriptors match in a file.
fn check(file: &str, cases: &[(&[&str], &str)]) {
    let limits = limits(file);
    let domain = limits.domains().next().expect("the file has a domain").to_owned();
    for (descriptor, expected) in cases {
        assert_eq!(path(&limits, &domain, descriptor), *expected, "{descriptor:?}");
    }
}

fn path(limits: &Limits, domain: &str, descriptor: &[&str]) -> String {
    let entries = descriptor.iter().map(|entry| entry.split_once('=').unwrap_or((entry, "")));
    match limits.find(domain, entries) {
        Match::Limit(rule, values) => match rule.numbers {
            Some(numbers) => format!("{} {} by {}", rule.path, numbers.limit, values.join("+")),
            None => format!("{} unlimited", rule.path),
        },
        Match::Nothing => "nothing".into(),
        Match::UnknownDomain => "unknown domain".into(),
    }
}

#[test]
fn example_1_exact_values() {
    let file = "
domain: mongo_cps
descriptors:
  - key: database
    value: users
    rate_limit:
      unit: second
      requests_per_unit: 500

  - key: database
    value: default
    rate_limit:
      unit: second
      requests_per_unit: 500
";
    check(
        file,
        &[
            (&["database=users"], "mongo_cps.database_users 500 by users"),
            (&["database=default"], "mongo_cps.database_default 500 by default"),
            (&["database=other"], "nothing"),
            (&["database="], "nothing"),
            (&["Database=users"], "nothing"),
        ],
    );
}

#[test]
fn example_2_nested_descriptors() {
    let file = "
domain: messaging
descriptors:
  - key: message_type
    value: marketing
    descriptors:
      - key: to_number
        rate_limit:
          unit: day
          requests_per_unit: 5
  - key: to_number
    rate_limit:
      unit: day
      requests_per_unit: 100
";
    check(
        file,
        &[
            (
                &["message_type=marketing", "to_number=2061111111"],
                "messaging.message_type_marketing.to_number 5 by marketing+2061111111",
            ),
            (&["to_number=2061111111"], "messaging.to_number 100 by 2061111111"),
            (&["message_type=marketing"], "nothing"),
            (&["message_type=other", "to_number=2061111111"], "nothing"),
            (&["to_number=1", "message_type=marketing"], "nothing"),
        ],
    );
}

#[test]
fn example_3_the_most_specific_match_first() {
    let file = "
domain: edge_proxy_per_ip
descriptors:
  - key: remote_address
    rate_limit:
      unit: second
      requests_per_unit: 10
  # Black list IP
  - key: remote_address
    value: 50.0.0.5
    rate_limit:
      unit: second
      requests_per_unit: 0
";
    check(
        file,
        &[
            (&["remote_address=50.0.0.1"], "edge_proxy_per_ip.remote_address 10 by 50.0.0.1"),
            (&["remote_address=50.0.0.5"], "edge_proxy_per_ip.remote_address_50.0.0.5 0 by 50.0.0.5"),
        ],
    );
}

#[test]
fn example_4_as_many_entries_as_levels() {
    let flat = "{ domain: example4, descriptors: [{ key: key, value: value, rate_limit: { requests_per_unit: 300, unit: second } }] }";
    check(
        flat,
        &[
            (&["key=value", "subkey=subvalue"], "nothing"),
            (&["key=value"], "example4.key_value 300 by value"),
        ],
    );
    let nested = "
domain: example4
descriptors:
  - key: key
    value: value
    descriptors:
      - key: subkey
        rate_limit:
          requests_per_unit: 300
          unit: second
";
    check(nested, &[(&["key=value", "subkey=subvalue"], "example4.key_value.subkey 300 by value+subvalue")]);
}

#[test]
fn example_5_unlimited() {
    let file = "
domain: internal
descriptors:
  - key: ldap
    rate_limit:
      unlimited: true
  - key: azure
    rate_limit:
      unit: minute
      requests_per_unit: 100
";
    check(file, &[(&["ldap=x"], "internal.ldap unlimited"), (&["azure=x"], "internal.azure 100 by x")]);
}

#[test]
fn example_9_wildcards_come_between_exact_values_and_the_key_alone() {
    let file = "
domain: example9
descriptors:
  - { key: key1, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: key1, value: 'value*', rate_limit: { unit: minute, requests_per_unit: 20 } }
  - { key: key1, value: 'val*', rate_limit: { unit: minute, requests_per_unit: 30 }, share_threshold: true }
  - { key: key1, value: value_9, rate_limit: { unit: minute, requests_per_unit: 40 } }
  - { key: path, value: '/api/*/items', descriptors: [{ key: method, value: '*', rate_limit: { unit: hour, requests_per_unit: 5 } }] }
";
    check(
        file,
        &[
            (&["key1=value_1"], "example9.key1_value* 20 by value_1"),
            (&["key1=value_2"], "example9.key1_value* 20 by value_2"),
            (&["key1=value"], "example9.key1_value* 20 by value"),
            // Of two wildcards, the first in the file.
            (&["key1=valuable"], "example9.key1_val* 30 by val*"),
            (&["key1=value_9"], "example9.key1_value_9 40 by value_9"),
            (&["key1=other"], "example9.key1 1 by other"),
            (
                &["path=/api/v1/items", "method=GET"],
                "example9.path_/api/*/items.method_* 5 by /api/v1/items+GET",
            ),
            (&["path=/api/items", "method=GET"], "nothing"),
        ],
    );
}

/// A matching level without a limit is not left for another one at its side.
#[test]
fn there_is_no_way_back_from_a_more_specific_match() {
    let file = "
domain: d
descriptors:
  - { key: a, value: x }
  - { key: a, rate_limit: { unit: second, requests_per_unit: 1 }, descriptors: [{ key: b, rate_limit: { unit: second, requests_per_unit: 2 } }] }
";
    check(
        file,
        &[
            (&["a=x"], "nothing"),
            (&["a=x", "b=y"], "nothing"),
            (&["a=z"], "d.a 1 by z"),
            (&["a=z", "b=y"], "d.a.b 2 by z+y"),
        ],
    );
}
