//! The failure rule: whether a request passes when its limits could not be decided. Only this file turns "unknown" into an
//! outcome.

/// What a limit says while nothing can decide its hits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailureRule {
    /// Let the request pass, uncounted.
    Allow,
    /// Do not let it pass. A limit that counts a local share says this as well: if even the share could not be counted, nothing
    /// is known.
    Deny,
}

/// Whether a request passes although its limits could not be decided: only if every enforced limit says so.
///
/// The limiter has already applied what each limit says about a failing store: it allowed, or counted a local share. What comes
/// here are the rest: a limit that denies, a share that is smaller than the cost, or a memory without room for the key.
pub(crate) fn passes(enforced: impl IntoIterator<Item = FailureRule>) -> bool {
    enforced.into_iter().all(|rule| rule == FailureRule::Allow)
}
