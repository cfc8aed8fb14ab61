//! Counts the operations in a request's body or query string, so that a batch is charged as a batch. No I/O.

mod graphql;
mod in_query;
mod json_array;

pub(crate) use in_query::count_in_query;

use tollgate_policy::KEY_BODY_MAX;
pub use tollgate_policy::model::BodyKind;
use tollgate_policy::model::Cost;

/// What must be read of a body before its request can be charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequiredBody {
    /// How its operations are counted; `None` if they do not matter.
    pub kind: Option<BodyKind>,
    /// Maximum size of a body whose operations are counted; a larger one is not counted and costs the maximum.
    pub max_body: u64,
    /// The largest body in which a key is looked for; 0 if no key is in the body.
    pub max_key: u64,
}

impl RequiredBody {
    /// A key in the body.
    pub(crate) const KEY: Self = Self { kind: None, max_body: 0, max_key: KEY_BODY_MAX };

    /// What a cost depends on in the body; `None` if it does not depend on it.
    pub(crate) const fn of(cost: &Cost) -> Option<Self> {
        match cost {
            Cost::Operations { kind, max_body, .. } => {
                Some(Self { kind: Some(*kind), max_body: *max_body, max_key: 0 })
            }
            Cost::Fixed(_) | Cost::Asked { .. } | Cost::Reported { .. } => None,
        }
    }

    /// Combines the needs of two limits: the count that is never smaller, and the smaller body. Every entry of a GraphQL batch counts at
    /// least once, so it counts as an item, too.
    pub(crate) fn and(self, other: Self) -> Self {
        let max_key = self.max_key.max(other.max_key);
        let (kind, max_body) = match (self.kind, other.kind) {
            (None, kind) => (kind, other.max_body),
            (kind, None) => (kind, self.max_body),
            (Some(BodyKind::JsonArray), Some(BodyKind::JsonArray)) => {
                (Some(BodyKind::JsonArray), self.max_body.min(other.max_body))
            }
            (Some(BodyKind::GraphQl), _) | (_, Some(BodyKind::GraphQl)) => {
                (Some(BodyKind::GraphQl), self.max_body.min(other.max_body))
            }
        };
        Self { kind, max_body, max_key }
    }

    /// How much of the body has to be read.
    #[must_use]
    pub const fn max_read(self) -> u64 {
        if self.max_body > self.max_key { self.max_body } else { self.max_key }
    }

    /// How many operations a whole body carries; `None` if they do not matter or cannot be counted.
    #[must_use]
    pub fn count(self, body: &[u8]) -> Option<u64> {
        let fits = u64::try_from(body.len()).is_ok_and(|length| length <= self.max_body);
        self.kind.filter(|_| fits).and_then(|kind| count(kind, body))
    }
}

/// Counts the operations in a body; `None` if the body is malformed and therefore costs the maximum.
///
/// Takes linear time, and does not recurse.
///
/// ```
/// use tollgate_engine::body_cost::{BodyKind, count};
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
