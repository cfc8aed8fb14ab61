//! Adaptive concurrency limits: state machines that learn how many requests a server can work on at once.
//!
//! A rate says how often; a concurrency limit says how many at a time. Few people know the right number for a server,
//! and it changes with every deployment. An [`AdaptiveLimit`] finds it from the latencies that it is shown: while the
//! server has room, latency stays at its *baseline*; beyond the server's capacity, requests wait and latency grows.
//!
//! The machine holds no permit and reads no clock. Its caller counts the requests in flight, admits a request while
//! that count is below [`AdaptiveLimit::limit`], and reports each [start](AdaptiveLimit::start), each
//! [end](AdaptiveLimit::record) and each [refusal](AdaptiveLimit::refuse).
//!
//! ```
//! use tollgate_algorithms::Micros;
//! use tollgate_algorithms::adaptive::{AdaptiveConfig, AdaptiveLimit, Outcome};
//!
//! let mut limit = AdaptiveLimit::new(AdaptiveConfig::default());
//! assert_eq!(limit.limit(), 8);
//! let start = limit.start(Micros::from_millis(5), 1);
//! limit.record(Micros::from_millis(25), start, Outcome::Success); // the response's head came after 20 ms
//! ```
//!
//! # How it works
//!
//! Samples are gathered in windows, and the limit changes once per window. A sample belongs to the window in which its
//! request *started*, so a window measures the limit that was in force, and slow requests are not overlooked.
//!
//! The baseline is never an average over the past, because such an average follows an overload upwards until the
//! overload looks normal. It comes from a *probe*: for one window the limit is lowered by a fraction `f`, and the latency
//! of that window is the new baseline. If the server is overloaded even then, the full limit's latency is at least
//! `1/f` times the baseline, which is more than the tolerance `τ` of every method, so the limit shrinks.
//! The baseline also follows windows that used at most half of the limit, and falls towards lower latencies.
//!
//! The limit grows only in windows in which it was the limiting factor.
//!
//! # Numbers
//!
//! Limits are in units of 1/1024 request, latencies in microseconds up to 2^36 (19 hours). With limits of at most 65,536,
//! every product is below 2^63.

mod baseline;
mod config;
mod limit;
mod method;
mod priority;
mod window;

pub use baseline::Baseline;
pub use config::{AdaptiveConfig, LIMIT_MAX, RangeError};
pub use limit::{AdaptiveLimit, Outcome, Start};
pub use method::Method;
pub use priority::Priority;
