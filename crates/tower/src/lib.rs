//! Limits in front of any HTTP service: request in, verdict, answer out. No state of its own, no sockets.

mod answers;
mod asked;
mod card;
mod fields;
mod guard;
mod head;
mod json;
mod later;
pub mod operations;
pub mod problem;
mod refusal;
mod secret;
mod sf;

pub use answers::{Answers, Generations, Reset};
pub use asked::{Answer, AnswerKind, Asked, Pass};
pub use card::{Card, Visibility};
pub use fields::{Fields, Line};
pub use guard::Guard;
pub use head::{Head, Room};
pub use later::Later;
pub use operations::BodyWanted;
pub use refusal::refused;
