//! Measures gateways side by side, and is itself everything they need around them. What each part does is in its file.
//!
//! One program with several faces, so that there is one thing to build and to find: the one that measures starts the
//! others as processes of their own.

mod hold;
mod leash;
mod measure;
mod paced;
mod process;
mod response;
mod servers;
mod stopwatch;
mod upstream;

use std::process::ExitCode;

const USAGE: &str = "usage: gateway measure full|quick TOLLGATE     measure, and print tables; TOLLGATE is the command,
                                               or `nginx`: nginx against itself
       gateway upstream PORT                   answer every request with two bytes
       gateway paced PORT REQUESTS_PER_SECOND SECONDS
                                               load at a rate, whatever the answers do; prints latencies
       gateway hold PORT CONNECTIONS           open connections, one request each, and keep them
       gateway axum plain|governor|layer PORT  a small service, with a limiter or without
       gateway count plain|governor|layer REQUESTS
                                               the same, asked from memory: for callgrind
       gateway still SECONDS                   read a clock, and print how often and how long that was stopped
       gateway leash CORES PROGRAM [ARGUMENT]  become another program, on these cores, that ends with its parent";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["measure", "full", tollgate] => measure::run(tollgate, false),
        ["measure", "quick", tollgate] => measure::run(tollgate, true),
        ["upstream", port] => number(port).and_then(upstream::serve),
        ["paced", port, rate, seconds] => paced(port, rate, seconds),
        ["hold", port, count] => number(port).and_then(|port| hold::run(port, number(count)?)),
        ["axum", kind, port] => number(port).and_then(|port| servers::serve(kind, port)),
        ["count", kind, requests] => number(requests).and_then(|requests| servers::count(kind, requests)),
        ["still", seconds] => number(seconds).map(measure::still::read_clock),
        ["leash", cores, program, rest @ ..] => Err(leash::become_it(cores, program, rest)),
        _ => Err(USAGE.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn paced(port: &str, rate: &str, seconds: &str) -> Result<(), String> {
    paced::run(number(port)?, number(rate)?, number(seconds)?)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number that fits here\n{USAGE}"))
}
