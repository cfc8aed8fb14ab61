//! The page at `/`: what can be asked, for people.

/// The page.
pub(super) const TEXT: &str = "Tollgate answers whether a request is within its limits.\n";
