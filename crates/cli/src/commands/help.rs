//! `tollgate help`: prints the help of a command, like `--help`.

use std::io::{self, Write};

use clap::CommandFactory;
use tollgate_http::text::shown;

use crate::Exit;
use crate::cli::{Cli, HelpArgs};

/// Prints the help of a command, or of the program.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &HelpArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let mut program = Cli::command();
    program.build();
    let Some(name) = &args.command else {
        write!(out, "{}", program.render_help().ansi())?;
        return Ok(Exit::Fine);
    };
    let Some(command) = program.find_subcommand_mut(name) else {
        let names: Vec<_> = program.get_subcommands().map(clap::Command::get_name).collect();
        writeln!(err, "tollgate: there is no command `{}`; there is {}", shown(name), names.join(", "))?;
        return Ok(Exit::Usage);
    };
    write!(out, "{}", command.render_help().ansi())?;
    Ok(Exit::Fine)
}
