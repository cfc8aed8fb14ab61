//! The Redis protocol for servers: commands in, replies out, without I/O. Every size has a limit.
//!
//! - [`CommandParser`] reads commands from bytes that arrive in any pieces: arrays of bulk strings, and inline commands.
//! - [`Writer`] writes replies in RESP2 or RESP3, whichever the client chose.
//! - [`Value`] is any reply, for clients and tests.
//!
//! ```
//! use tollgate_resp::{Bounds, CommandParser, Protocol, Writer};
//!
//! let mut parser = CommandParser::new(Bounds::default());
//! let input = b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n";
//! let length = parser.parse(input)?.expect("a whole command");
//! assert_eq!(parser.argument(input, 1), Some(&b"hi"[..]));
//! // The next command begins where this one ended.
//! let rest = &input[length..];
//! assert_eq!(parser.parse(rest)?, Some(6));
//! assert_eq!(parser.argument(rest, 0), Some(&b"PING"[..]));
//!
//! let mut reply = Vec::new();
//! Writer::new(&mut reply, Protocol::Resp2).simple("PONG");
//! assert_eq!(reply, b"+PONG\r\n");
//! # Ok::<(), tollgate_resp::ProtocolError>(())
//! ```
#![warn(clippy::arithmetic_side_effects, clippy::expect_used, clippy::indexing_slicing)]

mod bounds;
mod command;
mod error;
mod inline;
mod number;
mod value;
mod writer;

pub use bounds::{Bounds, HEADER_BYTES_MAX};
pub use command::CommandParser;
pub use error::ProtocolError;
pub use number::{decimal, decimal_i64};
pub use value::{Value, parse_value};
pub use writer::{Protocol, Writer};
