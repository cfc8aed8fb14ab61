//! One limit as an operation uses it: at what cost there, and because of which place in the documents.

use crate::document::sources::Place;
use crate::ids::LimitId;
use crate::model::{Condition, Cost};

/// One limit as it applies to an operation, or to requests that match none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitUse {
    /// The limit.
    pub limit: LimitId,
    /// What a request costs here, if that is not the limit's own cost: `{ use: monthly, cost: 25 }`.
    pub cost: Option<Cost>,
    /// What a request must have so that it applies; nothing if it always does.
    pub when: Option<Condition>,
    /// At which level it was written or named.
    pub level: Level,
    /// Where that is: the limit itself, or its `use`.
    pub place: Place,
}

/// At which level a limit was written or named, from the nearest to the farthest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// On the operation itself.
    Operation,
    /// On its path.
    Path,
    /// On one of its tags: its position among them.
    Tag(usize),
    /// At the root.
    Root,
}
