//! The gateway from outside: real sockets on this machine, an upstream that writes down every byte, and clients that do not behave.

mod abuse;
mod basics;
mod crowds;
mod drain;
mod floods;
mod frames;
mod http2;
mod peers;
mod process;
mod reloads;
mod streaming;
mod support;
mod tls;
