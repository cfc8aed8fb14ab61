//! `cargo xtask bench doors`: the endpoints beside bare servers of the same protocol, in one run, with the same load generator, the server on
//! one core and the load on the other. A module for each protocol.
#![expect(clippy::float_arithmetic, reason = "figures that were measured are no decisions")]

mod resp;

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::machine;
use crate::deadline::Deadline;
use crate::install::{INSTALL_MAX, packages};
use crate::marked;
use crate::run::{captured, command, root};

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often everything is measured; the median counts.
const ROUNDS: usize = 3;

/// One run against one server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    /// Requests per second.
    pub(crate) rate: f64,
    /// Processor time of the server per request, in microseconds.
    pub(crate) processor: f64,
    /// The latency that one request in a hundred exceeds, in milliseconds, at full load.
    pub(crate) p99: f64,
}

/// What is compared: ours, and the peer's, in the same rounds.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) name: &'static str,
    pub(crate) peer: &'static str,
    /// What a ratio below fails, and what we would like.
    pub(crate) bar: f64,
    pub(crate) goal: f64,
    pub(crate) ours: Vec<Run>,
    pub(crate) theirs: Vec<Run>,
}

/// Measures every protocol, and writes the table unless it is quick, or another binary than the one that is shipped.
///
/// # Errors
/// When something cannot be built, started or measured, or a bar is missed.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let (quick, built) = match words {
        [] => (false, None),
        ["--quick"] => (true, None),
        ["--binary", path] => (false, Some(*path)),
        _ => return Err("usage: cargo xtask bench doors [--quick | --binary PATH]".into()),
    };
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Err("a server runs on one core and its load on another: this takes two".into());
    }
    let needed = [("redis-benchmark --version", "redis-tools"), ("redis-server --version", "redis-server")];
    packages(&needed, &Deadline::after(INSTALL_MAX))?;
    let profile = if built.is_some() { "release" } else { "dist" };
    if built.is_none() {
        captured(command("cargo build --profile dist --locked --target-dir bench/target -p tollgate-cli"))?;
    }
    let tollgate = root().join(built.unwrap_or("bench/target/dist/tollgate"));
    let comparisons = resp::measure(&tollgate, if quick { 1 } else { ROUNDS })?;
    let table = table(&comparisons);
    println!("{table}");
    if !quick {
        let head =
            format!("`cargo xtask bench doors` on {}, profile `{profile}`. {}", machine()?, resp::ABOUT);
        marked::write("docs/RESP.md", "doors", &format!("{head}\n\n{table}"))?;
    }
    judge(&comparisons)
}

fn table(comparisons: &[Comparison]) -> String {
    let mut table = String::from(
        "| comparison | Tollgate/s | peer | peer/s | ratio | bar | server µs, ours / peer | p99 ms, ours / peer |\n|---|---|---|---|---|---|---|---|\n",
    );
    for comparison in comparisons {
        let Comparison { name, peer, bar, goal, ours, theirs } = comparison;
        let (a, b) = (median(ours), median(theirs));
        table.push_str(&format!(
            "| {name} | {:.0} k | {peer} | {:.0} k | {:.2} × | {bar} × (goal {goal} ×) | {:.1} / {:.1} | {:.2} / {:.2} |\n",
            a.rate / 1e3,
            b.rate / 1e3,
            a.rate / b.rate,
            a.processor,
            b.processor,
            a.p99,
            b.p99
        ));
    }
    table
}

fn judge(comparisons: &[Comparison]) -> Result<(), String> {
    let missed: Vec<_> = comparisons
        .iter()
        .filter(|comparison| median(&comparison.ours).rate < comparison.bar * median(&comparison.theirs).rate)
        .map(|comparison| comparison.name)
        .collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("below the bar: {}", missed.join("; "))) }
}

/// Of each number, the median over the runs.
fn median(runs: &[Run]) -> Run {
    let of = |get: fn(&Run) -> f64| {
        let mut numbers: Vec<f64> = runs.iter().map(get).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
    };
    Run { rate: of(|run| run.rate), processor: of(|run| run.processor), p99: of(|run| run.p99) }
}

/// A server on the first core, until it is dropped.
#[derive(Debug)]
pub(crate) struct Serving(Child);

impl Serving {
    /// Starts a program, and waits until it listens.
    #[expect(clippy::disallowed_methods, reason = "patience has an end")]
    pub(crate) fn start(program: &Path, arguments: &[&str], port: u16) -> Result<Self, String> {
        let mut serve = Command::new("taskset");
        serve.args(["-c", "0"]).arg(program).args(arguments).env("TOLLGATE_OPERATIONS_LISTEN", "none");
        let child = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let serving = Self(child.map_err(|error| format!("{}: {error}", program.display()))?);
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > end {
                return Err(format!("{} does not listen on port {port}", program.display()));
            }
            std::thread::yield_now();
        }
        Ok(serving)
    }

    /// Its processor time so far, in microseconds.
    pub(crate) fn processor(&self) -> Result<f64, String> {
        let stat =
            fs::read_to_string(format!("/proc/{}/stat", self.0.id())).map_err(|error| error.to_string())?;
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        let (user, system) = (ticks(11).ok_or("no user time")?, ticks(12).ok_or("no system time")?);
        // A tick is a hundredth of a second on Linux.
        Ok((user + system) * 1e4)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
