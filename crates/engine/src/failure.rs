//! The failure rule: what happens to a request whose limits could not be decided. Only this file turns "unknown" into an
//! outcome, for documents and for rules.

use tollgate::{FailureRule, Unavailable};

/// The failure rule of a limit without one: this process counts alone, with the whole limit.
pub(crate) const DEFAULT: FailureRule = FailureRule::Local { share: 1, of: 1 };

/// What becomes of a request whose limits could not be decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Undecided {
    /// It proceeds, uncounted.
    Proceeds,
    /// Nothing is known, and that is not a grant.
    Undetermined(Unavailable),
}

/// Applies the failure rules of a request's enforced limits: it proceeds only if every one of them allows it.
///
/// The limiter has already applied the rules that it can: it allowed, or counted a local fraction. The remaining cases are a
/// limit that denies, a fraction smaller than the cost, or memory without room for the key. A fraction that is too small
/// determines nothing, so the client may try again.
pub(crate) fn decide(why: Unavailable, enforced: impl IntoIterator<Item = FailureRule>) -> Undecided {
    let allows = |fails| matches!(fails, FailureRule::Allow);
    if enforced.into_iter().all(allows) { Undecided::Proceeds } else { Undecided::Undetermined(why) }
}
