//! The gateway from outside: real sockets on this machine, an upstream that writes down every byte, and clients that do not behave.

#![expect(clippy::panic, reason = "what helps tests fails them")]

mod abuse;
mod adaptive;
mod banner;
mod basics;
mod bodies;
mod counted;
mod crowds;
mod downgrades;
mod drain;
mod failures;
mod floods;
mod frames;
mod full;
mod half_closed;
mod heads;
mod http2;
mod in_progress;
mod last_hop;
mod lines;
mod naps;
mod origins;
mod paced;
mod paths;
mod peers;
mod pool;
mod process;
mod readiness;
mod reloads;
mod renewals;
mod responses;
mod scripted;
mod slow;
mod smuggling;
mod store;
mod streaming;
mod support;
mod tls;
mod told;
mod turns;
mod unreadable;
mod uploads;
mod websocket;
