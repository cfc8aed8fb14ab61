//! Counts the operations in a request's body or query string, so that a batch is charged as a batch. No I/O.

mod graphql;
mod in_query;
mod json_array;

pub(crate) use in_query::count_in_query;

pub use tollgate_policy::model::BodyKind;
use tollgate_policy::model::Cost;

/// What must be read of a body before its request can be charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyWanted {
    /// How to count it.
    pub kind: BodyKind,
    /// Maximum size of a body to read; a larger one is not counted and costs the maximum.
    pub max_body: u64,
}

impl BodyWanted {
    /// What a cost depends on in the body; `None` if it does not depend on it.
    pub(crate) const fn of(cost: &Cost) -> Option<Self> {
        match cost {
            Cost::Operations { kind, max_body, .. } => Some(Self { kind: *kind, max_body: *max_body }),
            Cost::Fixed(_) | Cost::Asked { .. } | Cost::Reported { .. } => None,
        }
    }

    /// Combines the needs of two limits: the count that is never smaller, and the smaller body. Every entry of a GraphQL batch counts at
    /// least once, so it counts as an item, too.
    pub(crate) fn and(self, other: Self) -> Self {
        let kind = match (self.kind, other.kind) {
            (BodyKind::JsonArray, BodyKind::JsonArray) => BodyKind::JsonArray,
            (BodyKind::GraphQl, _) | (_, BodyKind::GraphQl) => BodyKind::GraphQl,
        };
        Self { kind, max_body: self.max_body.min(other.max_body) }
    }
}

/// Counts the operations in a body; `None` if the body is malformed and therefore costs the maximum.
///
/// Takes linear time, and does not recurse.
///
/// ```
/// use tollgate_engine::operations::{BodyKind, count};
/// assert_eq!(count(BodyKind::JsonArray, br#"[{"id": 1}, {"id": 2}]"#), Some(2));
/// assert_eq!(count(BodyKind::JsonArray, br#"{"id": 1}"#), Some(1));
/// assert_eq!(count(BodyKind::GraphQl, br#"{"query": "{ a: user(id: 1) { name } b: user(id: 2) { name } }"}"#), Some(2));
/// assert_eq!(count(BodyKind::GraphQl, b"no JSON"), None);
/// ```
#[must_use]
pub fn count(kind: BodyKind, body: &[u8]) -> Option<u64> {
    match kind {
        BodyKind::JsonArray => json_array::count(body),
        BodyKind::GraphQl => graphql::count(body),
    }
}
