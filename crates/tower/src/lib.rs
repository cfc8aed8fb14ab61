//! Limits in front of any HTTP service: request in, verdict, answer out. No state of its own, no sockets.

mod answers;
mod guard;

pub use answers::{Answers, Generations, Reset};
pub use guard::Guard;
