//! The gateway from outside: real sockets on this machine, an upstream that writes down every byte, and clients that do not behave.

mod basics;
mod support;
