//! `cargo xtask fuzz`: any bytes at the parsers of policies, for a while each. It runs the targets and writes what came of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench::machine;
use crate::marked;
use crate::run::{captured, command, root};

/// What is fuzzed, and the files that it begins with.
const TARGETS: &[(&str, &[(&str, &str)])] = &[
    ("path", &[]),
    ("request", &[]),
    ("resp", &[]),
    ("consumers", &[("examples/policies", "csv"), ("crates/cli/tests/documents", "csv")]),
    (
        "document",
        &[
            ("examples/policies", "yaml"),
            ("crates/policy/tests/messages", "yaml"),
            ("crates/policy/tests/messages", "json"),
        ],
    ),
];
/// How long each target runs when nothing is said.
const SECONDS: u64 = 600;

/// Fuzzes every target for so many seconds, and writes how often each ran.
///
/// # Errors
/// When something cannot be run, or a target found something: its input is then in `fuzz/artifacts`.
pub(crate) fn run(numbers: &[&str]) -> Result<(), String> {
    let seconds = match numbers {
        [] => SECONDS,
        [seconds] => seconds.parse().map_err(|_| format!("{seconds} is not a number of seconds"))?,
        _ => return Err("usage: cargo xtask fuzz [SECONDS]".into()),
    };
    if captured(command("cargo fuzz --version")).is_err() {
        println!("installing cargo-fuzz");
        captured(command("cargo install --locked cargo-fuzz"))?;
    }
    let mut rows = String::from("| target | inputs tried | in | found |\n|---|---|---|---|\n");
    for (target, beginnings) in TARGETS {
        println!("{target}: {seconds} s");
        let corpus = root().join("fuzz/corpus").join(target);
        fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        for (folder, extension) in *beginnings {
            begin(&root().join(folder), extension, &corpus)?;
        }
        let printed = captured(fuzz(target, seconds))?;
        let tries = printed.lines().find_map(|line| line.strip_prefix("Done ")?.split(' ').next());
        let tries = tries.ok_or_else(|| format!("{printed}\n{target} does not say how often it ran"))?;
        rows.push_str(&format!("| `fuzz/targets/{target}.rs` | {tries} | {seconds} s | nothing |\n"));
    }
    println!("{rows}");
    let head = format!("`cargo xtask fuzz` on {}, one core.", machine()?);
    marked::write("docs/PROOF.md", "fuzz", &format!("{head}\n\n{rows}"))
}

/// The sanitizer is not part of the stable compiler's promises; the one that is there has it all the same.
fn fuzz(target: &str, seconds: u64) -> Command {
    let mut fuzz = command(&format!(
        "cargo fuzz run {target} -- -max_total_time={seconds} -timeout=10 -rss_limit_mb=4096 -max_len=8192"
    ));
    fuzz.env("RUSTC_BOOTSTRAP", "1");
    fuzz
}

fn begin(folder: &Path, extension: &str, corpus: &Path) -> Result<(), String> {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(said)? {
        let path = entry.map_err(said)?.path();
        let name = path.file_name().unwrap_or_default();
        if path.extension().is_some_and(|end| end == extension) {
            fs::copy(&path, corpus.join(name)).map_err(said)?;
        }
    }
    Ok(())
}
