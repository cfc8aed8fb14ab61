//! The enforcement engine: a request's head in, an [`Admission`], a [`Refusal`] or "undetermined" out. It knows no protocol.
//!
//! An [`Enforcer`] charges each request against the limits of a policy document or of [`Rules`] written in Rust. The gateway,
//! the tower layer and the command's subcommands are thin wrappers around it: they read a request into a [`RequestHead`] and
//! write a response from the [`Outcome`].
//!
//! ```
//! use std::sync::Arc;
//! use http::HeaderMap;
//! use tollgate::{Limit, Limiter};
//! use tollgate_engine::{Enforcer, Outcome, RequestHead, Rule, Rules, Scratch};
//!
//! let per_client = Rule::new("per client", Limit::per_second(1).burst(1)?);
//! let enforcer = Arc::new(Enforcer::from(Rules::new(Limiter::new()?, [per_client])?));
//!
//! let (headers, mut scratch) = (HeaderMap::new(), Scratch::default());
//! let head = RequestHead::new("GET", "/reports/7", &headers).with_peer("203.0.113.9".parse()?);
//! assert!(matches!(enforcer.try_check(&head, &mut scratch)?, Outcome::Admitted(_)));
//! let Outcome::Refused(refusal) = enforcer.try_check(&head, &mut scratch)? else { panic!("1 of 1 is used up") };
//! assert_eq!(refusal.limit().name(), "per client");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "policy")]
mod acquired;
mod admission;
#[cfg(feature = "policy")]
mod allowed_methods;
#[cfg(feature = "policy")]
pub mod body_cost;
mod charge;
mod descriptor;
mod enforcer;
mod error;
mod failure;
mod fingerprint;
mod head;
mod ids;
mod key;
mod load_outcome;
mod outcome;
mod permits;
#[cfg(feature = "policy")]
mod policy_limits;
mod rule;
mod rules;
mod scratch;
mod settlement;
#[cfg(feature = "policy")]
mod simulate;
mod status;

pub use admission::Admission;
#[cfg(feature = "policy")]
pub use body_cost::RequiredBody;
pub use descriptor::{BusyStatus, Concurrency, LimitDescriptor, Visibility, ZeroStatus};
pub use enforcer::Enforcer;
pub use error::CheckError;
pub use head::{Body, RequestHead};
pub use ids::DescriptorId;
pub use load_outcome::load_outcome;
pub use outcome::{Outcome, Refusal, RefusalKind, Undetermined};
pub use permits::Permits;
#[cfg(feature = "redis")]
pub use permits::Validities;
#[cfg(feature = "policy")]
pub use policy_limits::{CountedBy, InProgress, LimitByName, NoSuchLimit, PolicyLimits};
pub use rule::{KeyExtractor, Rule};
pub use rules::{NAME_CHARS_MAX, RuleKey, RuleKeyError, Rules, RulesError};
pub use scratch::Scratch;
#[cfg(feature = "policy")]
pub use simulate::{Difference, StepReport, StepResult, simulate};
pub use status::{Degradation, LimitStatus};
