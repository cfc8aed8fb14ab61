//! `tollgate completions`: generates shell completions from the definitions in `cli`.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::Exit;
use crate::cli::{Cli, CompletionsArgs};

/// Prints the script.
///
/// # Errors
/// When it cannot be written.
pub fn run(args: &CompletionsArgs, out: &mut dyn Write) -> io::Result<Exit> {
    // Into memory first: the generator does not take a failing writer well.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tollgate", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Fine)
}
