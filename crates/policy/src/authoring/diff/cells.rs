//! The words of a difference, cell by cell: the same for people at a terminal and in a pull request. Not how they are drawn.

use std::fmt;

use super::{Change, Diff, LimitAt, LimitDiff, OperationDiff, Terms, TierDiff, Verdict, fold};
use crate::authoring::impact::Impact;
use crate::quantity::spoken;

/// The heads of the columns of operations.
pub(super) const OPERATION_HEADS: [&str; 7] =
    ["Operation", "Tier", "Change", "Sustained", "At once", "Worst minute", "Limits"];
/// The heads of the columns of limits.
pub(super) const LIMIT_HEADS: [&str; 6] = ["Limit", "Tier", "Sustained", "At once", "Worst minute", "What"];

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "same",
            Self::Looser => "looser",
            Self::Tighter => "tighter",
            Self::Mixed => "mixed",
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "same",
            Self::Looser => "looser",
            Self::Tighter => "tighter",
            Self::Mixed => "mixed",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Renamed { from } => {
                return write!(f, "renamed from {}, its keys start afresh", tollgate_http::text::shown(from));
            }
            Self::OtherAlgorithm { same_state: false } => "another algorithm, its keys start afresh",
            Self::OtherAlgorithm { same_state: true } => {
                "another algorithm, its keys start afresh unless a shared store has them"
            }
            Self::OtherKey => "another consumer key, its keys start afresh",
            Self::ModeChanged { enforced: true } => "enforced, was a shadow",
            Self::ModeChanged { enforced: false } => "a shadow, was enforced",
            Self::CostChanged => "another cost",
            Self::Other { field, before, after } => {
                return write!(
                    f,
                    "{field}: {} → {}",
                    tollgate_http::text::shown(before),
                    tollgate_http::text::shown(after)
                );
            }
        })
    }
}

/// A row of operations without the operation and its tier.
pub(super) fn change(row: &OperationDiff) -> [String; 5] {
    let meanings = [SideCells::of(row.before.as_ref()), SideCells::of(row.after.as_ref())];
    let [sustained, burst, worst] = between(&meanings);
    let limits: Vec<String> = row.limits.iter().map(limit_at).collect();
    [row.verdict.to_string(), sustained, burst, worst, limits.join("; ")]
}

fn limit_at(limit: &LimitAt) -> String {
    format!("{}: {}", tollgate_http::text::shown(&limit.name), changes(&limit.changes))
}

fn changes(changes: &[Change]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The rows of one limit: everybody's, and those of tiers whose numbers are others now. Tiers that say the same are one.
pub(super) fn limit(limit: &LimitDiff) -> Vec<Vec<String>> {
    let shown = limit.tiers.iter().filter(|tier| tier.tier.is_none() || tier.before != tier.after);
    let each = shown.map(|of| {
        let [sustained, burst, worst] =
            between(&[SideCells::of_terms(of.before.as_ref()), SideCells::of_terms(of.after.as_ref())]);
        (tier(of.tier.as_ref()), [sustained, burst, worst, of_tier(of)])
    });
    let groups = fold::grouped(each).into_iter().enumerate();
    groups
        .map(|(at, (tiers, [sustained, burst, worst, own]))| {
            // The first is everybody's, and has what is said of the limit itself.
            let (name, what) = if at == 0 {
                (tollgate_http::text::shown(&limit.name), whole(&limit.changes, &own))
            } else {
                (String::new(), own)
            };
            vec![name, fold::names(&tiers), sustained, burst, worst, what]
        })
        .collect()
}

/// What is said of a limit on everybody's row: its changes, with how everybody's own numbers compare.
fn whole(all: &[Change], own: &str) -> String {
    let of_numbers = |change: &Change| matches!(change, Change::Looser | Change::Tighter | Change::Mixed);
    let words = all.iter().map(|change| if of_numbers(change) { own.to_owned() } else { change.to_string() });
    let same = Change::Same.to_string();
    let words: Vec<String> = words.filter(|word| *word != same).collect();
    if words.is_empty() { same } else { words.join(", ") }
}

fn of_tier(tier: &TierDiff) -> String {
    match (tier.before, tier.after) {
        (None, _) => Change::Added.to_string(),
        (_, None) => Change::Removed.to_string(),
        (Some(_), Some(_)) => tier.verdict.to_string(),
    }
}

pub(super) fn tier(tier: Option<&String>) -> String {
    tier.map_or_else(|| "(default)".into(), |tier| tollgate_http::text::shown(tier))
}

/// Three numbers of one side, in words.
struct SideCells([String; 3]);

impl SideCells {
    fn of(impact: Option<&Impact>) -> Self {
        let number =
            |number: Option<u64>| number.map_or_else(|| "unlimited".into(), |number| number.to_string());
        Self(impact.map_or_else(
            || ["-".into(), "-".into(), "-".into()],
            |of| [of.sustained.to_string(), number(of.burst), number(of.worst_minute)],
        ))
    }

    fn of_terms(terms: Option<&Terms>) -> Self {
        match terms {
            Some(Terms { numbers, impact: None }) => Self(["-".into(), numbers.to_string(), "-".into()]),
            other => Self::of(other.and_then(|terms| terms.impact.as_ref())),
        }
    }
}

/// `5 → 10`, or `5` where it stays.
fn between([before, after]: &[SideCells; 2]) -> [String; 3] {
    let [a, b, c] = &before.0;
    let [d, e, f] = &after.0;
    [(a, d), (b, e), (c, f)].map(|(was, is)| if was == is { was.clone() } else { format!("{was} → {is}") })
}

/// What a change of algorithm means while processes with the old policy and with the new one run side by side. Nothing if no
/// limit has another kind of state.
pub(super) fn rollout(diff: &Diff) -> Option<String> {
    let is_counted_apart = |limit: &&LimitDiff| {
        limit.changes.iter().any(|change| matches!(change, Change::OtherAlgorithm { same_state: false }))
    };
    let names: Vec<String> = diff
        .limits
        .iter()
        .filter(is_counted_apart)
        .map(|limit| tollgate_http::text::shown(&limit.name))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "During a rollout, processes with the old policy and with the new one count {} apart, also in a shared store: \
             each enforces its own limit, and a client may use up to both together.",
            fold::names(&names)
        )
    })
}

/// How long keys wait that were used up under the old numbers of a limit. Nothing if none waits longer than under the new ones.
pub(super) fn lockouts(diff: &Diff) -> Option<String> {
    let waits = diff.limits.iter().filter_map(|limit| Some((limit, limit.longest_lockout?)));
    let waits: Vec<String> = waits
        .map(|(limit, wait)| format!("{}: {}", tollgate_http::text::shown(&limit.name), spoken(wait)))
        .collect();
    (!waits.is_empty()).then(|| {
        format!(
            "What a key owes stays owed under lower numbers. A key that has used up the old limit waits up to ({}); to reset it ends that.",
            waits.join("; ")
        )
    })
}

/// Everything in one line.
pub(super) fn summary(diff: &Diff) -> String {
    if diff.is_empty() {
        return "Nothing changes.".into();
    }
    let count = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {many}")),
    };
    let of = |verdict: &Change| diff.operations.iter().filter(|row| row.verdict == *verdict).count();
    // What is the same in effect is in the table, and is no change.
    let all = [Change::Looser, Change::Tighter, Change::Mixed, Change::Added, Change::Removed];
    let verdicts: Vec<String> = all
        .iter()
        .filter(|verdict| of(verdict) > 0)
        .map(|verdict| format!("{} {verdict}", of(verdict)))
        .collect();
    let same = of(&Change::Same);
    let rows = diff.operations.len().saturating_sub(same).saturating_add(diff.more_operations);
    let parts = [
        count(rows, "operation changes", "operations and tiers change")
            .map(|text| if verdicts.is_empty() { text } else { format!("{text} ({})", verdicts.join(", ")) }),
        count(diff.limits.len(), "limit changes", "limits change"),
        count(diff.settings.len(), "setting changes", "settings change"),
        count(diff.approvals.len(), "approval is needed", "approvals are needed"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "Nothing changes for clients.".into() } else { format!("{}.", parts.join("; ")) }
}

/// What is said where rows were left out.
pub(super) fn left_out(diff: &Diff) -> Option<String> {
    (diff.more_operations > 0).then(|| format!("… and {} more operations and tiers.", diff.more_operations))
}
