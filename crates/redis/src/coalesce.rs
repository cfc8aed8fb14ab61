//! Coalesces several calls into one: which ones can be, and what is sent. `driver.rs` decides when.

use smallvec::SmallVec;

use crate::script::{Driver, many};
use crate::{Argument, Call};

/// How many calls go to the server as one, at most. More wait for the next.
///
/// What every script call costs is shared by all of them: a token bucket takes 9.4 us of the server alone, 6.9 among 4 and 4.9 among 16;
/// among 32 it would take 4.6. But nobody is answered before the last is decided, and the server does nothing else meanwhile:
/// with 16 token buckets that is a tenth of a millisecond, and with long logs as long as they take one after the other.
pub const TOGETHER_MAX: usize = 16;

impl Call {
    /// One call that asks what several do, in their order: each a charge of one limit, and all by the same script.
    ///
    /// It is answered by an array with an element for each: what that call alone would have been answered, be it an error. They are
    /// decided one after the other at one instant, each by itself, and may be about the same key. If all of three or more ask the same of
    /// the same limit, their argument is sent once.
    ///
    /// None if they are fewer than two, more than [`TOGETHER_MAX`], or not of that kind.
    #[must_use]
    pub fn together(calls: &[Self]) -> Option<Self> {
        let first = calls.first()?;
        let fits = (2..=TOGETHER_MAX).contains(&calls.len()) && calls.iter().all(|call| call.joins(first));
        let script = many(first.script).filter(|_| fits)?;
        // Of two, the script could not tell an argument from the time that a test gives.
        let is_same = |call: &Self| call.arguments.first() == first.arguments.first();
        let own = if calls.len() > 2 && calls.iter().all(is_same) { 1 } else { calls.len() };
        // Room for all at once.
        let mut names = SmallVec::with_capacity(calls.len());
        let mut arguments = SmallVec::with_capacity(own + first.common().len());
        names.extend(calls.iter().flat_map(|call| call.names.iter().copied()));
        let own = calls.iter().take(own).filter_map(|call| call.arguments.first());
        arguments.extend(own.chain(first.common()).map(|argument| Argument::from_slice(argument)));
        let writes = Driver::Many.writes(u64::from(calls.iter().any(|call| call.writes.may_be())));
        Some(Self { script, names, arguments, writes })
    }

    /// Whether it can go together with another, if that can go together with any.
    pub(crate) fn joins(&self, other: &Self) -> bool {
        std::ptr::eq(self.script, other.script)
            && self.names.len() == 1
            && !self.arguments.is_empty()
            && self.common() == other.common()
    }

    /// The arguments that are not its own: the time, where a test gives it.
    fn common(&self) -> &[Argument] {
        self.arguments.get(1..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
