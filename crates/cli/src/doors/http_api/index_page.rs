//! The page at `/`: what can be asked, for people.

/// The page. It loads nothing and runs nothing.
pub(super) const HTML: &str = include_str!("index.html");
