//! Seeded simulations in virtual time: an adaptive limit before a server that collapses, beside other implementations.
//!
//! The machines under test come from `tollgate-algorithms` and are exact. The world around them (a server's speed, random
//! arrivals) is made of floating-point numbers; the same seed gives the same run on one platform.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a simulated world and its statistics; nothing here decides about a request"
)]

pub mod limiter;
pub mod measure;
pub mod peers;
pub mod random;
pub mod report;
pub mod scenario;
pub mod server;
pub mod world;
