//! Advice on valid policies: settings that their author probably did not intend.

mod bound;
mod client_selectable;
mod config;
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
mod suppress;
mod tags;
#[cfg(test)]
mod tests;
mod tiers;
mod unenforced;
mod unreachable;
mod waiting;
mod windows;

use tollgate_algorithms::Mode;

use crate::compile::inherit::Operation;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::ids::{LimitId, OperationId};
use crate::model::{LimitUse, PolicyLimit};
use crate::numbers::Numbers;
use crate::policy::Policy;
pub use config::{Config, Level};
pub use coverage::{Coverage, Group, Share};
pub use keys::TOKEN_TIME_NOTED;
pub use suppress::{Applied, Suppressed, Suppressions};
pub use unenforced::not_enforced;
pub use windows::{LOG_BYTES_NOTED, WAIT_NOTED};

/// What could be better in a policy.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Warnings and notes, sorted by place: also those that were found when the policy was loaded.
    pub findings: Findings,
    /// What would be among them, had no comment accepted it.
    pub suppressed: Vec<Suppressed>,
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
/// # Ok::<(), tollgate_policy::RejectedPolicy>(())
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
        waiting::advise(&lint),
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
    let loaded = policy.findings().all().iter().cloned();
    let mut all: Vec<_> = all.into_iter().flatten().chain(loaded).collect();
    let sort = |all: &mut Vec<Diagnostic>| {
        all.sort_by(|a, b| {
            (a.place, a.severity, a.code, &a.message).cmp(&(b.place, b.severity, b.code, &b.message))
        });
    };
    sort(&mut all);
    all.dedup();
    let Applied { mut kept, suppressed } = Suppressions::of(policy.sources()).apply(all);
    sort(&mut kept);
    let mut findings = Findings::default();
    kept.into_iter().for_each(|finding| findings.push(finding));
    Advice { findings, suppressed, coverage: coverage::count(&lint) }
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

    /// Every use of every limit.
    fn uses(&self) -> impl Iterator<Item = &'a LimitUse> {
        self.policy.operations().iter().flat_map(|operation| &operation.uses).chain(&self.policy.root_uses)
    }

    /// Whether a limit applies to every request, and costs the same, wherever it is used.
    fn is_used_plainly(&self, id: LimitId) -> bool {
        !self.uses().any(|one| one.limit == id && (one.cost.is_some() || one.when.is_some()))
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
