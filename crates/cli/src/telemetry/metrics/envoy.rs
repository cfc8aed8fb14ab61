//! What the service for Envoy counts, on the page. Limits are named as in their files.

use tollgate_envoy::Counters;

use super::limits::LIMIT_SERIES_MAX;
use super::page::{Kind, MetricsText};

/// Writes the counters. Of more limits than have series, the first in the order of their paths.
pub(super) fn write(counters: &Counters, page: &mut MetricsText) {
    let rules = counters.rules();
    let mut family =
        page.family("envoy_hits_total", Kind::Counter, "Hits of each limit for Envoy by result.");
    for (path, rule) in rules.iter().take(LIMIT_SERIES_MAX) {
        for (result, count) in
            [("granted", &rule.granted), ("refused", &rule.refused), ("shadow_refused", &rule.shadow_refused)]
        {
            family.number(&[("limit", &**path), ("result", result)], count.get());
        }
    }
    for (name, help, count) in [
        (
            "envoy_unknown_domain_total",
            "Requests with a domain that no file defines.",
            &counters.unknown_domain,
        ),
        ("envoy_unmatched_total", "Descriptors that match no limit.", &counters.unmatched),
        ("envoy_refunded_total", "Hits given back.", &counters.refunded),
        ("envoy_not_refunded_total", "Hits not given back, for want of a receipt.", &counters.not_refunded),
    ] {
        page.number((name, Kind::Counter), help, count.get());
    }
}
