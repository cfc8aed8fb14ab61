//! Findings for programs, one format a file. What is found is the same in all of them.

pub(crate) mod github;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod sarif;
