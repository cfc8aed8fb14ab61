//! The link against real servers, well and broken. Each fault is a function over a running load, so that others can run it.
//!
//! `cargo xtask faults` plays them at full load and for longer, and prints their figures.
#![cfg(test)]

mod addresses; // every way to a server
mod announced; // faults that a server announces
mod bytes; // connections that are cut, and answers that are lost, late or none
mod clock; // a server's clock that is stepped
mod decisions; // callers of real limits, and the laws
mod errors; // what a server says to everybody
mod figures; // a stage for faults, and what they did in numbers
mod hot; // callers that charge one real budget
mod lanes; // several connections
mod load; // callers
mod makes; // the same faults on other servers
mod outages; // servers that are gone, frozen or far away
mod partition; // packets that get lost
mod proxy; // what is between link and server
mod reasons; // what a link tells of its connection
mod scripts; // forgotten scripts, shared round trips, bounds
mod secrets; // a password that changes
mod server; // a real one
mod silent; // faults that nobody announces
mod steps; // clocks that jump
mod support; // a runtime, and patience
mod tls; // certificates, and such that change
mod together; // charges that go together
mod undecided; // no decision, although the server does well
mod wires; // faults of what is between

use tollgate_testing::make;
