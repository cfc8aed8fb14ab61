//! Advice on a policy that is without errors: what it probably does not mean. What is wrong is said while it is read, not here.

mod bound;
mod client_selectable;
mod cost;
mod coverage;
mod dropped;
mod group_findings;
mod hygiene;
mod keys;
mod lockout;
mod sharing;
mod spoofable_keys;
mod store_share;
mod tags;
#[cfg(test)]
mod tests;
mod tiers;
mod unenforced;
mod unreachable;
mod windows;

use std::collections::BTreeMap;

use tollgate_algorithms::Mode;

use crate::compile::inherit::Operation;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::ids::{LimitId, OperationId};
use crate::model::PolicyLimit;
use crate::numbers::Numbers;
use crate::policy::Policy;
pub use coverage::{Coverage, Group, Share};
pub use keys::TOKEN_TIME_NOTED;
pub use unenforced::not_enforced;
pub use windows::{LOG_BYTES_NOTED, WAIT_NOTED};

/// So many findings of one code are kept. Further ones are only counted, in [`Advice::left_out`]: whoever has more of a
/// kind fixes the first and asks again.
pub const ADVICE_PER_CODE_MAX: usize = 50;

/// What could be better in a policy.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Warnings and notes, sorted by place. At most [`ADVICE_PER_CODE_MAX`] of each code.
    pub findings: Findings,
    /// How many findings of a code were left out, by code.
    pub left_out: Vec<(&'static str, usize)>,
    /// How many operations have a limit.
    pub coverage: Coverage,
}

/// Looks for what a policy probably does not mean.
///
/// Every finding is a warning or a note, has a place, a stable code, and says what to do.
///
/// ```
/// use tollgate_policy::{Policy, lint::advise};
/// let policy = Policy::parse("tollgate.yaml", "
/// tollgate: 1
/// routes:
///   - { path: /reports, rate_limit: { algorithm: sliding_window_log, limit: 5, window: 1m, consumer_key: ip } }
///   - { path: /health }
/// ")?;
/// let advice = advise(&policy);
/// assert_eq!(advice.coverage.to_string(), "1 of 2 operations have a limit (50 %)");
/// assert_eq!(advice.findings.all()[0].message, "* /health has no limit");
/// # Ok::<(), tollgate_policy::Refused>(())
/// ```
#[must_use]
pub fn advise(policy: &Policy) -> Advice {
    let lint = Lint::new(policy);
    let all = [
        coverage::advise(&lint),
        cost::advise(&lint),
        tiers::advise(&lint),
        unreachable::advise(&lint),
        windows::advise(&lint),
        lockout::advise(&lint),
        spoofable_keys::advise(&lint),
        keys::advise(&lint),
        client_selectable::advise(&lint),
        dropped::advise(&lint),
        sharing::advise(&lint),
        store_share::advise(&lint),
        tags::advise(&lint),
        hygiene::advise(&lint),
    ];
    let (findings, left_out) = kept(all.into_iter().flatten().collect());
    Advice { findings, left_out, coverage: coverage::count(&lint) }
}

/// The first of each code, in the order of the documents, and how many more there are.
fn kept(mut all: Vec<Diagnostic>) -> (Findings, Vec<(&'static str, usize)>) {
    all.sort_by(|a, b| {
        (a.place, a.severity, a.code, &a.message).cmp(&(b.place, b.severity, b.code, &b.message))
    });
    all.dedup();
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut findings = Findings::default();
    for finding in all {
        let count = counts.entry(finding.code).or_default();
        *count = count.saturating_add(1);
        if *count <= ADVICE_PER_CODE_MAX {
            findings.push(finding);
        }
    }
    let beyond = counts.into_iter().map(|(code, count)| (code, count.saturating_sub(ADVICE_PER_CODE_MAX)));
    (findings, beyond.filter(|(_, more)| *more > 0).collect())
}

/// A policy, and which operations meet each of its limits.
pub(crate) struct Lint<'a> {
    policy: &'a Policy,
    /// For each limit, the operations that it meets, in the order of the documents.
    meets: Vec<Vec<OperationId>>,
}

impl<'a> Lint<'a> {
    fn new(policy: &'a Policy) -> Self {
        let mut meets = vec![Vec::new(); policy.limits().len()];
        for (id, operation) in OperationId::number(policy.operations()) {
            for limit in &operation.limits {
                if let Some(list) = meets.get_mut(limit.index()) {
                    list.push(id);
                }
            }
        }
        Self { policy, meets }
    }

    /// Every limit with its number.
    fn limits(&self) -> impl Iterator<Item = (LimitId, &'a PolicyLimit)> {
        LimitId::number(self.policy.limits())
    }

    fn limit(&self, id: LimitId) -> Option<&'a PolicyLimit> {
        self.policy.limits().get(id.index())
    }

    /// The operations that a limit meets.
    fn operations_of(&self, limit: LimitId) -> impl Iterator<Item = &'a Operation> {
        let ids = self.meets.get(limit.index()).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| self.policy.operations().get(id.index()))
    }
}

/// Whether a limit can refuse a request: neither a shadow, nor of an algorithm that is only shown as yet.
fn can_refuse(limit: &PolicyLimit) -> bool {
    limit.mode == Mode::Enforced && matches!(limit.numbers, Numbers::Counted(_))
}

/// A limit's or a tier's name as it may stand in a message.
fn named(name: &str) -> String {
    format!("`{}`", tollgate_http::text::shown(name))
}
