//! Policy as code: documents in, a policy out; a request in, hits out. No I/O, no clock, no state.

mod annotate;
mod asking;
mod compile;
pub mod consumers;
mod context;
mod costing;
pub mod diff;
mod directory;
mod document;
mod draft;
mod fields;
mod hits;
mod ids;
pub mod impact;
#[cfg(feature = "jwt")]
pub mod jwt;
#[cfg(not(feature = "jwt"))]
#[path = "jwt/disabled.rs"]
mod jwt;
pub mod key;
pub mod lint;
mod matching;
pub mod model;
mod namespace;
pub mod numbers;
mod policy;
pub mod quantity;
mod reading;
mod request;
pub mod router;
pub mod scenario;
mod schema;
pub mod serve;
pub mod template;
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
pub use ids::{LimitId, OperationId, VariantId};
pub use matching::Matched;
pub use policy::Policy;
pub use reading::cost::COST_BODY_MAX;
pub use reading::limit::{LIMITS_MAX, TIERS_MAX};
pub use reading::openapi::OPERATIONS_MAX;
pub use reading::settings::Settings;
pub use request::{BadRequest, Facts, Request, Scratch};
pub use schema::{limit_schema, native_schema};
pub use whose::Whose;
