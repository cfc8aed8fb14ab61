//! The endpoint for Redis clients from outside: real sockets, real clients, and clients that do not behave.

#![expect(clippy::panic, clippy::unwrap_used, reason = "what helps tests fails them")]

mod clients;
mod connections;
mod own_commands;
mod policies;
mod redis_cell;
mod shared_store;
mod support;
