//! How many operations have a limit, and which have none. Whether the limits are good ones is not judged here.

use std::collections::BTreeMap;
use std::fmt;

use super::Lint;
use crate::compile::inherit::{InheritedFrom, Operation};
use crate::document::diagnostic::Diagnostic;
use crate::document::sources::{FileId, Place};
use crate::ids::LimitId;
use crate::model::{PolicyLimit, Unmatched};
use crate::numbers::Numbers;
use tollgate_algorithms::Mode;

/// So many of so many operations have a limit that can refuse a request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Share {
    /// Those with a limit that is enforced.
    pub limited: usize,
    /// Those whose limits are switched off on purpose.
    pub off: usize,
    /// All of them.
    pub all: usize,
}

impl Share {
    /// The limited in percent of all, rounded down: 100 only if it is all of them. Of no operation at all, 100.
    #[must_use]
    pub fn percent(&self) -> u8 {
        let whole = self.limited.saturating_mul(100).checked_div(self.all).unwrap_or(100);
        u8::try_from(whole).unwrap_or(100)
    }

    const fn add(&mut self, one: &Self) {
        self.all = self.all.saturating_add(one.all);
        self.limited = self.limited.saturating_add(one.limited);
        self.off = self.off.saturating_add(one.off);
    }
}

/// `3 of 4 operations have a limit (75 %)`
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} operations have a limit ({} %)", self.limited, self.all, self.percent())
    }
}

/// The operations of one method or of one tag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The method or the tag. `None` is every method, or no tag.
    pub name: Option<String>,
    /// Of these operations.
    pub share: Share,
}

/// How many operations have a limit. A shadow limits nothing, and does not count.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Of all operations.
    pub whole: Share,
    /// By method, sorted.
    pub by_method: Vec<Group>,
    /// By tag, sorted. An operation of several tags is counted in each.
    pub by_tag: Vec<Group>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.whole.fmt(f)
    }
}

/// Counts them.
pub(super) fn count(lint: &Lint<'_>) -> Coverage {
    let mut whole = Share::default();
    let (mut methods, mut tags): (BTreeMap<_, Share>, BTreeMap<_, Share>) = Default::default();
    for operation in lint.policy.operations() {
        let limited = usize::from(is_always_limited(lint, operation));
        let off = usize::from(matches!(operation.nearest, InheritedFrom::Off(_)));
        let one = Share { limited, off, all: 1 };
        whole.add(&one);
        methods.entry(operation.method.clone()).or_default().add(&one);
        if operation.tags.is_empty() {
            tags.entry(None).or_default().add(&one);
        }
        for (index, tag) in operation.tags.iter().enumerate() {
            // A tag that is written twice is one tag.
            if !operation.tags.iter().take(index).any(|before| before == tag) {
                tags.entry(Some(tag.clone())).or_default().add(&one);
            }
        }
    }
    let groups = |map: BTreeMap<Option<String>, Share>| {
        map.into_iter().map(|(name, share)| Group { name, share }).collect::<Vec<_>>()
    };
    Coverage { whole, by_method: groups(methods), by_tag: groups(tags) }
}

/// Whether a limit refuses requests, or makes them wait.
fn limits_requests(limit: &PolicyLimit) -> bool {
    limit.mode == Mode::Enforced && limit.numbers != Numbers::Unlimited
}

pub(super) fn is_limited(lint: &Lint<'_>, limits: &[LimitId]) -> bool {
    limits.iter().filter_map(|id| lint.limit(*id)).any(limits_requests)
}

/// Whether every request for an operation has a limit, and not only those that meet a condition.
pub(super) fn is_always_limited(lint: &Lint<'_>, operation: &Operation) -> bool {
    let always = operation.uses.iter().filter(|one| one.when.is_none());
    always.filter_map(|one| lint.limit(one.limit)).any(limits_requests)
}

/// Operations without a limit, and what no operation names.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<_> = lint.policy.operations().iter().filter_map(without).collect();
    let forwards = lint.policy.settings().unmatched == Unmatched::Forward;
    if forwards && !is_limited(lint, lint.policy.default_limits()) {
        // Where `unmatched` is written is not kept with the policy; the first file is the one with the settings.
        let place = Place { file: FileId(0), start: 0, end: 0 };
        let message = "`unmatched` is `forward`, and what no operation names is not limited at all";
        let help = "write an enforced limit at the root: it is the limit of what no operation names";
        found.push(Diagnostic::warning("unlimited-unmatched", place, message).help(help));
    }
    found
}

fn without(operation: &Operation) -> Option<Diagnostic> {
    let name = tollgate_http::text::shown(&operation.name());
    match operation.nearest {
        InheritedFrom::Nothing => {
            let help = "write a limit on it, on its path or tag, or at the root; or `none` if that is meant";
            Some(Diagnostic::warning("no-limit", operation.place, format!("{name} has no limit")).help(help))
        }
        InheritedFrom::Off(place) => {
            let message = format!("{name} has no limit: it is switched off on purpose");
            let help = "take the `none` away if it should have a limit after all";
            let finding = Diagnostic::note("limits-off", operation.place, message).help(help);
            Some(finding.also(place, "it is switched off here"))
        }
        InheritedFrom::Operation | InheritedFrom::Path | InheritedFrom::Tag | InheritedFrom::Root => {
            let first = operation.uses.first()?;
            if operation.uses.iter().any(|one| one.when.is_none()) {
                return None;
            }
            let message = format!("{name} has no limit for requests that meet no condition");
            let help = "add a limit without `when`, such as `use: inherited`";
            let finding = Diagnostic::warning("no-limit", operation.place, message).help(help);
            Some(finding.also(first.place, "this limit applies to some requests only"))
        }
    }
}
