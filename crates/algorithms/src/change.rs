//! The effect of a decision on a state, as a value. Nothing is charged until the caller applies it.

use crate::State;
use crate::algorithm::list::{Edit, List};

/// The change that a decision makes to a state.
///
/// [`decide`](crate::decide) returns it without applying it. A peek drops it; a batch applies all changes or none.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "nothing is charged until the change is applied"]
pub enum Change {
    /// Leave the state as it is.
    Keep,
    /// Replace the state. Never by a list: those are edited.
    Replace(State),
    /// Remove the state.
    Forget,
    /// Edit the list of [`State::SlidingWindowBuckets`].
    EditBuckets(Edit),
    /// Edit the list of [`State::SlidingWindowLog`].
    EditLog(Edit),
}

impl Change {
    /// Applies the change, to the same state that the decision was made on.
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
