//! Limits in front of any HTTP service: request in, verdict, answer out. No state of its own, no sockets.

mod admitted;
mod answers;
mod asked;
mod body;
mod card;
#[cfg(feature = "axum")]
mod extract;
mod fields;
mod front;
mod future;
mod guard;
mod head;
mod json;
mod later;
mod layer;
pub mod operations;
mod peer;
pub mod problem;
mod refusal;
mod rule;
mod rules;
mod secret;
mod service;
mod sf;

pub use admitted::{Admitted, Standing};
pub use answers::{Answers, Generations, Reset};
pub use asked::{Answer, AnswerKind, Asked, Pass};
pub use body::ResponseBody;
pub use card::{Card, Visibility};
#[cfg(feature = "axum")]
pub use extract::NoLayer;
pub use fields::{Fields, Line};
pub use front::Front;
pub use future::ResponseFuture;
pub use guard::Guard;
pub use head::{Head, Room};
pub use later::Later;
pub use layer::TollgateLayer;
pub use operations::BodyWanted;
pub use peer::Peer;
pub use refusal::refused;
pub use rule::{By, Rule};
pub use rules::{NAME_CHARS_MAX, Rules, RulesError};
pub use service::Tollgate;
