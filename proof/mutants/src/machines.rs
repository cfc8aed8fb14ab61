//! The operators that are broken in the state machines of concurrency: adaptive limits, queues and pacing.
//!
//! The laws in the tests of `tollgate-sim` must notice each of them. Their numbers follow those of the catalogue.

use crate::catalogue::{Mutant, mutant};

/// Every mutant of an adaptive limit.
pub const ADAPTIVE: &[Mutant] = &[
    // Which samples count, and for what.
    mutant("adaptive/window", "self.closed.is_some()", "false"),
    mutant("adaptive/window", "in_flight.saturating_mul(8) >= limit.saturating_mul(7)", "true"),
    mutant("adaptive/window", "self.peak.max(in_flight)", "in_flight"),
    mutant("adaptive/window", "latency.clamp(1, self.ceiling.unwrap_or(LATENCY_MAX))", "latency.max(1)"),
    mutant("adaptive/window", "OPEN_MIN.max(baseline.unwrap_or(0).saturating_mul(2))", "OPEN_MIN"),
    mutant("adaptive/window", "open >= long_enough && self.started >= SAMPLES", "open >= long_enough"),
    mutant("adaptive/window", "open >= OPEN_LONG && self.started >= SAMPLES_FEW", "false"),
    mutant("adaptive/window", "open >= OPEN_MAX", "false"),
    mutant("adaptive/window", "self.started <= self.ended()", "false"),
    mutant("adaptive/window", "now.saturating_sub(closed) >= patience", "false"),
    mutant("adaptive/window", "self.dropped.saturating_mul(2) >= ended", "false"),
    mutant(
        "adaptive/window",
        "self.dropped.saturating_mul(50) >= ended",
        "self.dropped.saturating_mul(5) >= ended",
    ),
    mutant("adaptive/window", "self.sum.saturating_add(slow.saturating_mul(ceiling))", "self.sum"),
    // A sample by its completion: it may have started under another limit.
    mutant("adaptive/limit", "start.window == Some(self.number)", "start.window.is_some()"),
    // A dropped request with its own latency: a fast 503 looks like a fast server.
    mutant(
        "adaptive/limit",
        "self.window.drop_one()",
        "self.window.succeed(now.get().saturating_sub(start.at).min(LATENCY_MAX))",
    ),
    mutant("adaptive/limit", "self.window.ignore()", "()"),
    mutant("adaptive/limit", "self.window.refuse()", "()"),
    // The baseline. The first is the known failure: an average over the overload.
    mutant(
        "adaptive/baseline",
        "known.saturating_sub(known.saturating_sub(latency) / 8)",
        "(known.saturating_mul(7).saturating_add(latency) / 8)",
    ),
    mutant("adaptive/baseline", "known.saturating_sub(latency) / 8", "known.saturating_sub(latency) / 2"),
    mutant("adaptive/baseline", "known.saturating_mul(3).saturating_add(latency) / 4", "latency"),
    mutant("adaptive/baseline", "latency.abs_diff(known).saturating_mul(16) <= known", "true"),
    mutant("adaptive/baseline", "self.backoff.saturating_mul(2).min(BACKOFF_MAX)", "self.backoff"),
    mutant(
        "adaptive/baseline",
        "self.bad >= BAD && self.since >= self.backoff.saturating_add(self.jitter(self.backoff))",
        "self.bad >= BAD && self.since >= self.backoff",
    ),
    mutant("adaptive/baseline", "self.bad >= BAD_MANY && self.since >= BAD_MANY", "false"),
    mutant(
        "adaptive/baseline",
        "limited && self.since >= BACKOFF_MAX.saturating_add(self.jitter(BACKOFF_MAX))",
        "self.since >= BACKOFF_MAX.saturating_add(self.jitter(BACKOFF_MAX))",
    ),
    mutant(
        "adaptive/limit",
        "summary.peak.saturating_mul(2 * ONE) <= self.limit",
        "summary.peak * ONE <= self.limit",
    ),
    // Probes and windows that show nothing.
    mutant("adaptive/limit", "self.is_probe = false", "()"),
    mutant(
        "adaptive/limit",
        "self.limit.saturating_sub(self.limit.checked_div(divisor).unwrap_or(0))",
        "self.limit",
    ),
    mutant("adaptive/limit", "summary.blind", "false"),
    mutant("adaptive/limit", "self.set(self.limit / 2)", "()"),
    // A baseline from a blind window, in which the latency of the rest says nothing.
    mutant(
        "adaptive/limit",
        "self.set(self.limit / 2)",
        "{ if let Some(latency) = summary.latency { self.baseline.observe(latency, true); } self.set(self.limit / 2) }",
    ),
    mutant("adaptive/limit", "self.baseline.probed(latency)", "{ self.baseline.observe(latency, false); }"),
    mutant("adaptive/limit", "core::mem::take(&mut self.is_probe)", "self.is_probe"),
    // The limit.
    mutant("adaptive/limit", "self.limit.saturating_mul(3) / 2", "self.limit.saturating_mul(2)"),
    mutant(
        "adaptive/limit",
        "limit.clamp(u64::from(min).saturating_mul(ONE), u64::from(max).saturating_mul(ONE))",
        "limit",
    ),
    mutant("adaptive/limit", "four.max(target.get().min(LATENCY_MAX).saturating_mul(4))", "four"),
    mutant("adaptive/method", "!window.limited", "false"),
    mutant("adaptive/method", "ratio(baseline.saturating_mul(1_152), latency).clamp(512, 1_024)", "1_024"),
    mutant("adaptive/method", "limit.saturating_sub(limit.saturating_sub(suggested) / 2)", "suggested"),
    mutant("adaptive/method", "(root(limit) / 4).max(ONE / 2)", "(root(limit) / 4)"),
    mutant("adaptive/method", "log.saturating_mul(2 * ONE).min(limit / 5)", "(limit / 5)"),
    mutant("adaptive/method", "queue <= bound / 4", "queue <= bound / 2"),
    mutant("adaptive/method", "scaled.saturating_add(root(scaled)).min(limit.saturating_mul(2))", "scaled"),
    mutant("adaptive/method", "dropped || latency > target", "latency > target"),
    mutant("adaptive/method", "(limit / 64).max(ONE)", "ONE"),
];
