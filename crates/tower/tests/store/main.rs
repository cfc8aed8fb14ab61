//! The layer in front of limits in a real Redis, on a runtime with one thread: answers, waiting, and what holds without the server.

mod denied;
mod failing;
mod support;
mod waiting;
