//! The effect of a decision on a state, as a value. Nothing is charged until the caller applies it.

use crate::State;
use crate::algorithm::list::{Edit, List};

/// The change that a decision makes to a state.
///
/// [`decide`](crate::decide) only returns it. A peek drops it, a batch applies all of its changes or none, a
/// simulation does as it likes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "nothing is charged until the change is applied"]
pub enum Change {
    /// Leave the state as it is.
    Keep,
    /// Put this state in its place. Never one of the lists: those are edited.
    Replace(State),
    /// Remove the state: the key is as good as never seen.
    Forget,
    /// Edit the list of [`State::SlidingWindowBuckets`].
    EditBuckets(Edit),
    /// Edit the list of [`State::SlidingWindowLog`].
    EditLog(Edit),
}

impl Change {
    /// Makes the change. To be applied to the very state that was decided on.
    #[inline]
    pub fn apply(self, state: &mut Option<State>) {
        match self {
            Self::Keep => {}
            Self::Replace(new) => *state = Some(new),
            Self::Forget => *state = None,
            Self::EditBuckets(edit) => {
                if let Some(State::SlidingWindowBuckets(list)) = state {
                    list.apply(edit);
                } else {
                    *state = Some(State::SlidingWindowBuckets(List::edited(edit)));
                }
            }
            Self::EditLog(edit) => {
                if let Some(State::SlidingWindowLog(list)) = state {
                    list.apply(edit);
                } else {
                    *state = Some(State::SlidingWindowLog(List::edited(edit)));
                }
            }
        }
    }
}
