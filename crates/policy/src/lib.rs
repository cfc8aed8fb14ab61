//! Policy as code: documents in, a policy out; a request in, hits out. No I/O, no clock, no state.

pub mod address;
mod annotate;
mod asking;
#[cfg(test)]
mod chance;
mod compile;
pub mod consumers;
mod context;
pub mod cookie;
mod costing;
#[cfg(test)]
mod dice;
pub mod diff;
mod directory;
mod document;
mod draft;
#[cfg(test)]
mod draw;
mod fields;
pub mod found;
pub mod header;
mod hits;
pub mod host;
pub mod impact;
pub mod jwt;
pub mod key;
pub mod lint;
mod matching;
pub mod method;
pub mod model;
pub mod numbers;
pub mod path;
mod policy;
pub mod quantity;
pub mod query;
mod reading;
mod request;
pub mod router;
pub mod scenario;
mod schema;
pub mod target;
pub mod template;
pub mod text;
pub mod trusted;
mod whose;

pub use annotate::{Annotated, Inserted, PROBLEM, RESPONSE, Skipped, annotate, annotate_file};
pub use compile::effective::{Nearest, Operation};
pub use compile::load::{FILES_MAX, ReadFile, Refused};
pub use compile::merge::POLICY_LIMITS_MAX;
pub use compile::variants::{Budget, Variant};
pub use directory::{Directory, DirectoryError};
pub use document::diagnostic::{Diagnostic, Findings, Severity};
pub use document::read::{DEPTH_MAX, DOCUMENT_BYTES_MAX, NODES_MAX};
pub use document::sources::{FileId, LineColumn, Place, Source, Sources};
pub use hits::{Charge, Hits};
pub use matching::Matched;
pub use policy::Policy;
pub use reading::cost::COST_BODY_MAX;
pub use reading::limit::{LIMITS_MAX, TIERS_MAX};
pub use reading::openapi::OPERATIONS_MAX;
pub use reading::settings::Settings;
pub use request::{BadRequest, Facts, Request, Scratch};
pub use whose::Whose;
pub use schema::{limit_schema, native_schema};
