//! The gateway from outside: real sockets on this machine, an upstream that writes down every byte, and clients that do not behave.

mod basics;
mod http2;
mod peers;
mod process;
mod streaming;
mod support;
mod tls;
