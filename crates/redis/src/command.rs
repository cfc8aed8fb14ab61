//! Commands to the store: the verbs of the library on Redis key names.

use tollgate_algorithms::{Limit, Mode, Receipt};

use crate::script_targets::key_of;
use crate::{KeyName, Name};

/// One charge against one key of one limit.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The limit's numbers.
    pub limit: &'a Limit,
    /// The key.
    pub name: &'a Name,
    /// The cost.
    pub cost: u64,
    /// Whether the hit is enforced or in shadow mode.
    pub mode: Mode,
}

impl Hit<'_> {
    /// The key of the state, for the limit's [kind](crate::StateKind). `None` if the limit has no state.
    #[must_use]
    pub fn key(&self) -> Option<KeyName> {
        key_of(self.limit, self.name)
    }
}

/// A command to the store. Each takes one script call, at one instant of the server's clock. Charges of one limit
/// may share a call with others, without affecting the results.
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// Charges all enforced hits and each shadow hit that fits, or nothing: [`tollgate_algorithms::decide_batch`].
    Charge(&'a [Hit<'a>]),
    /// Decides like `Charge` with the numbers of the uncharged keys, and changes nothing.
    Peek(&'a [Hit<'a>]),
    /// Charges as much as fits: [`tollgate_algorithms::decide_up_to`].
    UpTo(Hit<'a>),
    /// Charges a cost that is known only afterwards: [`tollgate_algorithms::settle`].
    Settle(Hit<'a>),
    /// Refunds a part of a receipt's charge: [`tollgate_algorithms::refund_part`]. The cost of the hit is ignored.
    Refund(Hit<'a>, &'a Receipt, u64),
    /// Deletes the states of a key, of every kind.
    Reset(&'a Name),
}
