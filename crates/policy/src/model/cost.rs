//! What a request costs under a limit: always the same, or what the request, its body or the response says.

use http::HeaderName;

/// What a request costs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Cost {
    /// Always the same.
    Fixed(u64),
    /// What the request says of itself, in a header or a query parameter. Above `max`, or not a number, the request is
    /// refused as wrong; without one it costs `default`.
    Asked {
        /// Where it says so.
        from: CostFrom,
        /// When it says nothing.
        default: u64,
        /// The most that may be said.
        max: u64,
    },
    /// What the upstream says afterwards, in a header of its response. Before, `estimate` is charged.
    Reported {
        /// The header.
        header: HeaderName,
        /// Charged before.
        estimate: u64,
        /// The most that is charged.
        max: u64,
    },
    /// How many operations the body carries; of GraphQL, at least as many as the query string. What cannot be read costs `max`.
    Operations {
        /// How they are counted.
        kind: BodyKind,
        /// The largest body that is read for it; a larger one costs `max`.
        max_body: u64,
        /// The most that is charged.
        max: u64,
    },
}

/// Where a request says what it costs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CostFrom {
    /// In a header.
    Header(HeaderName),
    /// In a query parameter.
    Query(String),
}

/// How operations in a body are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BodyKind {
    /// The items of a JSON array.
    JsonArray,
    /// The fields of all GraphQL operations at the top, aliases too.
    GraphQl,
}

impl Cost {
    /// The least and the most that a request can cost before it is forwarded.
    #[must_use]
    pub const fn range(&self) -> (u64, u64) {
        match self {
            Self::Fixed(cost) => (*cost, *cost),
            Self::Asked { max, .. } => (1, *max),
            Self::Reported { estimate, max, .. } => (*estimate, *max),
            Self::Operations { max, .. } => (1, *max),
        }
    }
}
