//! Tools for authors and reviewers of policies. None of them runs while requests are decided.

pub(crate) mod annotate;
pub mod diff;
pub mod impact;
pub mod lint;
pub(crate) mod lockout;
pub mod scenario;
pub(crate) mod schema;
