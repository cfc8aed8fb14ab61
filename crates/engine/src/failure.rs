//! The failure rule: what happens to a request whose limits could not be decided. Only this file turns "unknown" into an
//! outcome, for documents and for rules.

use tollgate::{StoreFails, Unavailable};

/// What a limit does while a store fails if nothing is said: this process counts alone, with the whole limit.
pub(crate) const DEFAULT: StoreFails = StoreFails::Local { share: 1, of: 1 };

/// What becomes of a request whose limits could not be decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Undecided {
    /// It proceeds, uncounted.
    Proceeds,
    /// Nothing is known, and that is not a grant.
    Undetermined(Unavailable),
}

/// Decides about a request whose limits could not be decided, by what each of its enforced limits does then. It proceeds only
/// if all of them say so.
///
/// The limiter has already tried each limit's way without the store: it let a hit pass, or counted it on this process's share.
/// What comes here is the rest: a limit that denies, a share that is smaller than the cost, or a memory without room for the
/// key. Of a share nothing is known then, so that the client may try again.
pub(crate) fn decide(why: Unavailable, enforced: impl IntoIterator<Item = StoreFails>) -> Undecided {
    let allows = |fails| match fails {
        StoreFails::Allow => true,
        StoreFails::Deny | StoreFails::Local { .. } => false,
    };
    if enforced.into_iter().all(allows) { Undecided::Proceeds } else { Undecided::Undetermined(why) }
}
