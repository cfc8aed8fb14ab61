//! Commands to the store: the verbs of the library on Redis key names.

use tollgate_algorithms::{Limit, Mode, Receipt};

use crate::targets::key_of;
use crate::{KeyName, Name};

/// One charge against one key of one limit.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The limit's numbers.
    pub limit: &'a Limit,
    /// Whose budget it is.
    pub name: &'a Name,
    /// What it asks for.
    pub cost: u64,
    /// Whether a refusal counts.
    pub mode: Mode,
}

impl Hit<'_> {
    /// The key that holds its state: that of its name for the limit's [kind](crate::StateKind). `None` if the limit keeps none.
    #[must_use]
    pub fn key(&self) -> Option<KeyName> {
        key_of(self.limit, self.name)
    }
}

/// A question to the store. Each is answered by one script call, at one instant of the server's clock; charges of one limit
/// may share a call with others, and are answered as if they did not.
#[derive(Clone, Copy, Debug)]
pub enum Ask<'a> {
    /// Charges all enforced hits and each shadow hit that fits, or nothing: [`tollgate_algorithms::decide_batch`].
    Charge(&'a [Hit<'a>]),
    /// What `Charge` would say, with the numbers of the uncharged keys; changes nothing.
    Peek(&'a [Hit<'a>]),
    /// Charges as much as fits: [`tollgate_algorithms::decide_up_to`].
    UpTo(Hit<'a>),
    /// Charges a cost that is known only afterwards: [`tollgate_algorithms::settle`].
    Settle(Hit<'a>),
    /// Gives back so much of a receipt's charge: [`tollgate_algorithms::refund_part`]. The hit's own cost means nothing.
    Refund(Hit<'a>, &'a Receipt, u64),
    /// Forgets a budget: its keys of every kind.
    Reset(&'a Name),
}
