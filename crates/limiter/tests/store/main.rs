//! The front door with a shared store, on a real Redis: every verb, both kinds of limits, and what holds without the server.
//!
//! That decisions are the core's to the microsecond is proved by `proof/twins`; here limits hardly refill, so that the
//! server's clock makes no difference.

mod changed;
mod cluster;
mod failing;
#[path = "../it/lines.rs"]
mod lines;
mod mixed;
mod permits;
mod queues;
mod remembered;
mod rights;
mod rollout;
mod support;
mod tiers;
mod verbs;
