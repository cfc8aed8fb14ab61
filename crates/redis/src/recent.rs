//! The last error of each cause, with the server's message.

use std::sync::{Mutex, PoisonError, TryLockError};

use crate::{Cause, LinkError};

/// The last error of each cause.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Vec<LinkError>>);

impl Recent {
    /// Remembers an error in place of an earlier one of the same cause. Not those that follow from others: that there is no connection,
    /// the breaker is open, or too many calls are in flight.
    ///
    /// It waits for nobody: of errors that come at the same time one is remembered.
    pub(crate) fn note(&self, error: &LinkError) {
        let follows =
            matches!(error, LinkError::Open | LinkError::TooManyInFlight | LinkError::Unreachable { .. });
        if follows {
            return;
        }
        let mut known = match self.0.try_lock() {
            Ok(known) => known,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        put(&mut known, error);
    }

    /// Remembers why a connection ended, or could not be made.
    pub(crate) fn note_connection(&self, error: &LinkError) {
        put(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), error);
    }

    /// All of them, one for each cause.
    pub(crate) fn all(&self) -> Vec<LinkError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn put(known: &mut Vec<LinkError>, error: &LinkError) {
    let cause = error.cause();
    match known.iter_mut().find(|known| known.cause() == cause) {
        Some(known) if known == error => {}
        Some(known) => known.clone_from(error),
        None => known.push(error.clone()),
    }
}

/// The error of a cause among those that are remembered.
pub(crate) fn of(errors: &[LinkError], cause: Cause) -> Option<&LinkError> {
    errors.iter().find(|error| error.cause() == cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_of_each_cause_is_kept_and_what_follows_from_others_is_not() {
        let recent = Recent::default();
        for line in ["NOPERM first", "MOVED 1 a:1", "NOPERM second"] {
            recent.note(&LinkError::server(line));
        }
        recent.note(&LinkError::Open);
        recent.note(&LinkError::TooManyInFlight);
        recent.note(&LinkError::unreachable(Cause::Refused, "no"));
        let told: Vec<_> = recent.all().iter().map(ToString::to_string).collect();
        let answered = "the store returned an error: ";
        assert_eq!(told, [format!("{answered}NOPERM second"), format!("{answered}MOVED 1 a:1")]);
        assert_eq!(of(&recent.all(), Cause::Moved), Some(&LinkError::server("MOVED 1 a:1")));
    }
}
