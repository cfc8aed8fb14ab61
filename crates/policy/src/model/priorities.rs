//! Which requests are refused first while too many are in progress.

use http::HeaderName;

use crate::document::sources::Place;

pub use tollgate_algorithms::adaptive::Priority;

/// The priorities of requests whose operation has none of its own.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Priorities {
    /// The header in which a trusted proxy says it, and where that is written.
    pub header: Option<(HeaderName, Place)>,
    /// The priorities of tiers.
    pub tiers: Vec<(String, Priority)>,
    /// The priority of all others.
    pub default: Priority,
}

/// The name of a priority in documents.
#[must_use]
pub const fn priority_name(priority: Priority) -> &'static str {
    match priority {
        Priority::Critical => "critical",
        Priority::High => "high",
        Priority::Normal => "normal",
        Priority::Low => "low",
    }
}

/// The priority with a name.
#[must_use]
pub fn priority_named(name: &str) -> Option<Priority> {
    let all = [Priority::Critical, Priority::High, Priority::Normal, Priority::Low];
    all.into_iter().find(|priority| priority_name(*priority) == name)
}
