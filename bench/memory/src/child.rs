//! Runs this program again for one subject: what one leaves behind in memory is not another's. It measures
//! nothing.

use std::process::{Command, Stdio};

use crate::subject::Candidate;

/// The candidate of this name.
pub(crate) fn named(name: &str) -> Result<Candidate, String> {
    let found = crate::candidates().into_iter().find(|candidate| candidate.name == name);
    found.ok_or_else(|| format!("nobody here is called `{name}`"))
}

/// A number of keys.
pub(crate) fn count(keys: &str) -> Result<u32, String> {
    keys.parse().map_err(|error| format!("`{keys}` is not a number of keys: {error}"))
}

/// Runs a command of this program for one subject and returns the numbers that it printed.
pub(crate) fn run(what: &str, candidate: &Candidate, keys: u32) -> Result<Vec<f64>, String> {
    eprintln!("{what}: {} with {keys} keys", candidate.name);
    let program = std::env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let mut command = Command::new(program);
    command.args([what, candidate.name, &keys.to_string()]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{printed}failed: {command:?}"));
    }
    let number = |word: &str| word.parse().map_err(|error| format!("`{word}` from {command:?}: {error}"));
    printed.split_whitespace().map(number).collect()
}
