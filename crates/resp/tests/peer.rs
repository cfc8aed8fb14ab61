//! Our codec against an independent one, `resp-rs`: the same values from the same bytes, in both protocols.

use resp_rs::{resp2, resp3};
use tollgate_resp::{Bounds, CommandParser, Protocol, Value, Writer, parse_value};
use tollgate_testing::random::Random;
