//! The failure rule: whether a request passes when its limits could not be decided. Only this file turns "unknown" into an
//! outcome.

/// The failure rule of a limit whose hits could not be decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailureRule {
    /// Let the request pass, uncounted.
    Allow,
    /// Do not let the request pass. Limits with a local fraction deny as well: if even the fraction could not be counted, nothing
    /// is known.
    Deny,
}

/// Returns true if a request passes although its limits could not be decided: only if every enforced limit allows it.
///
/// The limiter has already applied the rules that it can: it allowed, or counted a local fraction. The remaining cases are
/// a limit that denies, a fraction smaller than the cost, or memory without room for the key.
pub(crate) fn passes(enforced: impl IntoIterator<Item = FailureRule>) -> bool {
    enforced.into_iter().all(|rule| rule == FailureRule::Allow)
}
