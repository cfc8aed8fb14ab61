//! Computes what a request costs under one limit.

use http::HeaderName;

use crate::matching::identity::RequestIdentity;
use crate::matching::request::BadRequest;
use crate::model::{BodyKind, Cost, CostFrom, PolicyLimit};
use crate::quantity::whole;
use tollgate_http::found::Lookup;
use tollgate_http::{header, query};

/// What the request costs under a limit.
pub(crate) fn of(
    limit: &PolicyLimit,
    cost: &Cost,
    asking: &mut RequestIdentity<'_>,
) -> Result<u64, BadRequest> {
    let (from, default, max) = match cost {
        Cost::Fixed(cost) => return Ok(*cost),
        Cost::Reported { estimate, .. } => return Ok(*estimate),
        // A body that was not counted costs the most. Of a query in the target and one in the body, the upstream may run either.
        Cost::Operations { kind, max, .. } => {
            let in_body = asking.facts.body_operations.unwrap_or(*max);
            let count = match kind {
                BodyKind::JsonArray => in_body,
                BodyKind::GraphQl => in_body.max(asking.facts.query_operations),
            };
            return Ok(count.clamp(1, (*max).max(1)));
        }
        Cost::Asked { from, default, max } => (from, *default, *max),
    };
    let found = match from {
        CostFrom::Header(name) => header::find(asking.facts.headers, name),
        CostFrom::Query(name) => {
            query::find_as(asking.semicolons(), asking.facts.query.unwrap_or(""), name, asking.room)
        }
    };
    let said = match found {
        Lookup::Missing => return Ok(default),
        Lookup::One(text) => std::str::from_utf8(text).ok().and_then(|text| whole(text).ok()),
        Lookup::Empty | Lookup::Repeated | Lookup::Malformed => None,
    };
    let wrong = || BadRequest::Cost { limit: limit.name.clone(), max };
    // Whoever could say 0 would never be limited.
    said.filter(|cost| (1..=max).contains(cost)).ok_or_else(wrong)
}

impl Cost {
    /// The header in which the upstream reports the actual cost afterwards, and the most that is charged for it.
    #[must_use]
    pub const fn reported_in(&self) -> Option<(&HeaderName, u64)> {
        match self {
            Self::Reported { header, max, .. } => Some((header, *max)),
            Self::Fixed(_) | Self::Asked { .. } | Self::Operations { .. } => None,
        }
    }
}
