//! Compares two policies: what gets looser or tighter for clients, and who has to approve it.

mod approvals;
mod cells;
mod codeowners;
mod effective;
mod fold;
mod human;
mod judge;
mod limits;
mod markdown;
mod operations;
mod rows;
mod settings;
pub(crate) mod strictness;
#[cfg(test)]
mod tests;
mod tier;
mod uses;
mod verdict;
mod words;

use tollgate_algorithms::Micros;

use crate::authoring::impact::Impact;
use crate::numbers::Numbers;
use crate::policy::Policy;
pub use approvals::{Approval, Review};
pub use markdown::MARKDOWN_CHARS_MAX;
pub use rows::ROWS_MAX;
use rows::Rows;
pub use tier::ANY_OTHER_TIER;
use uses::Uses;
pub use verdict::{Change, Verdict};

/// Numbers, and what they mean for one key. They are counted in cost, as the limit counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// The numbers.
    pub numbers: Numbers,
    /// What they mean; `None` for numbers that do not limit how often.
    pub impact: Option<Impact>,
}

impl Terms {
    fn of(numbers: &Numbers) -> Self {
        Self { numbers: *numbers, impact: Impact::of(numbers) }
    }
}

/// The numbers of one tier under a limit, before and after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TierDiff {
    /// The tier; `None` is everybody of whom none is known: they have the default tier's numbers, if there is one.
    /// [`ANY_OTHER_TIER`] is every tier that has no numbers of its own.
    pub tier: Option<String>,
    /// Before; `None` if there was no such limit.
    pub before: Option<Terms>,
    /// After; `None` if there is no such limit any more.
    pub after: Option<Terms>,
    /// How the numbers compare. A limit that is new or gone has [`Verdict::Same`] here: there is nothing to compare.
    pub verdict: Verdict,
}

/// One limit that is not what it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitDiff {
    /// Its name: the new one, if it was renamed.
    pub name: String,
    /// Where it is written, such as `openapi.yaml:12:7`: in the new policy, or, if it is gone, in the old one.
    pub at: String,
    /// What changed: at least one.
    pub changes: Vec<Change>,
    /// All in all, for clients. A limit that does not refuse, neither before nor after, is [`Verdict::Same`].
    pub verdict: Verdict,
    /// The longest wait of a key that was used up under the old numbers, in whole seconds. `None` if no key waits longer than the
    /// new numbers take to be restored in full, or if keys start afresh.
    pub longest_lockout: Option<Micros>,
    /// The numbers of everybody, then of each tier that has others before or after.
    pub tiers: Vec<TierDiff>,
    /// Who has to agree: owner and reviewers, before and after.
    pub approvals: Vec<String>,
}

/// A limit of an operation that is not what it was there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitAt {
    /// Its name.
    pub name: String,
    /// What changed here. `Added` and `Removed` can also mean that the limit itself stays, and only left this operation.
    pub changes: Vec<Change>,
}

/// One operation for one tier, whose limits are not what they were.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationDiff {
    /// `POST /reports/generate`, with its host and headers if it asks for some.
    pub name: String,
    /// For whom, as in [`TierDiff::tier`].
    pub tier: Option<String>,
    /// `Looser`, `Tighter`, `Mixed` or `Same`, seen over all its enforced limits; or `Added` or `Removed`.
    pub verdict: Change,
    /// What that means for clients, also where the operation was added or removed.
    pub effect: Verdict,
    /// In each respect the least of its enforced limits, in requests where a request has a fixed cost. `None` if there
    /// was no such operation.
    pub before: Option<Impact>,
    /// The same, after; `None` if there is no such operation any more.
    pub after: Option<Impact>,
    /// What changed.
    pub limits: Vec<LimitAt>,
    /// Who has to agree.
    pub approvals: Vec<String>,
}

/// Something besides limits that is different.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingDiff {
    /// A sentence: what, before and now.
    pub text: String,
    /// What it means for clients. Where who is who changes, it is [`Verdict::Mixed`].
    pub verdict: Verdict,
}

/// What is different between two policies. Nothing that means the same is in it, such as a limit that only moved.
///
/// In the order of the new documents; what is gone stands last, in the order of the old ones.
///
/// ```
/// use tollgate_policy::{Policy, diff::{FailOn, diff}};
/// let policy = |capacity: u64| Policy::parse("tollgate.yaml", &format!("
/// tollgate: 1
/// routes:
///   - path: /reports
///     rate_limit: {{ name: reports, algorithm: token_bucket, capacity: {capacity}, refill_rate: 1, owner: '@reports' }}
/// "));
/// let changed = diff(&policy(5)?, &policy(10)?);
/// assert!(changed.fails_on(FailOn::Looser) && !changed.fails_on(FailOn::Tighter));
/// assert_eq!(changed.approvals[0].who, "@reports");
/// assert!(diff(&policy(5)?, &policy(5)?).is_empty());
/// # Ok::<(), tollgate_policy::RejectedPolicy>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Diff {
    /// Operations, by tier: at most [`ROWS_MAX`].
    pub operations: Vec<OperationDiff>,
    /// How many more rows of operations there are. They count for [`fails_on`](Self::fails_on) and for approvals.
    pub more_operations: usize,
    /// Limits.
    pub limits: Vec<LimitDiff>,
    /// What is different besides limits.
    pub settings: Vec<SettingDiff>,
    /// Every limit that changed, itself or at an operation, and who has to agree to it.
    pub reviews: Vec<Review>,
    /// Who has to agree, and because of which limits.
    pub approvals: Vec<Approval>,
    /// What [`fails_on`](Self::fails_on) answers, also for what was not kept.
    pub(crate) found: ChangesFound,
}

/// What was found anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ChangesFound {
    looser: bool,
    tighter: bool,
    removed: bool,
}

impl ChangesFound {
    const fn verdict(&mut self, verdict: Verdict) {
        self.looser |= matches!(verdict, Verdict::Looser | Verdict::Mixed);
        self.tighter |= matches!(verdict, Verdict::Tighter | Verdict::Mixed);
    }
}

/// What a check of a change can refuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailOn {
    /// Something lets more through, or may: a [mixed](Verdict::Mixed) change does in some respect.
    Looser,
    /// Something lets less through, or may.
    Tighter,
    /// A limit or an operation is gone, or a limit is gone from an operation.
    Removed,
}

impl Diff {
    /// Whether nothing is different.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.limits.is_empty() && self.settings.is_empty()
    }

    /// Whether there is such a change, in an operation, a limit or a setting.
    ///
    /// An operation that is added without an enforced limit is looser, and one that is gone and had none is tighter, if
    /// the other policy limits or refuses its requests.
    #[must_use]
    pub const fn fails_on(&self, what: FailOn) -> bool {
        match what {
            FailOn::Looser => self.found.looser,
            FailOn::Tighter => self.found.tighter,
            FailOn::Removed => self.found.removed,
        }
    }
}

/// Compares two policies.
///
/// Operations are the same if method, template (whatever its parameters are called), host and headers are. Limits are
/// the same if their names are. A limit that is gone, where another came with the same numbers, kind of place and key
/// at the same operations, was renamed.
#[must_use]
pub fn diff(old: &Policy, new: &Policy) -> Diff {
    let matched = operations::matched(old, new);
    let pairs = limits::pairs(old, new, &matched);
    let mut diff = Diff { settings: settings::changes(old, new), ..Diff::default() };
    for setting in &diff.settings {
        diff.found.verdict(setting.verdict);
    }
    let mut reviews = approvals::Reviews::default();
    for pair in &pairs {
        if let Some(limit) = limits::compare(old, new, *pair) {
            diff.found.verdict(limit.verdict);
            diff.found.removed |= limit.changes.contains(&Change::Removed);
            reviews.add(old, new, *pair);
            diff.limits.push(limit);
        }
    }
    let uses = (&Uses::of(old), &Uses::of(new));
    let mut rows = Rows::new((old, new), uses, &pairs, &mut diff, &mut reviews);
    operations::compare(&matched, &mut rows);
    diff.approvals = reviews.by_person();
    diff.reviews = reviews.list;
    diff
}
