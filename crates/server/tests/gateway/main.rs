//! The gateway from outside: real sockets on this machine, an upstream that writes down every byte, and clients that do not behave.

#![expect(clippy::panic, reason = "what helps tests fails them")]

mod basics;
mod bodies;
mod heads;
mod lines;
mod paths;
mod pool;
mod responses;
mod scripted;
mod smuggling;
mod support;
