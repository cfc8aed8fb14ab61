//! The link against real servers, well and broken. Each fault is a function over a running load, so that others can run it.
//!
//! `cargo run -p tollgate-redis --example faults` plays them at full load and for longer, and prints their figures.
#![cfg(test)]

mod addresses; // every way to a server
mod announced; // faults that a server announces
mod bytes; // connections that are cut, and answers that are lost, late or none
mod errors; // what a server says to everybody
mod figures; // a stage for faults, and what they did in numbers
mod load; // callers
mod outages; // servers that are gone, frozen or far away
mod proxy; // what is between link and server
mod scripts; // forgotten scripts, shared round trips, bounds
mod server; // a real one
mod silent; // faults that nobody announces
mod support; // a runtime, and patience
