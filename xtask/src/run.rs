//! Calls another program from the root of the repository. It knows nothing of what the programs are for.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// A program with its arguments, written as in a shell; no argument has a space in it.
pub(crate) fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(root());
    command
}

/// Runs it and returns all that it printed.
///
/// # Errors
/// With its whole output, if it failed or could not be started.
pub(crate) fn captured(mut command: Command) -> Result<String, String> {
    let output = started(command.stdin(Stdio::null()).output(), &command)?;
    let printed = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
    if output.status.success() { Ok(printed) } else { Err(format!("{printed}\nfailed: {command:?}")) }
}

/// Runs it and returns what it printed as its result, without what it said on the side.
///
/// # Errors
/// With its whole output, if it failed or could not be started.
pub(crate) fn result_of(mut command: Command) -> Result<String, String> {
    let output = started(command.stdin(Stdio::null()).output(), &command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(printed) } else { Err(format!("{printed}{said}\nfailed: {command:?}")) }
}

fn started(output: std::io::Result<Output>, command: &Command) -> Result<Output, String> {
    output.map_err(|error| format!("cannot start {command:?}: {error}"))
}
