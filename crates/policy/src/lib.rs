//! Policy as code: documents in, a policy out; a request in, hits out. No I/O, no clock, no state.
//!
//! What is `doc(hidden)` is shared with Tollgate's other crates and promised to nobody else.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod authoring;
mod compile;
mod consumer_index;
pub mod consumers;
mod document;
mod ids;
#[cfg(feature = "jwt")]
pub mod jwt;
#[cfg(not(feature = "jwt"))]
#[path = "jwt/disabled.rs"]
mod jwt;
#[doc(hidden)]
pub mod key;
mod matching;
pub mod model;
mod namespace;
pub mod numbers;
mod overlay;
mod parse;
mod policy;
#[doc(hidden)]
pub mod quantity;
#[doc(hidden)]
pub mod router;
#[doc(hidden)]
pub mod section;
#[doc(hidden)]
pub mod template;
mod time_zone;

pub use authoring::annotate::{Annotated, Inserted, PROBLEM, RESPONSE, Skipped, annotate, annotate_file};
pub use authoring::schema::{limit_schema, native_schema};
#[doc(hidden)]
pub use authoring::schema::{patterns as schema_patterns, types as schema_types};
pub use authoring::{diff, impact, lint, scenario};
pub use compile::inherit::{InheritedFrom, Operation};
pub use compile::load::{FILES_MAX, ReadFile, RejectedPolicy};
pub use compile::merge::POLICY_LIMITS_MAX;
pub use compile::variants::{Variant, VariantKind};
pub use consumer_index::{ConsumerIndex, ConsumerIndexError};
pub use document::diagnostic::{Diagnostic, DiagnosticParts, Findings, Severity};
pub use document::read::{DEPTH_MAX, DOCUMENT_BYTES_MAX, NODES_MAX};
pub use document::sources::{FileId, LineColumn, Place, Source, Sources};
#[doc(hidden)]
pub use document::suggest::nearest;
pub use ids::{LimitId, OperationId, VariantId};
pub use matching::body::{KEY_BODY_MAX, RequestBody};
pub use matching::hits::{Charge, Hits};
pub use matching::key_builder::KeyTrust;
pub use matching::operation::RequestMatch;
pub use matching::request::{BadRequest, Facts, Request, Scratch};
pub use parse::cost::COST_BODY_MAX;
pub use parse::limit::{LIMITS_MAX, TIERS_MAX};
pub use parse::openapi::OPERATIONS_MAX;
pub use parse::settings::Settings;
pub use policy::Policy;
