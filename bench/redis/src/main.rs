//! Measures limiters in one Redis side by side: decisions, the server's processor time, memory. It prints one measurement a line;
//! the tables are made by `cargo xtask bench redis`.

mod cores;
mod figures;
mod fill;
mod keys;
mod lengths;
mod limits;
mod logs;
mod measure;
mod others;
mod ours;
mod peers;
mod plain;
mod print;
mod rounds;
mod server;
#[path = "../../gateway/src/stopwatch.rs"]
mod stopwatch;
mod store;
mod subject;
mod subjects;
mod together;
mod wire;

use measure::{measure, some};
use rounds::Scale;
use tollgate_testing::make;

const USAGE: &str = "\
usage: redis-bench [quick]                      measure, and print a line for each figure
       redis-bench only SUBJECT…                measure these subjects alone, with 64 in flight: to see what a change does
       redis-bench serve PROGRAM [ARGUMENT]     become a server, on its core, that ends with its parent";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => measure(Scale::FULL),
        ["quick"] => measure(Scale::QUICK),
        ["only", first, rest @ ..] => some(&[&[*first], rest].concat(), Scale::SOME),
        ["serve", program, rest @ ..] => Err(cores::become_server(program, rest)),
        _ => Err(USAGE.into()),
    }
}
