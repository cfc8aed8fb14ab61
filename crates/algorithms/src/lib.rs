//! Rate-limiting algorithms as one exact, pure function. No store, no clock, no protocol.
//!
#![doc = include_str!("docs/front.md")]
//!
#![doc = include_str!("docs/choosing.md")]
//!
#![doc = include_str!("docs/laws.md")]
#![no_std]
#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::float_arithmetic
)]
extern crate alloc;

pub mod adaptive;
pub mod algorithm;
mod batch;
mod calendar;
mod change;
mod decision;
mod error;
mod hit;
mod limit;
mod multiple;
pub mod permits;
mod quota;
mod rate;
mod receipt;
mod schedule;
pub mod slots;
mod state;
mod text;
mod time;
mod utc_offset;
mod window;

pub use algorithm::{decide, decide_up_to, headroom, peek, refund, refund_part, settle};
pub use batch::{Batch, decide_batch, decide_batch_into};
pub use change::Change;
pub use decision::{Decision, Outcome, Retry};
pub use error::LimitError;
pub use hit::{Hit, Mode, Target};
pub use limit::{Algorithm, Limit};
pub use quota::Quota;
pub use rate::Rate;
pub use receipt::Receipt;
pub use schedule::Schedule;
pub use state::{Count, Debt, State, TwoCounts};
pub use text::ParseLimitError;
pub use time::Micros;
pub use utc_offset::{SummerTime, UtcOffset, YearlyChange};
pub use window::Window;

/// The crate's README, so that its example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
