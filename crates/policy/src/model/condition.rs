//! A condition of a limit: which headers and query parameters a request must have so that the limit applies.

use http::HeaderName;

/// What a request must have so that a limit applies: all of it. In a condition, no value means any value.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Condition {
    /// Headers, with the value if one is asked for.
    pub headers: Vec<(HeaderName, Option<String>)>,
    /// Query parameters, with the value if one is asked for.
    pub query: Vec<(String, Option<String>)>,
}
