//! The operators that are broken, one at a time. Each text stands exactly once in its file, or the build fails. A text
//! that holds another comes before it.

/// One changed operator.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// The file in the core's sources, without `.rs`.
    pub file: &'static str,
    /// An expression as it ships.
    pub shipped: &'static str,
    /// The same with one operator, constant or condition changed.
    pub broken: &'static str,
}

/// A changed operator in a file.
#[must_use]
pub const fn mutant(file: &'static str, shipped: &'static str, broken: &'static str) -> Mutant {
    Mutant { file, shipped, broken }
}

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[
    // The frame that all algorithms share.
    mutant("algorithm", "cost <= room", "cost < room"),
    mutant("algorithm", "cost > capacity", "cost >= capacity"),
    mutant("algorithm", "most == 0 || room > 0", "most == 0 && room > 0"),
    mutant("algorithm", "most.min(room)", "most.max(room)"),
    mutant("algorithm", "refused(1)", "refused(2)"),
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
    mutant("algorithm", "room.saturating_sub(charged)", "room.max(charged)"),
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
    mutant("algorithm/debt", "state.period != quota.period()", "state.period < quota.period()"),
    mutant(
        "algorithm/debt",
        "scaled.div_ceil(u128::from(state.period.max(1)))",
        "scaled / (u128::from(state.period.max(1)))",
    ),
    mutant("algorithm/debt", "self.owed.div_ceil(self.quota.period())", "self.owed / (self.quota.period())"),
    mutant("algorithm/debt", "units.div_ceil(self.quota.count())", "units / (self.quota.count())"),
    mutant(
        "algorithm/debt",
        "capacity.saturating_sub(cost).saturating_mul(self.quota.period())",
        "capacity.saturating_sub(cost).max(self.quota.period())",
    ),
    mutant("algorithm/debt", "owed.saturating_sub(drained)", "owed.max(drained)"),
    mutant(
        "algorithm/debt",
        "self.owed.saturating_add(cost.saturating_mul(self.quota.period()))",
        "self.owed.max(cost.saturating_mul(self.quota.period()))",
    ),
    mutant("algorithm/debt", "receipt.at > self.at", "receipt.at < self.at"),
    mutant("algorithm/debt", "self.wide > 0", "self.wide > u128::MAX - 1"),
    mutant(
        "algorithm/debt",
        "charged.saturating_sub(drained).min(self.owed)",
        "charged.saturating_add(drained).min(self.owed)",
    ),
    mutant("algorithm/debt", "elapsed.saturating_mul(self.quota.count())", "elapsed.min(self.quota.count())"),
    // The fixed window.
    mutant(
        "algorithm/fixed_window",
        "at < count.end && at.saturating_sub(now) <= length",
        "at < count.end && at.saturating_sub(now) <= length && rule.window == Window::Every(length)",
    ),
    mutant("algorithm/fixed_window", "at < count.end", "at <= count.end"),
    mutant("algorithm/fixed_window", "at.saturating_sub(now) <= length", "at.saturating_sub(now) < length"),
    mutant("algorithm/fixed_window", "now.max(count.start)", "now.min(count.start)"),
    mutant(
        "algorithm/fixed_window",
        "capacity.saturating_sub(self.count.used)",
        "capacity.abs_diff(self.count.used)",
    ),
    mutant(
        "algorithm/fixed_window",
        "count.end.saturating_sub(count.start)",
        "count.end.saturating_sub(count.start).min(rule.bounds(now).1.saturating_sub(rule.bounds(now).0))",
    ),
    mutant("algorithm/fixed_window", "self.count.used.saturating_add(cost)", "self.count.used.max(cost)"),
    mutant(
        "algorithm/fixed_window",
        "self.count.start <= receipt.at && receipt.at < self.count.end",
        "self.count.start <= receipt.at || receipt.at < self.count.end",
    ),
    mutant("algorithm/fixed_window", "part.min(self.count.used)", "part.max(self.count.used)"),
    mutant("algorithm/fixed_window", "start.max(over)", "start.min(over)"),
    // Calendar windows.
    mutant("window", "month.saturating_sub(month.rem_euclid(12))", "month"),
    mutant("window", "day.saturating_add(3)", "day.saturating_add(4)"),
    mutant("calendar", "first_day_of_month(guess) > day", "first_day_of_month(guess) >= day"),
    mutant(
        "calendar",
        "first_day_of_month(guess.saturating_add(1)) <= day",
        "first_day_of_month(guess.saturating_add(1)) < day",
    ),
    mutant(
        "calendar",
        "year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400)",
        "year.div_euclid(4) - year.div_euclid(100) - year.div_euclid(400)",
    ),
    // The sliding window of two counts.
    mutant(
        "algorithm/sliding_window",
        "!ahead && at < counts.end",
        "!ahead && at < counts.end && window == counts.end.saturating_sub(counts.start)",
    ),
    mutant("algorithm/sliding_window", "at < counts.end", "at <= counts.end"),
    mutant(
        "algorithm/sliding_window",
        "!ahead && counts.current > 0 && at < next_end",
        "!ahead && counts.current > 0 && at < next_end && window == counts.end.saturating_sub(counts.start)",
    ),
    mutant(
        "algorithm/sliding_window",
        "at.saturating_sub(now) > counts.end.saturating_sub(counts.start)",
        "at.saturating_sub(now) >= counts.end.saturating_sub(counts.start)",
    ),
    mutant("algorithm/sliding_window", "now.max(counts.start)", "now.min(counts.start)"),
    mutant("algorithm/sliding_window", "at < next_end", "at <= next_end"),
    mutant("algorithm/sliding_window", "counts.current > 0", "counts.current >= 0"),
    mutant("algorithm/sliding_window", "weighted.div_ceil(steps.get())", "weighted / (steps.get())"),
    mutant("algorithm/sliding_window", "steps.get().saturating_sub(elapsed)", "steps.get().max(elapsed)"),
    mutant(
        "algorithm/sliding_window",
        "Steps::of(self.counts.end.saturating_sub(self.counts.start))",
        "Steps::of(self.counts.end.max(self.counts.start))",
    ),
    mutant("algorithm/sliding_window", "Steps::of(self.window)", "Steps::of(end.saturating_sub(start))"),
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
    mutant(
        "algorithm/sliding_window",
        "start.saturating_sub(self.window) <= receipt.at",
        "start.saturating_sub(self.window) < receipt.at",
    ),
    // Lists: the log and the conservative buckets.
    mutant("algorithm/list", "newest.saturating_sub(now) > window", "newest.saturating_sub(now) >= window"),
    mutant("algorithm/list", "now.max(newest)", "now.min(newest)"),
    mutant("algorithm/list", "total.at.saturating_add(window) > at", "total.at.saturating_add(window) >= at"),
    mutant(
        "algorithm/list",
        "newest.saturating_add(self.spans.window).saturating_sub(self.at)",
        "newest.max(self.spans.window).saturating_sub(self.at)",
    ),
    mutant("algorithm/list", "capacity.saturating_sub(self.used)", "capacity.abs_diff(self.used)"),
    mutant("algorithm/list", "low < high", "low > high"),
    mutant(
        "algorithm/list",
        "total.through.wrapping_sub(before) >= excess",
        "total.through.wrapping_sub(before) > excess",
    ),
    mutant(
        "algorithm/list",
        "self.bucket_of(newest) == self.bucket_of(self.at)",
        "self.bucket_of(newest) != self.bucket_of(self.at)",
    ),
    mutant("algorithm/list", "entries >= self.spans.entries_max", "entries > self.spans.entries_max"),
    mutant("algorithm/list", "self.bucket_of(total.at) > bucket", "self.bucket_of(total.at) >= bucket"),
    mutant("algorithm/list", "self.bucket_of(entry.at) == bucket", "self.bucket_of(entry.at) != bucket"),
    mutant(
        "algorithm/list",
        "back == entry.cost && found.saturating_add(1) == list.totals.len()",
        "back == entry.cost || found.saturating_add(1) == list.totals.len()",
    ),
    mutant("algorithm/list", "taken == entry.cost", "taken > entry.cost"),
    // Batches.
    mutant("batch", "before.saturating_add(hit.cost)", "before.max(hit.cost)"),
    mutant("batch", "taken.saturating_add(hit.cost)", "taken.max(hit.cost)"),
    mutant(
        "batch",
        "hit.mode == Mode::Enforced && other < place",
        "hit.mode == Mode::Enforced && other > place",
    ),
    mutant(
        "batch",
        "hit.mode == Mode::Enforced || (other < place && is_charged(other))",
        "hit.mode == Mode::Enforced",
    ),
    mutant("batch", "hit.cost == 0", "hit.cost != 0"),
    mutant("batch", "decision.charged.min(hit.cost)", "decision.charged.max(hit.cost)"),
    mutant("batch", "hit.cost > 0", "hit.cost > 1"),
    mutant("batch", "*target == hit.target", "*target != hit.target"),
];
