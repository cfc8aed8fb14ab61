//! Output formats for findings, one per file.

pub(crate) mod github;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod sarif;
