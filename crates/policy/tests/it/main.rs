//! Tests of the policy crate through its front door: documents in, policies and messages out; requests in, hits out.
#![cfg(test)]

mod bombs;
mod conditions;
mod credentials;
mod documents;
mod guide;
mod hits;
mod matching;
mod messages;
mod named_limits;
mod organisations;
mod overlays;
mod real_documents;
mod recommended;
mod required;
mod support;
