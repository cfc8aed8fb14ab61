//! The operators that are broken, one at a time. Each text stands exactly once in its file, or the build fails.

/// One changed operator.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// The file in the core's sources, without `.rs`.
    pub file: &'static str,
    /// An expression as it ships.
    pub shipped: &'static str,
    /// The same with one operator changed.
    pub broken: &'static str,
}

const fn mutant(file: &'static str, shipped: &'static str, broken: &'static str) -> Mutant {
    Mutant { file, shipped, broken }
}

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[
    // The frame that all algorithms share.
    mutant("algorithm", "cost <= room", "cost < room"),
    mutant("algorithm", "cost > capacity", "cost >= capacity"),
    mutant("algorithm", "most == 0 || room > 0", "most == 0 && room > 0"),
    mutant("algorithm", "most.min(room)", "most.max(room)"),
    mutant("algorithm", "capacity.saturating_mul(2)", "capacity.saturating_mul(3)"),
    mutant("algorithm", "receipt.limit == *limit", "receipt.limit != *limit"),
    mutant("algorithm", "charged == 0", "charged != 0"),
    mutant("algorithm", "(refused(cost), 0)", "(refused(cost), 1)"),
    mutant(
        "algorithm",
        "late.saturating_add(standing.wait(capacity, cost))",
        "late.max(standing.wait(capacity, cost))",
    ),
    mutant("algorithm", "late.saturating_add(drained)", "late.max(drained)"),
    // Debts: the token bucket, the leaky bucket and GCRA.
    mutant(
        "algorithm/debt",
        "state.at.saturating_sub(now) > quota.drain()",
        "state.at.saturating_sub(now) >= quota.drain()",
    ),
    mutant("algorithm/debt", "now.max(state.at)", "now.min(state.at)"),
    mutant(
        "algorithm/debt",
        "elapsed.saturating_mul(quota.count())",
        "elapsed.saturating_add(quota.count())",
    ),
    mutant(
        "algorithm/debt",
        "in_period(quota, state.period, state.debt).min(full)",
        "in_period(quota, state.period, state.debt).max(full)",
    ),
    mutant("algorithm/debt", "period == quota.period()", "period >= quota.period()"),
    mutant(
        "algorithm/debt",
        "scaled.div_ceil(u128::from(period.max(1)))",
        "scaled / (u128::from(period.max(1)))",
    ),
    mutant("algorithm/debt", "self.owed.div_ceil(self.quota.period())", "self.owed / (self.quota.period())"),
    mutant(
        "algorithm/debt",
        "self.owed.saturating_sub(allowed).div_ceil(self.quota.count())",
        "self.owed.saturating_sub(allowed) / (self.quota.count())",
    ),
    mutant("algorithm/debt", "self.owed.div_ceil(self.quota.count())", "self.owed / (self.quota.count())"),
    mutant(
        "algorithm/debt",
        "self.owed.saturating_add(cost.saturating_mul(self.quota.period()))",
        "self.owed.max(cost.saturating_mul(self.quota.period()))",
    ),
    mutant(
        "algorithm/debt",
        "charged.saturating_sub(drained).min(self.owed)",
        "charged.saturating_add(drained).min(self.owed)",
    ),
    mutant("algorithm/debt", "elapsed.saturating_mul(self.quota.count())", "elapsed.min(self.quota.count())"),
    mutant(
        "algorithm/debt",
        "self.owed.min(self.quota.burst().saturating_mul(period))",
        "self.owed.max(self.quota.burst().saturating_mul(period))",
    ),
    // The fixed window.
    mutant("algorithm/fixed_window", "at < count.end", "at <= count.end"),
    mutant("algorithm/fixed_window", "at.saturating_sub(now) <= length", "at.saturating_sub(now) < length"),
    mutant("algorithm/fixed_window", "now.max(count.start)", "now.min(count.start)"),
    mutant(
        "algorithm/fixed_window",
        "capacity.saturating_sub(self.count.used)",
        "capacity.abs_diff(self.count.used)",
    ),
    mutant("algorithm/fixed_window", "self.count.used.saturating_add(cost)", "self.count.used.max(cost)"),
    mutant(
        "algorithm/fixed_window",
        "self.count.start <= receipt.at && receipt.at < self.count.end",
        "self.count.start <= receipt.at || receipt.at < self.count.end",
    ),
    mutant(
        "algorithm/fixed_window",
        "receipt.cost.min(self.count.used)",
        "receipt.cost.max(self.count.used)",
    ),
    // The sliding window of two counts.
    mutant("algorithm/sliding_window", "at < counts.end", "at <= counts.end"),
    mutant(
        "algorithm/sliding_window",
        "at.saturating_sub(now) > counts.end.saturating_sub(counts.start)",
        "at.saturating_sub(now) >= counts.end.saturating_sub(counts.start)",
    ),
    mutant("algorithm/sliding_window", "now.max(counts.start)", "now.min(counts.start)"),
    mutant("algorithm/sliding_window", "at < next_end", "at <= next_end"),
    mutant("algorithm/sliding_window", "weighted.div_ceil(steps.get())", "weighted / (steps.get())"),
    mutant("algorithm/sliding_window", "steps.get().saturating_sub(elapsed)", "steps.get().max(elapsed)"),
    mutant("algorithm/sliding_window", "steps_left > 0", "steps_left > 1"),
    mutant("algorithm/sliding_window", "steps.saturating_sub(steps_left)", "steps.max(steps_left)"),
    mutant(
        "algorithm/sliding_window",
        "capacity.saturating_sub(self.counts.current)",
        "capacity.abs_diff(self.counts.current)",
    ),
    mutant(
        "algorithm/sliding_window",
        "end.saturating_add(self.window).saturating_sub(self.at)",
        "end.max(self.window).saturating_sub(self.at)",
    ),
    mutant(
        "algorithm/sliding_window",
        "self.counts.current.saturating_add(cost)",
        "self.counts.current.max(cost)",
    ),
    mutant(
        "algorithm/sliding_window",
        "start <= receipt.at && receipt.at < end",
        "start <= receipt.at || receipt.at < end",
    ),
    // Lists: the log and the conservative buckets.
    mutant("algorithm/list", "newest.saturating_sub(now) > window", "newest.saturating_sub(now) >= window"),
    mutant("algorithm/list", "now.max(newest)", "now.min(newest)"),
    mutant("algorithm/list", "entry.at.saturating_add(window) <= at", "entry.at.saturating_add(window) < at"),
    mutant(
        "algorithm/list",
        "newest.saturating_add(self.spans.window).saturating_sub(self.at)",
        "newest.max(self.spans.window).saturating_sub(self.at)",
    ),
    mutant("algorithm/list", "capacity.saturating_sub(self.used)", "capacity.abs_diff(self.used)"),
    mutant("algorithm/list", "newest.cost.saturating_add(entry.cost)", "newest.cost.max(entry.cost)"),
    mutant("algorithm/list", "excess > 0", "excess > 1"),
    mutant(
        "algorithm/list",
        "self.bucket_of(newest) == self.bucket_of(self.at)",
        "self.bucket_of(newest) != self.bucket_of(self.at)",
    ),
    mutant("algorithm/list", "self.bucket_of(entry.at) <= bucket", "self.bucket_of(entry.at) < bucket"),
    mutant("algorithm/list", "self.bucket_of(entry.at) == bucket", "self.bucket_of(entry.at) != bucket"),
    // Batches.
    mutant("batch", "taken.of(hit.slot).saturating_add(hit.cost)", "taken.of(hit.slot).max(hit.cost)"),
    mutant(
        "batch",
        "decision.granted() || mode == Mode::Enforced",
        "decision.granted() && mode == Mode::Enforced",
    ),
    mutant(
        "batch",
        "hit.mode == Mode::Enforced && !decision.granted()",
        "hit.mode == Mode::Enforced || !decision.granted()",
    ),
];
